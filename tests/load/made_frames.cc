#include "tests/load/made_frames.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstring>

#include "dataplane/judge/verifier.h"

namespace pathproof::load {
namespace {

constexpr frame::TunnelPorts kTunnels = frame::TunnelPorts::well_known();
constexpr std::uint8_t kRubbish = 0xa7;

frame::MacAddress mac(const char* text) {
    return frame::parse_mac(text).value();
}
frame::Endpoint endpoint(const char* text) {
    return frame::parse_endpoint(text).value();
}

bool all_good(const judge::FrameVerdict& verdict) {
    return verdict.count > 0 && verdict.malformed == judge::Malformed::kNone &&
           std::ranges::all_of(verdict.all(), [](const judge::ChecksumFinding& finding) {
               return finding.state == judge::ChecksumState::kGood;
           });
}

}  // namespace

Mbufs::Mbufs(std::size_t count, std::size_t room) : room_(room), mbufs_(count) {
    for (rte_mbuf& mbuf : mbufs_) {
        rooms_.push_back(std::make_unique<std::uint8_t[]>(room));
        pointers_.push_back(&mbuf);
    }
    spoil();
}

void Mbufs::spoil() {
    for (std::size_t i = 0; i < mbufs_.size(); ++i) {
        std::memset(static_cast<void*>(&mbufs_[i]), kRubbish, sizeof mbufs_[i]);
        std::memset(rooms_[i].get(), kRubbish, room_);
        mbufs_[i].buf_addr = rooms_[i].get();
        mbufs_[i].buf_len = static_cast<std::uint16_t>(room_);
        mbufs_[i].next = nullptr;
        mbufs_[i].nb_segs = 1;
        mbufs_[i].refcnt = 1;
    }
}

Frame bytes_of(const rte_mbuf& mbuf) {
    BOOST_REQUIRE_EQUAL(mbuf.pkt_len, mbuf.data_len);
    BOOST_REQUIRE_EQUAL(mbuf.nb_segs, 1);
    BOOST_REQUIRE_EQUAL(mbuf.refcnt, 1);
    BOOST_REQUIRE_LE(mbuf.data_off + mbuf.data_len, mbuf.buf_len);
    const auto* const start = rte_pktmbuf_mtod(&mbuf, const std::uint8_t*);
    // Not one byte behind the frame was touched.
    BOOST_REQUIRE_EQUAL(start[mbuf.data_len], kRubbish);
    return {start, start + mbuf.data_len};
}

std::vector<Frame> next_frames(Source& source, std::size_t count, std::size_t burst,
                               std::uint64_t first_ns) {
    std::vector<Frame> frames;
    Mbufs mbufs(burst);
    for (std::uint64_t number = 0; frames.size() < count; ++number) {
        mbufs.spoil();
        const auto wanted = mbufs.all().first(std::min(burst, count - frames.size()));
        const std::size_t filled = source.fill(wanted, first_ns + number * 1'000);
        for (const rte_mbuf* const mbuf : wanted.first(filled)) {
            frames.push_back(bytes_of(*mbuf));
        }
        if (filled < wanted.size()) {
            break;
        }
    }
    return frames;
}

frame::FrameSpec spec_of(frame::Family family, Envelope envelope) {
    frame::FrameSpec spec;
    const bool v4 = family == frame::Family::kIpv4;
    spec.packet.source_mac = mac("02:00:00:00:00:01");
    spec.packet.destination_mac = mac("02:00:00:00:00:02");
    spec.packet.source = endpoint(v4 ? "198.18.0.1:10000" : "[2001:db8::1]:10000");
    spec.packet.destination = endpoint(v4 ? "203.0.113.2:53" : "[2001:db8:1::2]:53");
    spec.packet.vlan = {frame::VlanTag{0x8100, 7}, frame::VlanTag{0x8100, 8}};
    spec.packet.vlans = envelope == Envelope::kVlan ? 1 : 0;
    if (envelope == Envelope::kQinQ) {
        spec.packet.vlan[0].type = 0x88a8;
        spec.packet.vlans = 2;
    }
    if (envelope == Envelope::kVxlan) {
        spec.tunnel.emplace();
        spec.tunnel->vni = 42;
        spec.tunnel->outer.source_mac = mac("02:00:00:00:00:11");
        spec.tunnel->outer.destination_mac = mac("02:00:00:00:00:12");
        spec.tunnel->outer.source = endpoint("198.51.100.1:5000");
        spec.tunnel->outer.destination = endpoint("198.51.100.2:4789");
    }
    return spec;
}

frame::FrameView parsed(const Frame& frame) {
    const frame::FrameView view = frame::parse_frame(frame, kTunnels);
    BOOST_REQUIRE(view.malformed == frame::Malformed::kNone);
    return view;
}

bool is_right(const Frame& frame) {
    return all_good(judge::verify(frame, kTunnels)) &&
           all_good(judge::verify_slowly(frame, kTunnels));
}

std::optional<frame::Stamp> stamp_of(const Frame& frame) {
    const frame::FrameView view = parsed(frame);
    const frame::PacketView& packet = view.innermost();
    const frame::Bytes payload = packet.payload(frame);
    switch (packet.transport) {
        case frame::Transport::kUdp:
            return packet.destination_port == 53 ? frame::read_dns_stamp(payload)
                                                 : frame::read_binary_stamp(payload);
        case frame::Transport::kIcmp:
        case frame::Transport::kIcmpv6: return frame::read_binary_stamp(payload);
        case frame::Transport::kTcp:
            return frame::read_syn_stamp(
                frame::Bytes(frame).subspan(packet.transport_offset, packet.transport_length));
        default: return std::nullopt;
    }
}

}  // namespace pathproof::load
