#include "harness/netfilter/digits.h"

#include <arpa/inet.h>

#include <boost/test/unit_test.hpp>
#include <random>

using namespace pathproof;
using namespace pathproof::netfilter;

namespace {

std::string number(std::uint64_t value) {
    std::string text;
    append_number(text, value);
    return text;
}

void same_as_inet_ntop(const frame::IpAddress& address) {
    char expected[INET6_ADDRSTRLEN];
    const int family = address.family == frame::Family::kIpv4 ? AF_INET : AF_INET6;
    BOOST_REQUIRE(inet_ntop(family, address.bytes.data(), expected, sizeof expected) != nullptr);
    std::string text;
    append_ip(text, address);
    BOOST_REQUIRE_EQUAL(text, expected);
}

}  // namespace

BOOST_AUTO_TEST_CASE(numbers_have_their_digits) {
    std::uint64_t power = 1;
    for (int digits = 1; digits <= 20; ++digits, power *= 10) {
        for (const std::uint64_t value : {power - 1, power, power + 1, power / 2 + 7}) {
            BOOST_TEST(number(value) == std::to_string(value));
        }
    }
    BOOST_TEST(number(0) == "0");
    BOOST_TEST(number(UINT64_MAX) == std::to_string(UINT64_MAX));
}

BOOST_AUTO_TEST_CASE(ipv4_addresses_read_as_inet_ntop_has_them) {
    for (unsigned octet = 0; octet < 256; ++octet) {
        same_as_inet_ntop(
            frame::IpAddress::v4(octet << 24 | octet << 16 | (255 - octet) << 8 | octet));
    }
}

BOOST_AUTO_TEST_CASE(ipv6_addresses_read_as_inet_ntop_has_them) {
    std::mt19937 engine(7);
    const auto random = [&] { return static_cast<unsigned>(engine()); };
    frame::IpAddress address{.family = frame::Family::kIpv6};
    same_as_inet_ntop(address);
    for (int i = 0; i < 100'000; ++i) {
        // Every pattern of zero words, with small and large words between.
        const unsigned zeros = random() & 0xff;
        for (unsigned word = 0; word < 8; ++word) {
            const unsigned value = zeros >> word & 1 ? 0 : random() >> random() % 16 & 0xffff;
            address.bytes[2 * word] = static_cast<std::uint8_t>(value >> 8);
            address.bytes[2 * word + 1] = static_cast<std::uint8_t>(value);
        }
        same_as_inet_ntop(address);
    }
    for (const char* text : {"::", "::1", "::ffff:198.18.0.1", "::198.18.0.1", "1::", "0:0:1::",
                             "2001:db8:0:1:1:1:1:1", "2001:0:0:1::1", "::ffff:0:1:2"}) {
        same_as_inet_ntop(frame::parse_ip(text).value());
    }
}
