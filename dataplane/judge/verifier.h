// Judges every checksum of a frame, layer by layer, in software: IPv4 headers, UDP, TCP, ICMP and
// ICMPv6, plain and on both sides of a VXLAN header. No NIC verdict is believed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/frame/view.h"

namespace pathproof::judge {

enum class Depth : std::uint8_t { kPlain, kOuter, kInner };  // plain: the frame carries no tunnel
enum class Protocol : std::uint8_t { kIpv4, kUdp, kTcp, kIcmp, kIcmpv6 };

// "outer UDP", "inner TCP", "IPv4": as reports print it. `word` gives "outer.udp", "inner.tcp",
// "plain.ipv4".
struct Layer {
    Depth depth = Depth::kPlain;
    Protocol protocol = Protocol::kIpv4;
    bool operator==(const Layer&) const = default;
};
inline constexpr std::size_t kLayerCount = 3 * 5;
constexpr std::size_t index_of(Layer layer) {
    return static_cast<std::size_t>(layer.depth) * 5 + static_cast<std::size_t>(layer.protocol);
}
Layer layer_at(std::size_t index);
const char* name(Layer layer);
const char* word(Layer layer);

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
    std::uint16_t field_offset =
        0;  // bytes from the start of the frame; 0: a later fragment, no field here
    std::uint16_t wire = 0;   // the value in the frame, host order
    std::uint16_t right = 0;  // the value that a correct sender puts there; 0 if kUnverifiable
    bool operator==(const ChecksumFinding&) const = default;
};

// Why a frame could not be read to its end; what was read before that is judged all the same.
using Malformed = frame::Malformed;

struct FrameVerdict {
    static constexpr std::size_t kMost =
        6;  // IPv4 + L4, twice; room for one tunnel in a tunnel's L3
    std::array<ChecksumFinding, kMost> findings{};
    std::uint8_t count = 0;
    Malformed malformed = Malformed::kNone;

    std::span<const ChecksumFinding> all() const& { return {findings.data(), count}; }
    void all() const&& = delete;  // the findings would be gone before a loop over them began
    bool any_bad() const;
};

// The oracle: byte-wise from RFC 1071, shares no code with the fast path or with rte_net.
// UDP to a port in `tunnel_ports` (host order) is read as VXLAN.
FrameVerdict verify_slowly(std::span<const std::uint8_t> frame,
                           std::span<const std::uint16_t> tunnel_ports) noexcept;

// The same verdict from the word-wise sums of frame/checksum.h: what the receive path calls.
FrameVerdict verify(std::span<const std::uint8_t> frame,
                    std::span<const std::uint16_t> tunnel_ports) noexcept;
// For a frame that was parsed already.
FrameVerdict verify(std::span<const std::uint8_t> frame, const frame::FrameView& view) noexcept;

}  // namespace pathproof::judge
