#include "dataplane/frame/checksum.h"

#include <rte_ip.h>

#include <boost/test/unit_test.hpp>

#include "dataplane/frame/checksum_oracle.h"
#include "tests/frame/raw.h"

BOOST_AUTO_TEST_SUITE(checksum)

using namespace pathproof;
using namespace pathproof::frame;
using raw::Octets;

namespace {

std::uint16_t oracle_sum(Bytes bytes) {
    OracleSum sum;
    sum.add(bytes);
    return sum.sum();
}

std::uint16_t rte_sum(Bytes bytes) {
    return __builtin_bswap16(rte_raw_cksum(bytes.data(), bytes.size()));
}

}  // namespace

BOOST_AUTO_TEST_CASE(rfc_1071_section_3_is_summed_as_printed_there) {
    const Octets bytes{0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};
    BOOST_TEST(folded(sum_bytes(bytes)) == 0xddf2);
    BOOST_TEST(oracle_sum(bytes) == 0xddf2);
    BOOST_TEST(checksum_of(sum_bytes(bytes)) == 0x220d);
}

BOOST_AUTO_TEST_CASE(rfc_1624_section_4_is_updated_as_printed_there) {
    BOOST_TEST(updated_checksum(0xdd2f, 0x5555, 0x3285) == 0x0000);
}

BOOST_AUTO_TEST_CASE(fast_sum_oracle_and_rte_net_agree_at_every_length_and_alignment) {
    raw::Random random(1);
    Octets bytes(400);
    for (int round = 0; round < 100; ++round) {
        for (std::uint8_t& byte : bytes) {
            byte = round % 4 == 0 ? 0xff : random.octet();
        }
        for (std::size_t length = 0; length < 200; ++length) {
            const Bytes part = Bytes(bytes).subspan(random.below(9), length);
            BOOST_REQUIRE_EQUAL(folded(sum_bytes(part)), oracle_sum(part));
            BOOST_REQUIRE_EQUAL(folded(sum_bytes(part)), rte_sum(part));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_long_run_of_carries_is_not_lost) {
    const Octets bytes(65'534, 0xff);
    BOOST_TEST(folded(sum_bytes(bytes)) == 0xffff);
    BOOST_TEST(oracle_sum(bytes) == 0xffff);
    BOOST_TEST(folded(~PartialSum{0}) == 0xffff);
    // A word of memory order, printed in host order.
    BOOST_TEST(folded(0xffff'ffff'0000'0001) == 0x0100);
}

BOOST_AUTO_TEST_CASE(the_oracle_goes_on_at_an_odd_place) {
    const Octets bytes{1, 2, 3, 4, 5, 6, 7};
    OracleSum sum;
    sum.add(Bytes(bytes).first(3));
    sum.add(Bytes(bytes).subspan(3, 1));
    sum.add(Bytes(bytes).subspan(4));
    BOOST_TEST(sum.sum() == 0x0102 + 0x0304 + 0x0506 + 0x0700);
    BOOST_TEST(sum.checksum() == static_cast<std::uint16_t>(~sum.sum()));
}

BOOST_AUTO_TEST_CASE(an_update_gives_what_a_new_sum_gives) {
    raw::Random random(2);
    for (int round = 0; round < 20'000; ++round) {
        Octets bytes(2 + 2 * random.below(30));
        for (std::uint8_t& byte : bytes) {
            byte = random.below(4) == 0 ? 0xff : random.octet();
        }
        bytes[0] |= 1;  // no header is all 0, for which 0 and 0xffff would differ
        const std::size_t at = bytes.size() > 2 ? 2 + 2 * random.below(bytes.size() / 2 - 1) : 0;
        const std::uint16_t before = checksum_of(sum_bytes(bytes));
        const auto old_word = static_cast<std::uint16_t>(bytes[at] << 8 | bytes[at + 1]);
        const std::uint16_t new_word = at == 0 ? random.word() | 0x0100 : random.word();
        bytes[at] = static_cast<std::uint8_t>(new_word >> 8);
        bytes[at + 1] = static_cast<std::uint8_t>(new_word);
        BOOST_REQUIRE_EQUAL(updated_checksum(before, old_word, new_word),
                            checksum_of(sum_bytes(bytes)));
    }
}

BOOST_AUTO_TEST_CASE(pseudo_headers_are_those_of_rte_net) {
    raw::Random random(3);
    for (int round = 0; round < 2'000; ++round) {
        const std::uint8_t protocol = random.below(2) == 0 ? 6 : 17;
        const Octets data(random.below(300), 0xa5);
        Octets four =
            raw::ipv4({.protocol = protocol, .source = random(), .destination = random()}, data);
        const auto* header4 = reinterpret_cast<const rte_ipv4_hdr*>(four.data());
        const auto length = static_cast<std::uint32_t>(data.size());
        const IpAddress source = IpAddress::v4(__builtin_bswap32(header4->src_addr));
        const IpAddress destination = IpAddress::v4(__builtin_bswap32(header4->dst_addr));
        BOOST_REQUIRE_EQUAL(folded(pseudo_header_sum(source, destination, protocol, length)),
                            __builtin_bswap16(rte_ipv4_phdr_cksum(header4, 0)));
        const Octets six = raw::ipv6(protocol, data);
        const auto* header6 = reinterpret_cast<const rte_ipv6_hdr*>(six.data());
        const IpAddress source6 = *parse_ip("2001:db8::1");
        const IpAddress destination6 = *parse_ip("2001:db8::2");
        BOOST_REQUIRE_EQUAL(folded(pseudo_header_sum(source6, destination6, protocol, length)),
                            __builtin_bswap16(rte_ipv6_phdr_cksum(header6, 0)));
    }
}

BOOST_AUTO_TEST_CASE(udp_never_sends_a_computed_0) {
    const Octets ones{0xff, 0xff};
    BOOST_TEST(checksum_of(sum_bytes(ones)) == 0);
    BOOST_TEST(udp_checksum_of(sum_bytes(ones)) == 0xffff);
}

BOOST_AUTO_TEST_SUITE_END()
