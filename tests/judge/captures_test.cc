// Checksums that people published, and the kernel's arithmetic: the names must be those that the
// values prove.
#include <boost/test/unit_test.hpp>

#include "dataplane/frame/checksum.h"
#include "tests/judge/naming.h"

BOOST_AUTO_TEST_SUITE(published_captures)

using namespace pathproof;
using namespace pathproof::judge;
using namespace pathproof::judged;
using frame::Endpoint;
using frame::FrameSpec;

namespace {

// A TCP segment as tcpdump printed it, but for its checksum.
struct PrintedSegment {
    const char* source;
    const char* destination;
    std::uint32_t sequence;
    std::uint32_t acknowledgement;
    std::uint8_t flags;
    std::uint16_t window;
    Octets options;
};

Octets segment(const PrintedSegment& printed) {
    const Endpoint source = *frame::parse_endpoint(printed.source);
    const Endpoint destination = *frame::parse_endpoint(printed.destination);
    Octets tcp;
    raw::put16(tcp, source.port);
    raw::put16(tcp, destination.port);
    raw::put32(tcp, printed.sequence);
    raw::put32(tcp, printed.acknowledgement);
    raw::put16(tcp, (5 + printed.options.size() / 4) << 12 | printed.flags);
    raw::put16(tcp, printed.window);
    raw::put32(tcp, 0);
    raw::append(tcp, printed.options);
    return raw::ipv4({.protocol = 6,
                      .source = source.address.v4_host_order(),
                      .destination = destination.address.v4_host_order()},
                     tcp);
}

}  // namespace

// https://github.com/projectcalico/calico/issues/4511, three SYNs of one kind: "192.168.14.0.51708
// > 192.168.5.137.80: Flags [S], cksum 0x9508 (incorrect -> 0x47d5), seq 3456917472, win 43200,
// options [mss 1440,sackOK,TS val 1233289447 ecr 0,nop,wscale 8]", the same a second later ->
// 0x43ed, and 51678, seq 1899457818, TS val 1233253268 -> 0x24e2. All that the checksum covers is
// published.
BOOST_AUTO_TEST_CASE(the_three_captures_of_calico_4511_together_prove_a_partial_checksum) {
    struct Printed {
        const char* source;
        std::uint32_t sequence;
        std::uint32_t timestamp;
        std::uint16_t right;
    };
    const Printed printed[] = {{"192.168.14.0:51708", 3'456'917'472, 1'233'289'447, 0x47d5},
                               {"192.168.14.0:51708", 3'456'917'472, 1'233'290'447, 0x43ed},
                               {"192.168.14.0:51678", 1'899'457'818, 1'233'253'268, 0x24e2}};
    std::vector<Octets> frames;
    for (const Printed& each : printed) {
        Octets options{2, 4, 0x05, 0xa0, 4, 2, 8, 10};
        raw::put32(options, each.timestamp);
        raw::append(options, {0, 0, 0, 0, 1, 3, 3, 8});
        frames.push_back(raw::ethernet(0x0800, segment({each.source, "192.168.5.137:80",
                                                        each.sequence, 0, 0x02, 43'200, options})));
        put(frames.back(), 50, 0x9508);
        BOOST_TEST(at(frames.back(), "plain.tcp").right == each.right);
    }
    BOOST_TEST(name(voted(frames, "plain.tcp")) == "PSEUDO");
}

// https://github.com/cilium/cilium/issues/19708: "10.0.1.171.54434 > 10.1.1.6.8080: Flags [S],
// cksum 0x16e0 (incorrect -> 0xe0e9), seq 4156431077, win 64240, options [mss 1460,sackOK,TS val
// 3265563640 ecr 0,nop,wscale 7]". All that the checksum covers is published; only the IP header's
// identification and such are not ours.
BOOST_AUTO_TEST_CASE(the_capture_of_cilium_19708_is_a_partial_checksum) {
    Octets options{2, 4, 0x05, 0xb4, 4, 2, 8, 10};
    raw::put32(options, 3'265'563'640);
    raw::append(options, {0, 0, 0, 0, 1, 3, 3, 7});
    Octets frame = raw::ethernet(0x0800, segment({"10.0.1.171:54434", "10.1.1.6:8080",
                                                  4'156'431'077, 0, 0x02, 64'240, options}));
    put(frame, 50, 0x16e0);
    BOOST_TEST(at(frame, "plain.tcp").right == 0xe0e9);
    BOOST_TEST(names_at(frame, "plain.tcp") == "PSEUDO");
}

// https://github.com/projectcalico/calico/issues/713: "10.86.247.137.cslistener
// > 10.86.205.211.56723: Flags [S.E], cksum 0xda2f (incorrect -> 0xfd09), seq 872334050, ack
// 582355785, win 29200, options [mss 1460,nop,nop,sackOK,nop,wscale 9]". Published in full as well.
BOOST_AUTO_TEST_CASE(the_capture_of_calico_713_is_a_partial_checksum) {
    const Octets options{2, 4, 0x05, 0xb4, 1, 1, 4, 2, 1, 3, 3, 9};
    Octets frame =
        raw::ethernet(0x0800, segment({"10.86.247.137:9000", "10.86.205.211:56723", 872'334'050,
                                       582'355'785, 0x52, 29'200, options}));
    put(frame, 50, 0xda2f);
    BOOST_TEST(at(frame, "plain.tcp").right == 0xfd09);
    BOOST_TEST(names_at(frame, "plain.tcp") == "PSEUDO");
}

// https://github.com/cloudnativelabs/kube-router/issues/1436: "10.230.68.8.51072
// > 10.230.14.151.53: [bad udp cksum 0x68a4 -> 0x8933!] 48320+ TXT", IP length 60. Addresses,
// ports, length, id and both values are published; the question's bytes are not: ours are chosen so
// that the right value is the published one.
BOOST_AUTO_TEST_CASE(the_capture_of_kube_router_1436_is_a_partial_checksum) {
    Octets query;
    for (const int word : {48'320, 0x0100, 1, 0, 0, 0}) {
        raw::put16(query, static_cast<std::size_t>(word));
    }
    query.resize(32, 'a');
    const Octets ip =
        raw::ipv4({.source = 0x0ae64408, .destination = 0x0ae60e97}, raw::udp(51'072, 53, query));
    BOOST_REQUIRE(ip.size() == 60u);
    Octets frame = raw::ethernet(0x0800, ip);
    put(frame, 40, 0x68a4);
    frame = computing(frame, "plain.udp", 14 + 58, 0x8933);
    BOOST_TEST(names_at(frame, "plain.udp") == "PSEUDO");
}

// https://github.com/projectcalico/calico/issues/3145: "nodeC.local.26898 > nodeA.local.4789: [bad
// udp cksum 0xffff
// -> 0x76dc!] VXLAN, flags [I], vni 4096", IP length 102, around "10.244.90.192.39274
// > 10.244.143.193.http: Flags [S], cksum 0xe849 (correct), seq 2295512834, win 43690, options [mss
// 65495,nop,nop,sackOK,nop,wscale 7]", id 8153, DF. The inner segment is published in full; outer
// addresses and inner MACs are not: ours are from the documentation range, and the last two bytes
// of the inner source MAC make the right value the published one.
BOOST_AUTO_TEST_CASE(the_capture_of_calico_3145_is_a_disabled_checksum_that_nat_updated) {
    const Octets options{2, 4, 0xff, 0xd7, 1, 1, 4, 2, 1, 3, 3, 7};
    Octets inner = segment(
        {"10.244.90.192:39274", "10.244.143.193:80", 2'295'512'834, 0, 0x02, 43'690, options});
    put(inner, 4, 8153);
    put(inner, 6, 0x4000);
    seal_ipv4(inner);
    BOOST_TEST(get(inner, 36) == 0xe849);
    Octets outer =
        raw::ipv4({.source = 0xc6336401, .destination = 0xc6336402},
                  raw::udp(26'898, 4789, raw::vxlan(4096, raw::ethernet(0x0800, inner))));
    BOOST_REQUIRE(outer.size() == 102u);
    seal_ipv4(outer);
    Octets frame = raw::ethernet(0x0800, outer);
    put(frame, 40, 0xffff);
    frame = computing(frame, "outer.udp", 50 + 10, 0x76dc);
    BOOST_TEST(names_at(frame, "outer.udp") == "NAT0");
    const OriginalTuple original{*frame::parse_endpoint("198.51.100.1:45678"),
                                 *frame::parse_endpoint("198.51.100.2:4789")};
    BOOST_TEST(names_at(frame, "outer.udp", original) == "NAT0");
}

// https://github.com/projectcalico/calico/issues/4865: "10.0.10.14.7103 > 10.0.10.10.4789: [bad udp
// cksum 0xbd67 -> 0x4e7f!] VXLAN, flags [I] (0x08), vni 4096", id 16380, IP length 129, between
// MACs 06:29:06:4b:55:9a and 06:47:af:1e:bf:ca. The inner frame is not published; ours has its
// length and makes the right value the published one. The source port before NAT, 44246, is what
// the two values alone lead to.
BOOST_AUTO_TEST_CASE(the_capture_of_calico_4865_is_right_for_source_port_44246) {
    const Octets inner = plain4({}, raw::udp(53'000, 53, Octets(79 - 28, 0x61)));
    Octets outer = raw::ipv4({.source = 0x0a000a0e, .destination = 0x0a000a0a},
                             raw::udp(7103, 4789, raw::vxlan(4096, inner)));
    BOOST_REQUIRE(outer.size() == 129u);
    put(outer, 4, 16'380);
    seal_ipv4(outer);
    Octets frame = raw::ethernet(0x0800, outer);
    put(frame, 40, 0xbd67);
    frame = computing(frame, "outer.udp", 50 + 10, 0x4e7f);
    const ChecksumFinding finding = at(frame, "outer.udp");
    std::vector<unsigned> ports;
    for (unsigned port = 1; port < 0x10000; ++port) {
        const OriginalTuple guess{
            {frame::IpAddress::v4(0x0a000a0e), static_cast<std::uint16_t>(port)},
            {frame::IpAddress::v4(0x0a000a0a), 4789}};
        if (checksum_for_tuple(frame, finding, guess) == 0xbd67) {
            ports.push_back(port);
        }
    }
    BOOST_REQUIRE(ports.size() == 1);
    BOOST_TEST(ports[0] == 44'246u);
    const OriginalTuple original{*frame::parse_endpoint("10.0.10.14:44246"),
                                 *frame::parse_endpoint("10.0.10.10:4789")};
    BOOST_TEST(names_at(frame, "outer.udp", original) == "STALE");
    BOOST_TEST(names_at(frame, "outer.udp") == "");
}

// The kernel's arithmetic after ea64d8d6c675, simulated: before NAT 0x2719; with the port changed
// the right value is 0xb830 and 0x2719 stays; with the address changed too (by 0x55 from a packet
// of 0x271a) 0x276f stays where 0xb7dc would be right. Values are the simulation's; addresses and
// ports are ours, and differ by what the values say.
BOOST_AUTO_TEST_CASE(the_simulated_kernel_leaves_a_stale_port_and_a_doubled_address) {
    constexpr std::uint16_t kOldPort = 40'000;
    constexpr std::uint16_t kNewPort = kOldPort - 0x9117;  // 0x2719 - 0xb830 in one's complement
    raw::Random random(11);
    FrameSpec spec = tunnel_spec(random);
    spec.tunnel->outer.source = {frame::IpAddress::v4(0x0a000001), kNewPort};
    const std::size_t spare = rendered(spec).size() - 2;
    Octets port_only = rendered(spec);
    put(port_only, 40, 0x2719);
    // The inner checksum changes with the payload; the spare word is in the inner MAC instead.
    const std::size_t inner_mac = 50 + 10;
    port_only = computing(port_only, "outer.udp", inner_mac, 0xb830);
    BOOST_TEST(spare > inner_mac);
    const Endpoint vtep = spec.tunnel->outer.destination;
    const OriginalTuple before{{frame::IpAddress::v4(0x0a000001), kOldPort}, vtep};
    BOOST_TEST(checksum_for_tuple(port_only, at(port_only, "outer.udp"), before) == 0x2719);
    BOOST_TEST(names_at(port_only, "outer.udp", before) == "STALE");

    spec.tunnel->outer.source.address = frame::IpAddress::v4(0x0a000001 + 0x55);
    Octets both = rendered(spec);
    put(both, 40, 0x276f);
    both = computing(both, "outer.udp", inner_mac, 0xb7dc);
    BOOST_TEST(checksum_for_tuple(both, at(both, "outer.udp"), before) == 0x271a);
    BOOST_TEST(names_at(both, "outer.udp", before) == "NAT_LCO");
}

BOOST_AUTO_TEST_SUITE_END()
