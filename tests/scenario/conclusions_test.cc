// The conclusions of all scenarios that have them as data.
#include <boost/test/unit_test.hpp>
#include <set>

#include "harness/scenario/scenario.h"

BOOST_AUTO_TEST_SUITE(conclusions_of_all)

using namespace pathproof;

// Data that is wrong ends the program, and says what is wrong with it.
BOOST_AUTO_TEST_CASE(names_and_brackets_of_each_scenario_fit) {
    std::set<std::string> ids;
    for (const scenario::Scenario& each : scenario::all_scenarios()) {
        if (each.conclusions != nullptr) {
            each.conclusions();
            ids.insert(each.id);
        }
    }
    for (const char* id :
         {"ipvs-reuse", "table-full", "bridge-unnat", "invalid-rst", "stale-udp", "stale-endpoint",
          "snat-exhaustion", "snat-timestamps", "pmtu-blackhole", "search-path", "split-answer",
          "dns-tcp-limit", "large-answer", "nodelocal"}) {
        BOOST_TEST(ids.contains(id), id);
    }
}

BOOST_AUTO_TEST_SUITE_END()
