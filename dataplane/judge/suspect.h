// One wrong checksum and all that a hypothesis about it may look at; and the hypotheses, by
// concept. Within this room only.
#pragma once

#include <optional>
#include <vector>

#include "dataplane/frame/checksum.h"
#include "dataplane/judge/checksum_names.h"

namespace pathproof::judge {

using frame::Bytes;
using frame::PacketView;
using frame::PartialSum;

struct Suspect {
    Bytes frame;
    frame::FrameView view;
    PacketView packet;  // whose checksum it is
    Depth depth = Depth::kPlain;
    Protocol protocol = Protocol::kUdp;
    std::size_t field = 0;  // from the start of the frame
    std::uint32_t wire = 0;
    std::uint32_t right = 0;
    const Evidence* evidence = nullptr;

    bool in_tunnel_header() const { return depth == Depth::kOuter && view.has_inner; }
    // The sum whose complement is the right value; not of SCTP.
    PartialSum sum() const { return frame::sum_word(static_cast<std::uint16_t>(~right)); }
    bool has_pseudo_header() const {
        return protocol != Protocol::kIpv4 && protocol != Protocol::kIcmp &&
               protocol != Protocol::kGre && protocol != Protocol::kSctp;
    }
    bool has_ports() const {
        return protocol == Protocol::kUdp || protocol == Protocol::kTcp ||
               protocol == Protocol::kUdpLite;
    }
    // First byte that the checksum covers, and the byte behind the last.
    std::size_t start() const {
        return protocol == Protocol::kIpv4 ? packet.network_offset : packet.transport_offset;
    }
    std::size_t end() const {
        return protocol == Protocol::kIpv4 ? packet.network_offset + packet.network_length
                                           : packet.transport_offset + packet.covered_length;
    }
};

// Empty if the finding's field is not where the frame has it.
std::optional<Suspect> locate(Bytes frame, const ChecksumFinding& finding,
                              const Evidence& evidence);
// The packet at the same depth of another form of the frame (before NAT, handed over, super-frame).
std::optional<PacketView> same_packet(const Suspect& suspect, Bytes other);
// The finding of the same checksum in another form of the frame.
std::optional<ChecksumFinding> same_checksum(const Suspect& suspect, Bytes other);

std::uint16_t word_at(Bytes bytes, std::size_t offset);
void put_word(std::span<std::uint8_t> bytes, std::size_t offset, std::size_t value);
PartialSum address_sum(const frame::IpAddress& address);
PartialSum without(PartialSum sum);  // what to add to take it out of another sum
std::uint16_t pseudo_of(const PacketView& packet, std::uint32_t length);
// Returns the value of the checksum field for a sum over everything.
std::uint16_t sent_as(Protocol protocol, PartialSum sum);
// [from, to) of the frame, the checksum field being 0.
std::vector<std::uint8_t> without_field(const Suspect& suspect, std::size_t from, std::size_t to);
// Offsets at which buffers begin within the covered bytes, in order.
std::vector<std::size_t> buffer_starts(const Suspect& suspect);
// 0 and 0xffff are one number in ones' complement.
constexpr bool same(std::uint32_t a, std::uint32_t b) {
    return a % 0xffff == b % 0xffff;
}

enum class StaleWords : std::uint8_t {
    kSingle,  // one stale field has a name of its own
    kTuple,   // addresses and ports that are stale are kStaleTuple, all together
};

using Predictions = std::vector<Prediction>;
// Adds a prediction: the value that would be sent for `sum` over everything.
void add(const Suspect& suspect, ChecksumName name, PartialSum sum, Predictions& out);
// Each appends what its hypotheses predict.
void predict_partial(const Suspect& suspect, Predictions& out);  // partial, kept, swapped, carry
void predict_stale(const Suspect& suspect, StaleWords words, Predictions& out);
void predict_tunnel(const Suspect& suspect, Predictions& out);   // outer before inner
void predict_padding(const Suspect& suspect, Predictions& out);  // padding, odd bytes
void predict_start(const Suspect& suspect, Predictions& out);    // wrong places to begin
void predict_pieces(const Suspect& suspect, Predictions& out);   // buffers, segments, fragments
void predict_crc(const Suspect& suspect, Predictions& out);      // all of SCTP

}  // namespace pathproof::judge
