#include "harness/fate/flow.h"

#include <netinet/in.h>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(flow)

using namespace pathproof;
using fate::parse_flow;

BOOST_AUTO_TEST_CASE(a_flow_is_read_as_it_is_written) {
    for (const char* text :
         {"udp 10.0.0.5:40000 > 10.96.0.10:53", "tcp * > 10.96.0.10:443", "any * > *:53",
          "icmp 10.0.0.5 > 10.0.0.9", "udp 2001:db8::1 > [2001:db8::2]:53", "udp 10.0.0.5 > *"}) {
        const auto flow = parse_flow({text});
        BOOST_REQUIRE_MESSAGE(flow, text);
        BOOST_TEST(fate::to_string(*flow) == text);
    }
    BOOST_TEST(fate::to_string(*parse_flow({"udp", "10.0.0.5:1", "10.0.0.6:2"})) ==
               "udp 10.0.0.5:1 > 10.0.0.6:2");
}

BOOST_AUTO_TEST_CASE(what_is_no_flow_is_refused_in_a_sentence) {
    const std::pair<std::vector<std::string>, const char*> kWrong[] = {
        {{}, "a flow is a protocol, a source and a destination"},
        {{"udp", "10.0.0.5"}, "a flow is a protocol, a source and a destination"},
        {{"udp", "a", "b", "c"}, "a flow is a protocol, a source and a destination"},
        {{"quic", "*", "*:53"}, "'quic' is no protocol"},
        {{"0", "*", "*:53"}, "'0' is no protocol"},
        {{"udp", "10.0.0.5:x", "*"}, "10.0.0.5:x is no address"},
        {{"udp", "*:70000", "*"}, "ports are 1 to 65535"},
        {{"udp", "*:0", "*"}, "ports are 1 to 65535"},
        {{"icmp", "10.0.0.5:7", "*"}, "packets of icmp have no ports"},
        {{"udp", "10.0.0.5", "2001:db8::1"}, "not of one family"},
        {{"udp", "*", "*"}, "a flow needs an address or a port"},
    };
    for (const auto& [words, sentence] : kWrong) {
        const auto flow = parse_flow(words);
        BOOST_REQUIRE(!flow);
        BOOST_TEST(flow.error().message.find(sentence) != std::string::npos, flow.error().message);
        BOOST_TEST((flow.error().code == ErrorCode::kBadInput));
    }
}

BOOST_AUTO_TEST_CASE(what_is_not_named_is_not_compared) {
    const fate_filter any = fate::to_filter(*parse_flow({"any * *:53"}));
    BOOST_TEST(any.has_source == 0);
    BOOST_TEST(any.has_destination == 0);
    BOOST_TEST(any.flow.family == 0);
    BOOST_TEST(any.flow.protocol == 0);
    BOOST_TEST(any.flow.destination_port == 53);
    const fate_filter one = fate::to_filter(*parse_flow({"udp 10.0.0.5 *:53"}));
    BOOST_TEST(one.has_source == 1);
    BOOST_TEST(one.flow.family == 4);
    BOOST_TEST(one.flow.source[0] == 10);
    BOOST_TEST(one.flow.source[3] == 5);
    BOOST_TEST(one.flow.protocol == IPPROTO_UDP);
}

BOOST_AUTO_TEST_SUITE_END()
