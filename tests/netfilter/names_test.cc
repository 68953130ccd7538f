#include "harness/netfilter/names.h"

#include <netinet/in.h>

#include <boost/test/unit_test.hpp>

using namespace pathproof::netfilter;

BOOST_AUTO_TEST_CASE(protocols_have_the_words_of_conntrack) {
    BOOST_TEST(protocol_name(17) == "udp");
    BOOST_TEST(protocol_name(58) == "icmpv6");
    BOOST_TEST(protocol_name(50) == "unknown");
    for (const std::string_view word : protocol_names()) {
        BOOST_TEST(protocol_name(protocol_number(word).value()) == word);
    }
    BOOST_TEST(protocol_number("50").value() == 50);
    for (const char* wrong : {"", "256", "-1", "50x", "quic", "unknown"}) {
        BOOST_TEST(!protocol_number(wrong));
    }
}

BOOST_AUTO_TEST_CASE(states_out_of_range_read_none_as_in_conntrack) {
    BOOST_TEST(state_name(IPPROTO_TCP, 1) == "SYN_SENT");
    BOOST_TEST(state_name(IPPROTO_TCP, 9) == "SYN_SENT2");
    BOOST_TEST(state_name(IPPROTO_TCP, 200) == "NONE");
    BOOST_TEST(state_name(IPPROTO_SCTP, 4) == "ESTABLISHED");
    BOOST_TEST(state_name(IPPROTO_DCCP, 4) == "OPEN");
}

BOOST_AUTO_TEST_CASE(status_bits_have_names_both_ways) {
    BOOST_TEST((status_names(0x1408) ==
                std::vector<std::string>{"CONFIRMED", "FIXED_TIMEOUT", "NAT_CLASH"}));
    BOOST_TEST((status_names(1u << 21) == std::vector<std::string>{"BIT_21"}));
    BOOST_TEST(status_bit("nat-clash").value() == 0x1000U);
    BOOST_TEST(status_bit("Seen_Reply").value() == 2U);
    BOOST_TEST(!status_bit("clash"));
}
