// Helpers for tests of names with evidence: frames whose checksums come from the wrong bytes,
// summed by rte_net, and the verdict over several of them.
#pragma once

#include <rte_ip.h>

#include <boost/test/unit_test.hpp>
#include <functional>
#include <string>
#include <vector>

#include "dataplane/judge/bad_checksums.h"
#include "dataplane/judge/checksum_names.h"
#include "tests/judge/every_kind.h"
#include "tests/judge/naming.h"

namespace pathproof::wrong {

using namespace pathproof::judge;
using namespace pathproof::judged;
using frame::PacketView;

inline constexpr frame::TunnelPorts kTunnels = frame::TunnelPorts::well_known();

inline std::uint16_t sum(const Octets& bytes) {
    return __builtin_bswap16(rte_raw_cksum(bytes.data(), bytes.size()));
}
inline std::uint16_t inverted(std::uint16_t value) {
    return static_cast<std::uint16_t>(~value);
}

inline Octets slice(const Octets& from, std::size_t start, std::size_t end) {
    return {from.begin() + static_cast<std::ptrdiff_t>(start),
            from.begin() + static_cast<std::ptrdiff_t>(end)};
}

// A frame with a wrong checksum at one layer, and what is known besides.
struct Sample {
    Octets frame;
    const char* layer = "plain.udp";
    std::optional<OriginalTuple> original;
    Octets before;
    Octets handed_over;
    Octets super_frame;
    std::vector<std::uint32_t> buffer_starts;
    std::uint32_t first_fragment_end = 0;
    ZeroUdp zero_udp = ZeroUdp::kAgreed;

    Evidence evidence() const {
        return {.tunnels = kTunnels,
                .original = original,
                .before = before,
                .handed_over = handed_over,
                .buffer_starts = buffer_starts,
                .super_frame = super_frame,
                .first_fragment_end = first_fragment_end,
                .zero_udp = zero_udp};
    }
};

using Maker = std::function<Sample(raw::Random&)>;

// The tool's verdict over six frames with different payloads.
inline std::string named(const Maker& make) {
    raw::Random random(77);
    NameVote vote;
    for (int i = 0; i < 6; ++i) {
        const Sample sample = make(random);
        const ChecksumFinding finding = at(sample.frame, sample.layer);
        vote.add(sample.frame, finding, matching_names(sample.frame, finding, sample.evidence()));
    }
    const ChecksumName verdict = vote.verdict();
    return verdict == ChecksumName::kUnknown ? "UNKNOWN [" + text(vote.candidates()) + "]"
                                             : name(verdict);
}

inline Octets healthy(raw::Random& random, Kind kind) {
    return frame_of(kind, random);
}
inline PacketView packet_of(const Octets& frame) {
    return frame::parse_frame(frame, kTunnels).innermost();
}

// Bytes that the innermost transport's checksum covers, its field being 0, and its pseudo-header.
struct Parts {
    PacketView packet;
    std::size_t field = 0;
    Octets data;
    Octets pseudo;
};
inline Parts parts_of(const Octets& frame, std::size_t field_in_header) {
    Parts parts{.packet = packet_of(frame)};
    parts.field = parts.packet.transport_offset + field_in_header;
    parts.data = slice(frame, parts.packet.transport_offset,
                       parts.packet.transport_offset + parts.packet.covered_length);
    put(parts.data, field_in_header, 0);
    for (const frame::IpAddress* ip : {&parts.packet.source, &parts.packet.final_destination}) {
        raw::append(
            parts.pseudo,
            Octets(ip->bytes.begin(), ip->bytes.begin() + static_cast<std::ptrdiff_t>(ip->size())));
    }
    raw::put32(parts.pseudo, parts.packet.transport_length);
    raw::put32(parts.pseudo, parts.packet.protocol);
    return parts;
}

// UDP with an odd or even payload, its field filled with what `wrong` sums.
inline Maker udp(Kind kind, const std::function<std::uint16_t(const Octets&, const Parts&)>& wrong,
                 const char* layer = "plain.udp") {
    return [=](raw::Random& random) {
        Kind varied = kind;
        varied.payload += 2 * random.below(20);
        Sample sample{.frame = healthy(random, varied), .layer = layer};
        const Parts parts = parts_of(sample.frame, 6);
        put(sample.frame, parts.field, wrong(sample.frame, parts));
        return sample;
    };
}

inline std::uint16_t sum_of(std::initializer_list<Octets> pieces) {
    return inverted(sum(raw::joined(pieces)));
}

inline Octets trailer_of(const Octets& frame, const Parts& parts) {
    return slice(frame, parts.packet.network_end, frame.size());
}

inline constexpr Kind kOdd{.payload = 21};
inline constexpr Kind kEven{.payload = 20};
inline constexpr Kind kPadded{.trailer = Trailer::kRandom, .payload = 4};
inline constexpr Kind kZeroPadded{.trailer = Trailer::kZero, .payload = 4};

}  // namespace pathproof::wrong
