#include <boost/test/unit_test.hpp>

#include "dataplane/load/frame_source.h"
#include "tests/load/made_frames.h"
#include "tests/load/sources.h"

BOOST_AUTO_TEST_SUITE(frame_source_refusals)

using namespace pathproof;
using namespace pathproof::load;
using frame::TrafficClass;

BOOST_AUTO_TEST_CASE(sizes_that_a_class_cannot_have_are_named) {
    SourcePlan plan = plan_of(TrafficClass::kDnsA);
    // A plan's lengths are without FCS, those of the sentences with it, as --size takes them.
    plan.mix[0].frame_bytes = 60;
    BOOST_TEST(contains(refusal(plan), "dns-a has 102 bytes at least"));
    plan.mix[0].frame_bytes = 105;
    BOOST_TEST(contains(refusal(plan), "102 without EDNS0, 113 with an empty OPT record, and 117"));
    plan.mix[0].frame_bytes = 9'235;
    BOOST_TEST(contains(refusal(plan), "9235"));
    plan.mix[0].frame_bytes = 109;
    FrameSource possible = source_of(plan);
    BOOST_TEST(is_right(next_frames(possible, 1)[0]));
    plan.mix[0].frame_bytes = 113;
    FrameSource padded = source_of(plan);
    BOOST_TEST(is_right(next_frames(padded, 1)[0]));
}

BOOST_AUTO_TEST_CASE(flows_beyond_ports_and_addresses_are_refused) {
    SourcePlan plan = plan_of(TrafficClass::kDnsA);
    plan.flow = {.flows = 10, .first_port = 65'000, .ports = 1'000};
    BOOST_TEST(contains(refusal(plan), "beyond 65535"));
    plan.flow = {.flows = 0, .first_port = 1, .ports = 1};
    BOOST_TEST(contains(refusal(plan), "1 at least"));
    plan.flow = {.flows = 5'000'000'000, .first_port = 1, .ports = 1};
    BOOST_TEST(contains(refusal(plan), "source addresses"));
    plan.flow = {.flows = 200'000'000, .first_port = 1, .ports = 1};
    BOOST_TEST(contains(refusal(plan), "203.0.113.2 is one of"));
    plan.flow = {.flows = 4};
    plan.first_flow = 4;
    BOOST_TEST(contains(refusal(plan), "no flow"));
}

BOOST_AUTO_TEST_CASE(what_contradicts_itself_is_refused) {
    SourcePlan plan = plan_of(TrafficClass::kDnsA);
    plan.suffix = std::string(240, 'x');
    BOOST_TEST(contains(refusal(plan), "suffix"));
    plan.suffix = "";
    for (int label = 0; label < 4; ++label) {
        plan.suffix += std::string(59, 'x') + ".";
    }
    BOOST_TEST(contains(refusal(plan), "leaves no room"));
    plan = plan_of(TrafficClass::kDnsA);
    plan.outer_source_ports = {1};
    BOOST_TEST(contains(refusal(plan), "envelope"));
    plan = plan_of(TrafficClass::kReplay);
    BOOST_TEST(contains(refusal(plan), "capture file"));
    plan = plan_of(TrafficClass::kDnsAaaa);
    plan.pairing = SourcePlan::Pairing::kPairs;
    BOOST_TEST(contains(refusal(plan), "leave dns-aaaa out"));
    plan = plan_of(TrafficClass::kDnsA);
    plan.stream = 16;
    BOOST_TEST(contains(refusal(plan), "stream 16"));
    plan = plan_of(TrafficClass::kDnsA);
    plan.mix.clear();
    BOOST_TEST(contains(refusal(plan), "mix of 0 parts"));
    plan = plan_of(TrafficClass::kDnsA);
    plan.spec.payload = {1};
    BOOST_TEST(contains(refusal(plan), "no payload"));
}

BOOST_AUTO_TEST_SUITE_END()
