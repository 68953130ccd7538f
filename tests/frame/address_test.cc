#include "dataplane/frame/address.h"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(address)

using namespace pathproof;
using namespace pathproof::frame;

BOOST_AUTO_TEST_CASE(addresses_are_printed_as_they_were_read) {
    for (const char* text : {"198.18.0.1", "0.0.0.0", "255.255.255.255", "2001:db8::1", "::"}) {
        const auto ip = parse_ip(text);
        BOOST_REQUIRE(ip);
        BOOST_TEST(to_string(*ip) == text);
    }
    BOOST_TEST(to_string(*parse_mac("02:00:00:00:aB:01")) == "02:00:00:00:ab:01");
    for (const char* text : {"198.18.0.1:53", "[2001:db8::1]:65535", "198.18.0.1:0"}) {
        const auto endpoint = parse_endpoint(text);
        BOOST_REQUIRE(endpoint);
        BOOST_TEST(to_string(*endpoint) == text);
    }
}

BOOST_AUTO_TEST_CASE(what_is_no_address_is_refused_and_quoted) {
    for (const char* text : {"", "198.18.0", "198.18.0.256", "198.18.0.1 ", "2001:db8:::1", "host",
                             "1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc"}) {
        const auto ip = parse_ip(text);
        BOOST_REQUIRE(!ip);
        BOOST_TEST((ip.error().code == ErrorCode::kBadInput));
        BOOST_TEST(ip.error().message.find(std::string("'") + text + "'") != std::string::npos);
    }
    BOOST_TEST(!parse_ip(std::string_view("198.18.0.1\0x", 12)));
    for (const char* text : {"", "02:00:00:00:00", "02-00-00-00-00-01", "02:00:00:00:00:0g",
                             "02:00:00:00:00:001", "02:00:00:00:00:-1", "2:0:0:0:0:1:2:3:4"}) {
        BOOST_TEST(!parse_mac(text), text);
    }
    for (const char* text : {"", "198.18.0.1", "198.18.0.1:", "198.18.0.1:65536", "198.18.0.1:-1",
                             "198.18.0.1:53x", "2001:db8::1:53", "[198.18.0.1]:53", ":53"}) {
        BOOST_TEST(!parse_endpoint(text), text);
    }
}

BOOST_AUTO_TEST_CASE(an_address_moves_on_by_its_low_32_bits) {
    BOOST_TEST(to_string(parse_ip("198.18.0.255")->plus(2)) == "198.18.1.1");
    BOOST_TEST(to_string(parse_ip("255.255.255.255")->plus(1)) == "0.0.0.0");
    BOOST_TEST(to_string(parse_ip("2001:db8::ffff:ffff")->plus(1)) == "2001:db8::");
    BOOST_TEST(to_string(IpAddress::v4(0xc6120001)) == "198.18.0.1");
    BOOST_TEST(IpAddress::v4(0xc6120001).v4_host_order() == 0xc6120001u);
}

BOOST_AUTO_TEST_CASE(addresses_compare_by_value) {
    BOOST_TEST((*parse_ip("198.18.0.1") == IpAddress::v4(0xc6120001)));
    BOOST_TEST((*parse_ip("198.18.0.1") < *parse_ip("198.18.0.2")));
    BOOST_TEST((*parse_ip("0.0.0.0") != *parse_ip("::")));
}

BOOST_AUTO_TEST_SUITE_END()
