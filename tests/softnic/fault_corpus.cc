#include "tests/softnic/fault_corpus.h"

#include <rte_mbuf_core.h>

#include <array>

#include "dataplane/judge/verifier.h"
#include "tests/softnic/frames.h"
#include "tests/softnic/nic_frames.h"

namespace pathproof::softnic {
namespace {

using frame::ChecksumMode;
using frame::FrameSpec;
using frame::Transport;

void note_nat(NicFrames& draw, const FrameSpec& spec, TxFrame& frame) {
    frame::Endpoint before = spec.tunnel ? spec.tunnel->outer.source : spec.packet.source;
    before.port = static_cast<std::uint16_t>(before.port + 1 + draw.below(500));
    if (draw.one_in(2)) {
        before.address = before.address.plus(static_cast<std::uint32_t>(1 + draw.below(99)));
    }
    frame.source_before_nat = before;
}

// Something else than a partial checksum in the fields that the NIC fills in.
void mark_fields(const FrameSpec& spec, TxFrame& frame) {
    const WireFrameBytes right = in_software(spec);
    for (std::size_t at = 0; at < right.size(); ++at) {
        frame.bytes[at] = frame.bytes[at] == right[at] ? right[at] : 0xbe;
    }
}

void add(std::vector<TxFrame>& corpus, NicFrames& draw, const FrameSpec& spec) {
    TxFrame frame = handed_over(spec);
    if (spec.segment_bytes == 0 && draw.one_in(4)) {
        mark_fields(spec, frame);
    }
    if (draw.one_in(2)) {
        frame.buffers = draw.buffers(frame.bytes.size());
    }
    if (draw.one_in(3)) {
        note_nat(draw, spec, frame);
    }
    const std::uint8_t tags = spec.tunnel ? spec.tunnel->outer.vlans : spec.packet.vlans;
    if (tags == 0 && draw.one_in(4)) {
        frame.request.offload.mbuf_flags |= RTE_MBUF_F_TX_VLAN;
        frame.request.vlan_tci = 0x0123;
    }
    frame.queue = static_cast<std::uint16_t>(draw.below(3));
    corpus.push_back(std::move(frame));
}

FrameSpec plain_udp(NicFrames& draw, frame::Family family) {
    FrameSpec spec = draw.offloaded();
    while (spec.tunnel || spec.packet.transport != Transport::kUdp ||
           spec.packet.source.address.family != family) {
        spec = draw.offloaded();
    }
    return spec;
}

// Two bytes of payload make the checksum 0xffff, a computed 0.
void add_sums_of_zero(std::vector<TxFrame>& corpus, NicFrames& draw) {
    for (const frame::Family family : {frame::Family::kIpv4, frame::Family::kIpv6}) {
        for (int count = 0; count < 8; ++count) {
            FrameSpec spec = plain_udp(draw, family);
            spec.payload[0] = spec.payload[1] = 0;
            const WireFrameBytes right = in_software(spec);
            const std::size_t field = frame::layout_of(spec).packet.transport + 6u;
            spec.payload[0] = right[field];
            spec.payload[1] = right[field + 1];
            add(corpus, draw, spec);
        }
    }
}

// The identification makes an IPv4 header checksum 0.
void add_header_sums_of_zero(std::vector<TxFrame>& corpus, NicFrames& draw) {
    for (int count = 0; count < 200; ++count) {
        FrameSpec spec = draw.offloaded();
        const bool outer = spec.tunnel && draw.one_in(2);
        frame::PacketSpec& packet = outer ? spec.tunnel->outer : spec.packet;
        if (packet.source.address.family != frame::Family::kIpv4) {
            continue;
        }
        packet.identification = 0;
        const auto layout = frame::layout_of(spec);
        const std::size_t at = (outer ? layout.outer : layout.packet).network + 10u;
        packet.identification = raw::get(in_software(spec), at);
        add(corpus, draw, spec);
    }
}

void add_short_padded(std::vector<TxFrame>& corpus, NicFrames& draw) {
    for (int count = 0; count < 30; ++count) {
        FrameSpec spec = plain_udp(draw, frame::Family::kIpv4);
        spec.packet.vlans = 0;
        spec.packet.ipv4_option_bytes = 0;
        spec.payload.resize(1 + draw.below(9));
        spec.packet.trailer.assign(1 + draw.below(6), count % 2 == 0 ? 0 : 0x5c);
        add(corpus, draw, spec);
    }
}

void add_plain_on_tunnel_ports(std::vector<TxFrame>& corpus, NicFrames& draw) {
    constexpr std::array<std::uint16_t, 3> kPorts = {4789, 4790, 6081};
    for (const std::uint16_t port : kPorts) {
        for (int count = 0; count < 6; ++count) {
            FrameSpec spec = plain_udp(draw, frame::Family::kIpv4);
            spec.packet.destination.port = port;
            if (count % 2 == 0) {
                spec.payload = vxlan(ethernet(
                    0x0800, ipv4(17, udp(4, 7, 8, bytes(20u + draw.below(9)), Field::kWrong))));
            }
            add(corpus, draw, spec);
        }
    }
}

void add_fragments(std::vector<TxFrame>& corpus, NicFrames& draw) {
    for (int count = 0; count < 10; ++count) {
        FrameSpec spec = plain_udp(draw, frame::Family::kIpv4);
        spec.packet.transport = Transport::kOther;
        spec.packet.transport_checksum = ChecksumMode::kSoftware;
        spec.packet.protocol = count % 2 == 0 ? 17 : 6;
        spec.packet.fragment =
            frame::FragmentSpec{.offset = static_cast<std::uint16_t>(count % 3 * 64), .more = true};
        spec.payload = bytes(64);
        spec.payload[0] = static_cast<std::uint8_t>(count);
        add(corpus, draw, spec);
    }
}

void add_carries(std::vector<TxFrame>& corpus, NicFrames& draw) {
    for (int count = 0; count < 400; ++count) {
        FrameSpec spec = plain_udp(draw, frame::Family::kIpv4);
        spec.payload.assign(1400 + draw.below(7000), 0xff);
        spec.payload[0] = static_cast<std::uint8_t>(draw.below(256));
        spec.payload[1] = static_cast<std::uint8_t>(draw.below(256));
        add(corpus, draw, spec);
    }
}

std::vector<TxFrame> make_sending_corpus() {
    NicFrames draw(41);
    std::vector<TxFrame> corpus;
    for (int count = 0; count < 1200; ++count) {
        add(corpus, draw, draw.any());
        add(corpus, draw, draw.offloaded());
        if (count % 3 == 0) {
            add(corpus, draw, draw.super());
        }
    }
    add_sums_of_zero(corpus, draw);
    add_header_sums_of_zero(corpus, draw);
    add_short_padded(corpus, draw);
    add_plain_on_tunnel_ports(corpus, draw);
    add_fragments(corpus, draw);
    add_carries(corpus, draw);
    return corpus;
}

std::vector<WireFrameBytes> make_wire_corpus() {
    NicFrames draw(42);
    std::vector<WireFrameBytes> corpus;
    const auto tunnels = frame::TunnelPorts::well_known();
    for (int count = 0; count < 3000; ++count) {
        WireFrameBytes frame = in_software(draw.any());
        corpus.push_back(frame);
        const judge::FrameVerdict verdict = judge::verify(frame, tunnels);
        for (const judge::ChecksumFinding& finding : verdict.all()) {
            if (finding.field_offset != 0 && draw.one_in(2)) {
                frame[finding.field_offset] ^= 0x40;
            }
        }
        corpus.push_back(std::move(frame));
    }
    NicFrames fragments(43);
    std::vector<TxFrame> cut;
    add_fragments(cut, fragments);
    for (TxFrame& frame : cut) {
        corpus.push_back(std::move(frame.bytes));
    }
    return corpus;
}

}  // namespace

const std::vector<TxFrame>& sending_corpus() {
    static const std::vector<TxFrame> kCorpus = make_sending_corpus();
    return kCorpus;
}

const std::vector<WireFrameBytes>& wire_corpus() {
    static const std::vector<WireFrameBytes> kCorpus = make_wire_corpus();
    return kCorpus;
}

}  // namespace pathproof::softnic
