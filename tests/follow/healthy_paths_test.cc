// Healthy paths of each kind that is followed: nothing is accused.
#include <boost/test/unit_test.hpp>

#include "tests/follow/path.h"
#include "tests/how_many.h"

namespace pathproof::follow {
namespace {

using frame::Family;
using frame::Transport;
using frame::Tunnel;

// `frames`: about how many go in. `bytes`: of payload, where the kind does not say.
struct Kind {
    const char* name;
    std::function<Way(unsigned frames, std::size_t bytes)> make;
};

Kind packets(const char* name, Transport transport, const Change& change,
             const std::vector<std::string>& allow, Family family = Family::kIpv4) {
    return {name, [=](unsigned frames, std::size_t bytes) {
                return way(transport, bytes, frames, change, allow, family);
            }};
}

Kind segments(const char* name, const std::vector<std::size_t>& in,
              const std::vector<std::size_t>& out, const Change& change,
              const std::vector<std::string>& allow, Family family = Family::kIpv4) {
    return {name, [=](unsigned frames, std::size_t) {
                return stream(frames * in.front(), in, out, change, allow, family);
            }};
}

Kind without_ip(const char* name, std::uint16_t type, std::size_t bytes) {
    return {name, [=](unsigned frames, std::size_t) {
                std::vector<Octets> all;
                for (unsigned i = 0; i < frames; ++i) {
                    all.push_back(plain(type, bytes, static_cast<std::uint8_t>(i)));
                }
                return plain_frames(all);
            }};
}

const std::vector<Kind>& kinds() {
    static const std::vector<std::string> routed = {"router"};
    static const std::vector<std::string> translated = {"router", "nat"};
    static const std::vector<Kind> kAll = {
        packets("UDP", Transport::kUdp, nothing, {}),
        packets("UDP over IPv6", Transport::kUdp, nothing, {}, Family::kIpv6),
        packets("TCP", Transport::kTcp, nothing, {}),
        packets("TCP over IPv6", Transport::kTcp, nothing, {}, Family::kIpv6),
        packets("SCTP", Transport::kSctp, nothing, {}),
        packets("ICMP", Transport::kIcmp, nothing, {}),
        packets("ICMPv6", Transport::kIcmpv6, nothing, {}, Family::kIpv6),
        packets("another protocol", Transport::kOther, nothing, {}),
        packets("routed UDP", Transport::kUdp, route, routed),
        packets("routed TCP", Transport::kTcp, route, routed),
        packets("routed ICMP", Transport::kIcmp, route, routed),
        packets("routed SCTP", Transport::kSctp, route, routed),
        packets("routed UDP over IPv6", Transport::kUdp, route, routed, Family::kIpv6),
        packets("routed TCP over IPv6", Transport::kTcp, route, routed, Family::kIpv6),
        packets("translated UDP", Transport::kUdp, translate, translated),
        packets("translated TCP", Transport::kTcp, translate, translated),
        packets("translated ICMP", Transport::kIcmp, translate, translated),
        packets("translated UDP over IPv6", Transport::kUdp, translate, translated, Family::kIpv6),
        packets("tagged UDP", Transport::kUdp, tag, {"vlan"}),
        packets("UDP in VXLAN", Transport::kUdp, wrap(Tunnel::kVxlan), {"vxlan"}),
        packets("TCP in VXLAN", Transport::kTcp, wrap(Tunnel::kVxlan), {"vxlan"}),
        packets("TCP in GENEVE", Transport::kTcp, wrap(Tunnel::kGeneve), {"geneve"}),
        packets("UDP in GRE", Transport::kUdp, wrap(Tunnel::kGre), {"gre"}),
        packets("UDP in IP in IP", Transport::kUdp, wrap(Tunnel::kIpInIp), {"ipip"}),
        segments("segments of super-frames", {7240}, {1448}, nothing, {"gso"}),
        segments("merged segments", {1448}, {7240, 2896}, nothing, {"gro"}),
        segments("merged, routed and cut again", {1448, 1448, 500}, {2000, 700}, route,
                 {"router", "gso", "gro"}),
        segments("super-frames over IPv6", {7140}, {1428}, nothing, {"gso"}, Family::kIpv6),
        {"UDP super-frames",
         [](unsigned frames, std::size_t) { return super_datagrams(false, frames); }},
        {"merged UDP",
         [](unsigned frames, std::size_t) { return super_datagrams(true, frames / 4 + 1); }},
        {"fragments",
         [](unsigned frames, std::size_t) { return fragmented(true, true, 1480, frames / 3 + 1); }},
        {"datagrams that are cut",
         [](unsigned frames, std::size_t) { return fragmented(false, true, 1480, frames); }},
        {"datagrams that are put together",
         [](unsigned frames, std::size_t) { return fragmented(true, false, 0, frames / 3 + 1); }},
        {"fragments that are cut anew",
         [](unsigned frames, std::size_t) { return fragmented(true, true, 744, frames / 3 + 1); }},
        {"padding that comes",
         [](unsigned frames, std::size_t) { return with_padding(false, frames); }},
        {"padding that stays",
         [](unsigned frames, std::size_t) { return with_padding(true, frames); }},
        without_ip("ARP", 0x0806, 28),
        without_ip("LLDP", 0x88cc, 80),
        without_ip("LLC", 60, 60),
        without_ip("MPLS", 0x8847, 200),
    };
    return kAll;
}

}  // namespace

BOOST_AUTO_TEST_CASE(healthy_paths_raise_no_alarm) {
    for (const Kind& kind : kinds()) {
        check_clean(kind.name, kind.make(60, 100));
    }
    check_clean("UDP without payload", way(Transport::kUdp, 0, 50, nothing, {}));
    check_clean("UDP of few bytes over IPv6",
                way(Transport::kUdp, 9, 50, route, {"router"}, Family::kIpv6));
    check_clean("kinds without IP, one behind the other",
                plain_frames({plain(0x0806, 28, 1), plain(0x88cc, 80, 2), plain(60, 60, 3),
                              plain(0x88b5, 100, 4), plain(0x8847, 200, 5), plain(0x0806, 28, 6)}));
    // A trunk on which one flow is in several VLANs.
    Way trunk = way(Transport::kUdp, 100, 60, tag, {"vlan"});
    for (std::size_t i = 0; i < trunk.in.size(); i += 2) {
        trunk.in[i].bytes = trunk.out[i].bytes;
    }
    trunk.allow.clear();
    for (std::size_t i = 1; i < trunk.in.size(); i += 2) {
        trunk.out[i].bytes = trunk.in[i].bytes;
    }
    check_clean("a flow with and without a tag", trunk);
    check_clean("equal frames", plain_frames(std::vector<Octets>(40, plain(0x0806, 28, 1))));
}

// PATHPROOF_TIMES=1000: ten million.
BOOST_AUTO_TEST_CASE(no_alarm_in_clean_frames_of_each_kind) {
    constexpr unsigned kAtOnce = 2000;
    const std::size_t wanted = test::how_many(10'000);
    std::size_t sent = 0;
    for (std::size_t bytes = 1; sent < wanted; bytes = (bytes + 167) % 1400) {
        for (const Kind& kind : kinds()) {
            const std::size_t share = (wanted - std::min(wanted, sent)) / kinds().size() + 1;
            const Way made =
                kind.make(static_cast<unsigned>(std::min<std::size_t>(share, kAtOnce)), bytes);
            check_clean(kind.name, made);
            sent += made.in.size();
        }
    }
    BOOST_TEST(kinds().size() >= 30U);
    BOOST_TEST_MESSAGE(sent << " frames of " << kinds().size() << " kinds");
}

}  // namespace pathproof::follow
