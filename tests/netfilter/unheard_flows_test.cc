#include "harness/netfilter/unheard_flows.h"

#include <boost/test/unit_test.hpp>

using namespace pathproof::netfilter;

BOOST_AUTO_TEST_SUITE(unheard)

BOOST_AUTO_TEST_CASE(flows_from_before_are_spoken_of_unless_all_are_heard) {
    BOOST_TEST(unheard_flows(EventsOf::kNewFlows, 3).starts_with("3 flows are there already"));
    BOOST_TEST(unheard_flows(EventsOf::kNobodyKnows, 3).starts_with("3 flows are there already"));
    BOOST_TEST(unheard_flows(EventsOf::kNewFlows, 0) == "");
    BOOST_TEST(unheard_flows(EventsOf::kAll, 3) == "");
}

BOOST_AUTO_TEST_CASE(a_kernel_that_sends_no_events_is_spoken_of_with_an_empty_table_too) {
    BOOST_TEST(unheard_flows(EventsOf::kNone, 0).find("nf_conntrack_events is 0") !=
               std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
