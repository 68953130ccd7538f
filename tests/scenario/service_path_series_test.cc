// dns-race and each scenario of the service path and of resolvers again and again: how often it is reproduced, whether a control ever
// fails and whether a cause is ever said that is none of its own; once on a machine that is idle, and
// once beside two processes that take all the CPU they get.
//
// PATHPROOF_SERIES is how many runs of each, PATHPROOF_SERIES_ONLY (a word) leaves only scenarios with
// that word.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <map>
#include <set>

#include "tests/scenario/lab_run.h"
#include "tests/scenario/traps.h"

BOOST_AUTO_TEST_SUITE(series)

using nlohmann::json;

namespace {

// Causes that each scenario may give for a cell that fails.
const std::map<std::string, std::set<std::string>> kOwnCauses = {
    {"snat-timestamps", {"stale-timestamp", "stale-sequence", "stale-timestamp+stale-sequence"}},
    {"stale-udp", {"stale-entry"}},
    {"bridge-unnat", {"untranslated-answer"}},
    {"stale-endpoint", {"stale-endpoint"}},
    {"table-full", {"table-full", "early-drop"}},
    {"snat-exhaustion", {"port-search"}},
    {"pmtu-blackhole", {"fragments-dropped", "icmp-filtered"}},
    {"invalid-rst", {"invalid-rst"}},
    {"search-path", {"search-path"}},
    {"split-answer", {"split-answer", "nodata-answer"}},
    {"large-answer",
     {"size-not-lowered", "fragments-dropped", "tcp-filtered", "no-tcp", "resolver-without-tcp"}},
    {"dns-tcp-limit", {"worker-limit", "forward-max"}},
    {"nodelocal", {"conntrack-race"}},
    {"dns-race", {"late-answer", "same-tuple-race", "same-tuple-race+late-answer"}},
};

std::string variable(const char* name, const std::string& otherwise) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : otherwise;
}

struct Tally {
    int runs = 0, reproduced = 0, not_reproduced = 0, control_failures = 0, false_causes = 0;
};

void count(const json& scenario, const std::set<std::string>& own, Tally& tally) {
    ++tally.runs;
    tally.reproduced += scenario["verdict"] == "REPRODUCED" ? 1 : 0;
    tally.not_reproduced += scenario["verdict"] == "NOT REPRODUCED" ? 1 : 0;
    for (const json& control : scenario["controls"]) {
        tally.control_failures += control["verdict"] == "FAIL" ? 1 : 0;
    }
    bool is_false = !contradictions(scenario, {}).empty();
    for (const json& cell : scenario["cells"]) {
        is_false |= scenario["cause"] != "" && cell["role"] == "matrix" &&
                    cell["verdict"] == "FAIL" && !own.contains(cell["cause"]);
    }
    tally.false_causes += is_false ? 1 : 0;
    if (scenario["verdict"] != "REPRODUCED" || is_false) {
        BOOST_TEST_MESSAGE(scenario["id"] << " " << scenario["verdict"] << ": "
                                          << scenario["headline"]);
    }
}

std::map<std::string, Tally> series() {
    const int runs = std::atoi(variable("PATHPROOF_SERIES", "1").c_str());
    const std::string only = variable("PATHPROOF_SERIES_ONLY", "");
    std::map<std::string, Tally> tallies;
    for (int run = 0; run < runs; ++run) {
        for (const auto& [id, own] : kOwnCauses) {
            if (id.find(only) == std::string::npos) {
                continue;
            }
            const auto made = pathproof_run({"repro", id, "--json"});
            const json report = json::parse(made.out, nullptr, false);
            BOOST_REQUIRE_MESSAGE(report.is_object(), made.err);
            count(scenario_named(report, id), own, tallies[id]);
        }
    }
    for (const auto& [id, tally] : tallies) {
        BOOST_TEST_MESSAGE(id << ": REPRODUCED in " << tally.reproduced << " of " << tally.runs
                              << " runs, NOT REPRODUCED in " << tally.not_reproduced << ", "
                              << tally.control_failures << " controls failed, "
                              << tally.false_causes << " false causes");
    }
    return tallies;
}

// A process that takes all the CPU it gets.
class Spinning {
  public:
    Spinning() : pid_(fork()) {
        while (pid_ == 0) {
        }
    }
    ~Spinning() {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
    Spinning(const Spinning&) = delete;
    Spinning& operator=(const Spinning&) = delete;

  private:
    pid_t pid_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(on_an_idle_machine_each_is_reproduced_in_19_of_20_runs) {
    for (const auto& [id, tally] : series()) {
        BOOST_TEST(tally.reproduced * 20 >= tally.runs * 19, id);
        BOOST_TEST(tally.not_reproduced == 0, id);
        BOOST_TEST(tally.control_failures == 0, id);
        BOOST_TEST(tally.false_causes == 0, id);
    }
}

BOOST_AUTO_TEST_CASE(beside_two_busy_loops_nothing_false_is_said) {
    const Spinning first;
    const Spinning second;
    int mostly = 0;
    const auto tallies = series();
    for (const auto& [id, tally] : tallies) {
        mostly += tally.reproduced * 2 > tally.runs ? 1 : 0;
        BOOST_TEST(tally.not_reproduced == 0, id);
        BOOST_TEST(tally.false_causes == 0, id);
    }
    BOOST_TEST(mostly + 2 >= static_cast<int>(tallies.size()));
}

BOOST_AUTO_TEST_SUITE_END()
