// Judges every checksum of a frame, layer by layer, in software: IPv4 headers, UDP, UDP-Lite, TCP,
// ICMP, ICMPv6, SCTP and GRE, plain and on both sides of a tunnel header. No NIC verdict is
// believed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "dataplane/frame/view.h"

namespace pathproof::judge {

enum class Depth : std::uint8_t { kPlain, kOuter, kInner };  // plain: the frame carries no tunnel
enum class Protocol : std::uint8_t { kIpv4, kUdp, kTcp, kIcmp, kIcmpv6, kSctp, kUdpLite, kGre };
inline constexpr std::size_t kProtocolCount = 8;
// Bytes of the checksum field: SCTP's is a CRC32c (RFC 9260), all others are of 16 bits.
constexpr std::size_t field_size(Protocol protocol) {
    return protocol == Protocol::kSctp ? 4 : 2;
}

// "outer UDP", "inner TCP", "IPv4": as reports print it. `word` gives "outer.udp", "inner.tcp",
// "plain.ipv4".
struct Layer {
    Depth depth = Depth::kPlain;
    Protocol protocol = Protocol::kIpv4;
    bool operator==(const Layer&) const = default;
};
inline constexpr std::size_t kLayerCount = 3 * kProtocolCount;
constexpr std::size_t index_of(Layer layer) {
    return static_cast<std::size_t>(layer.depth) * kProtocolCount +
           static_cast<std::size_t>(layer.protocol);
}
Layer layer_at(std::size_t index);
std::string name(Layer layer);
std::string word(Layer layer);

enum class ChecksumState : std::uint8_t {
    kGood,
    kBad,
    kDisabled,  // UDP checksum field 0: legal over IPv4 and, by agreement, in an IPv6 tunnel (RFC
                // 6935); any other UDP over IPv6 with 0 is kBad, as receivers must drop it (RFC
                // 8200 section 8.1)
    kUnverifiable,  // a fragment, a frame cut short, an unknown routing header: no claim is made
};

struct ChecksumFinding {
    Layer layer;
    ChecksumState state = ChecksumState::kUnverifiable;
    // Bytes from the start of the frame; 0: a later fragment, no field here.
    std::uint16_t field_offset = 0;
    // The value in the frame, its bytes read in the order in which they are sent; of field_size().
    std::uint32_t wire = 0;
    std::uint32_t right = 0;  // the value that a correct sender puts there; 0 if kUnverifiable
    bool operator==(const ChecksumFinding&) const = default;
};

// Reason why a frame could not be read to its end; what was read before that is judged all the
// same.
using Malformed = frame::Malformed;

struct FrameVerdict {
    static constexpr std::size_t kMost = 4;  // IPv4 + transport or GRE, twice
    std::array<ChecksumFinding, kMost> findings{};
    std::uint8_t count = 0;
    Malformed malformed = Malformed::kNone;

    std::span<const ChecksumFinding> all() const& { return {findings.data(), count}; }
    void all() const&& = delete;  // the findings would be gone before a loop over them began
    bool any_bad() const { return first_bad() != nullptr; }
    // The outermost bad one; null if there is none.
    const ChecksumFinding* first_bad() const& {
        for (std::size_t i = 0; i < count; ++i) {
            if (findings[i].state == ChecksumState::kBad) {
                return &findings[i];
            }
        }
        return nullptr;
    }
    // Returns a layer's finding; null if there is none.
    const ChecksumFinding* find(Layer layer) const&;
};

// Puts `finding.right` into the frame that `finding` is of. Nothing happens if the field is not in
// it or the finding is kUnverifiable.
void write_right(std::span<std::uint8_t> frame, const ChecksumFinding& finding) noexcept;

// Judges received frames, with the word-wise sums of frame/checksum.h.
FrameVerdict verify(std::span<const std::uint8_t> frame,
                    const frame::TunnelPorts& tunnels) noexcept;
// Reads UDP to a port in `vxlan_ports` (host order) as VXLAN, and no other tunnel.
FrameVerdict verify(std::span<const std::uint8_t> frame,
                    std::span<const std::uint16_t> vxlan_ports) noexcept;
// Judges a frame that was parsed already.
FrameVerdict verify(std::span<const std::uint8_t> frame, const frame::FrameView& view) noexcept;

// Mistakes that a judge could make. An oracle that makes one must turn healthy frames red: that
// shows that green means something.
enum class OracleMistake : std::uint8_t {
    kNone,
    kPaddingSummed,      // Ethernet padding counts as data
    kOddByteLost,        // the last byte of an odd length is left out
    kExtensionHeader,    // the pseudo-header has IPv6's own payload length and next header
    kZeroRule,           // UDP's computed 0 is not sent as 0xffff, and 0 on the wire is a value
    kCarryLost,          // carries out of 16 bits are not added in
    kOptionsLeftOut,     // IPv4 headers are taken for 20 bytes
    kFragmentVerified,   // a first fragment is judged as if it were whole
    kTunnelZeroRefused,  // 0 under UDP over IPv6 is wrong outside of tunnels and on them alike
};
inline constexpr std::size_t kOracleMistakes = 9;
const char* name(OracleMistake mistake);  // "padding-summed", ...

// The oracle: byte-wise from RFC 1071, shares no code with the fast path or with rte_net.
FrameVerdict verify_slowly(std::span<const std::uint8_t> frame, const frame::TunnelPorts& tunnels,
                           OracleMistake mistake = OracleMistake::kNone) noexcept;
FrameVerdict verify_slowly(std::span<const std::uint8_t> frame,
                           std::span<const std::uint16_t> vxlan_ports) noexcept;

}  // namespace pathproof::judge
