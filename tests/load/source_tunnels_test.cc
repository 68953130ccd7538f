#include <boost/test/unit_test.hpp>

#include "dataplane/load/frame_source.h"
#include "tests/load/made_frames.h"
#include "tests/load/sources.h"

using namespace pathproof;
using namespace pathproof::load;
using frame::Carries;
using frame::Family;
using frame::TrafficClass;
using frame::Tunnel;

namespace {

struct Kind {
    Tunnel tunnel;
    Carries carries;
    std::uint16_t port;
};
constexpr Kind kKinds[] = {
    {Tunnel::kVxlan, Carries::kEthernet, 4789},
    {Tunnel::kVxlanGpe, Carries::kEthernet, 4790},
    {Tunnel::kVxlanGpe, Carries::kIp, 4790},
    {Tunnel::kGeneve, Carries::kEthernet, 6081},
    {Tunnel::kGeneve, Carries::kIp, 6081},
    {Tunnel::kGre, Carries::kEthernet, 0},
    {Tunnel::kGre, Carries::kIp, 0},
    {Tunnel::kIpInIp, Carries::kIp, 0},
};

frame::FrameSpec in_tunnel(const Kind& kind, Family outer, Family inner) {
    frame::FrameSpec spec = spec_of(inner, Envelope::kVxlan);
    spec.tunnel->kind = kind.tunnel;
    spec.tunnel->carries = kind.carries;
    const bool over_udp = kind.port != 0;
    spec.tunnel->outer.transport = over_udp ? frame::Transport::kUdp : frame::Transport::kOther;
    spec.tunnel->outer.destination.port = kind.port;
    spec.tunnel->geneve_option_bytes = kind.tunnel == Tunnel::kGeneve ? 12 : 0;
    if (outer == Family::kIpv6) {
        spec.tunnel->outer.source.address = frame::parse_ip("2001:db8:2::1").value();
        spec.tunnel->outer.destination.address = frame::parse_ip("2001:db8:2::2").value();
    }
    return spec;
}

void check(const frame::FrameSpec& spec, TrafficClass traffic,
           const std::vector<std::uint16_t>& outer_ports) {
    SourcePlan plan = plan_of(traffic);
    plan.spec = spec;
    plan.outer_source_ports = outer_ports;
    plan.flow = {.flows = 50, .first_port = 7'000, .ports = 3};
    FrameSource source = source_of(plan);
    const std::vector<Frame> frames = next_frames(source, 300, 31);
    for (std::size_t i = 0; i < frames.size(); ++i) {
        BOOST_REQUIRE(is_right(frames[i]));
        BOOST_REQUIRE_EQUAL(stamp_of(frames[i])->sequence, i);
    }
    Mbufs mbufs(3);
    source.fill(mbufs.all(), 1);
    source.restamp(mbufs.all(), 0x7654'3210'fedc);
    BOOST_REQUIRE(is_right(bytes_of(*mbufs.all()[2])));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(frame_source_tunnels)

BOOST_AUTO_TEST_CASE(every_tunnel_over_and_around_both_families_is_right) {
    for (const Kind& kind : kKinds) {
        for (const Family outer : kFamilies) {
            for (const Family inner : kFamilies) {
                for (const TrafficClass traffic : kMade) {
                    BOOST_TEST_CONTEXT(name(kind.tunnel) << " outer " << int(outer) << " inner "
                                                         << int(inner) << " " << name(traffic)) {
                        const frame::FrameSpec spec = in_tunnel(kind, outer, inner);
                        check(spec, traffic, {});
                        if (kind.port != 0) {
                            check(spec, traffic, {50'000, 60'000, 65'535});
                        }
                    }
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(options_extension_headers_and_trailers_are_counted_right) {
    for (const TrafficClass traffic : kMade) {
        frame::FrameSpec v4 = spec_of(Family::kIpv4, Envelope::kVxlan);
        v4.packet.ipv4_option_bytes = 12;
        v4.packet.trailer = {1, 2, 3};
        v4.tunnel->outer.ipv4_option_bytes = 40;
        v4.tunnel->outer.trailer = {9, 9};
        check(v4, traffic, {50'000, 50'001});
        frame::FrameSpec v6 = spec_of(Family::kIpv6, Envelope::kVxlan);
        v6.packet.extensions = {frame::Extension::kHopByHop, frame::Extension::kRouting};
        v6.packet.final_destination = frame::parse_ip("2001:db8:9::9").value();
        v6.packet.trailer = {7};
        check(v6, traffic, {});
        v4.tunnel.reset();
        check(v4, traffic, {});
    }
}

BOOST_AUTO_TEST_SUITE_END()
