#include "harness/monitor/refusal.h"

#include <netinet/in.h>

#include <boost/test/unit_test.hpp>
#include <vector>

using namespace pathproof;
using namespace pathproof::monitor;

namespace {

using Bytes = std::vector<std::byte>;

void put(Bytes& bytes, std::initializer_list<int> values) {
    for (const int value : values) {
        bytes.push_back(static_cast<std::byte>(value));
    }
}

void put_address(Bytes& bytes, const char* text) {
    const frame::IpAddress address = frame::parse_ip(text).value();
    for (std::size_t i = 0; i < address.size(); ++i) {
        bytes.push_back(static_cast<std::byte>(address.bytes[i]));
    }
}

Bytes ipv4(const char* source, const char* destination, int protocol, const Bytes& payload,
           int options = 0) {
    Bytes bytes;
    put(bytes, {0x45 + options, 0, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0});
    put_address(bytes, source);
    put_address(bytes, destination);
    bytes.resize(bytes.size() + static_cast<std::size_t>(options) * 4);
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    return bytes;
}

Bytes ipv6(const char* source, const char* destination, int protocol, const Bytes& payload) {
    Bytes bytes;
    put(bytes, {0x60, 0, 0, 0, 0, 0, protocol, 64});
    put_address(bytes, source);
    put_address(bytes, destination);
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    return bytes;
}

Bytes ports(int source, int destination) {
    Bytes bytes;
    put(bytes, {source >> 8, source & 0xff, destination >> 8, destination & 0xff, 0, 0, 0, 0});
    return bytes;
}

Bytes icmp(int type, int code, const Bytes& quoted) {
    Bytes bytes;
    put(bytes, {type, code, 0, 0, 0, 0, 0, 0});
    bytes.insert(bytes.end(), quoted.begin(), quoted.end());
    return bytes;
}

Bytes tcp(int source, int destination, int flags) {
    Bytes bytes = ports(source, destination);
    put(bytes, {0, 0, 0, 0, 0x50, flags, 0, 0, 0, 0, 0, 0});
    return bytes;
}

const Bytes kQuoted = ipv4("198.18.0.1", "10.1.0.3", IPPROTO_UDP, ports(40000, 53));
const Bytes kQuoted6 = ipv6("2001:db8::1", "2001:db8::3", IPPROTO_TCP, ports(40000, 80));

Bytes error4(int type, int code, const Bytes& quoted = kQuoted) {
    return ipv4("10.1.0.254", "198.18.0.1", IPPROTO_ICMP, icmp(type, code, quoted));
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_icmp_error_names_the_packet_that_was_refused) {
    const auto refusal = parse_refusal(error4(3, 3));
    BOOST_REQUIRE(refusal);
    BOOST_TEST(frame::to_string(refusal->packet.source) == "198.18.0.1:40000");
    BOOST_TEST(frame::to_string(refusal->packet.destination) == "10.1.0.3:53");
    BOOST_TEST(refusal->packet.protocol == IPPROTO_UDP);
    BOOST_TEST(describe(*refusal) == "port unreachable from 10.1.0.254");
}

BOOST_AUTO_TEST_CASE(options_before_the_error_and_in_the_quote_are_passed_over) {
    const Bytes quoted = ipv4("198.18.0.1", "10.1.0.3", IPPROTO_UDP, ports(40000, 53), 2);
    const auto refusal =
        parse_refusal(ipv4("10.1.0.3", "198.18.0.1", IPPROTO_ICMP, icmp(3, 13, quoted), 3));
    BOOST_REQUIRE(refusal);
    BOOST_TEST(refusal->packet.destination.port == 53);
    BOOST_TEST(describe(*refusal) == "packets prohibited from 10.1.0.3");
}

BOOST_AUTO_TEST_CASE(an_icmpv6_error_is_read_too) {
    const auto refusal =
        parse_refusal(ipv6("2001:db8::3", "2001:db8::1", IPPROTO_ICMPV6, icmp(1, 4, kQuoted6)));
    BOOST_REQUIRE(refusal);
    BOOST_TEST(frame::to_string(refusal->packet.destination) == "[2001:db8::3]:80");
    BOOST_TEST(describe(*refusal) == "port unreachable from 2001:db8::3");
}

BOOST_AUTO_TEST_CASE(a_reset_refuses_the_segment_that_it_answers) {
    const auto refusal =
        parse_refusal(ipv4("10.1.0.3", "198.18.0.1", IPPROTO_TCP, tcp(80, 40000, 0x14)));
    BOOST_REQUIRE(refusal);
    BOOST_TEST(frame::to_string(refusal->packet.source) == "198.18.0.1:40000");
    BOOST_TEST(frame::to_string(refusal->packet.destination) == "10.1.0.3:80");
    BOOST_TEST(describe(*refusal) == "reset");
    BOOST_TEST(!parse_refusal(ipv4("10.1.0.3", "198.18.0.1", IPPROTO_TCP, tcp(80, 40000, 0x12))));
}

BOOST_AUTO_TEST_CASE(what_is_no_refusal_gives_nothing) {
    BOOST_TEST(!parse_refusal(error4(3, 4)));   // fragmentation needed
    BOOST_TEST(!parse_refusal(error4(11, 0)));  // time exceeded
    BOOST_TEST(!parse_refusal(error4(8, 0)));   // an echo request
    BOOST_TEST(!parse_refusal(kQuoted));
    BOOST_TEST(!parse_refusal({}));
    // ICMP in IPv6, ICMPv6 in IPv4, IPv6 quoted by ICMP
    BOOST_TEST(!parse_refusal(ipv6("::1", "::2", IPPROTO_ICMP, icmp(3, 3, kQuoted))));
    BOOST_TEST(!parse_refusal(ipv4("10.0.0.1", "10.0.0.2", IPPROTO_ICMPV6, icmp(1, 4, kQuoted6))));
    BOOST_TEST(!parse_refusal(error4(3, 3, kQuoted6)));
}

BOOST_AUTO_TEST_CASE(a_fragment_has_no_header_to_read) {
    Bytes later = error4(3, 3);
    later[7] = std::byte{1};
    BOOST_TEST(!parse_refusal(later));
    Bytes quoted = kQuoted;
    quoted[7] = std::byte{1};
    BOOST_TEST(!parse_refusal(error4(3, 3, quoted)));
}

BOOST_AUTO_TEST_CASE(packets_cut_short_anywhere_give_nothing_or_the_same) {
    const Bytes whole[] = {
        error4(3, 3), ipv4("10.1.0.3", "198.18.0.1", IPPROTO_TCP, tcp(80, 40000, 0x04)),
        ipv6("2001:db8::3", "2001:db8::1", IPPROTO_ICMPV6, icmp(1, 0, kQuoted6))};
    for (const Bytes& packet : whole) {
        const auto full = parse_refusal(packet);
        BOOST_REQUIRE(full);
        std::size_t readable = 0;
        for (std::size_t length = 0; length < packet.size(); ++length) {
            // A copy, so that a sanitizer sees a step beyond it.
            const Bytes cut(packet.begin(), packet.begin() + static_cast<std::ptrdiff_t>(length));
            const auto refusal = parse_refusal(cut);
            BOOST_TEST((!refusal || refusal->packet == full->packet));
            readable += refusal ? 1 : 0;
        }
        BOOST_TEST(readable < packet.size() / 3);
    }
}
