#include "harness/report/netdev.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/process/json_text.h"
#include "harness/report/outcome.h"
#include "harness/report/text.h"

namespace pathproof::report {
namespace {

using namespace verdict;
using nlohmann::ordered_json;

// Names a text as NIPA's namify() does: letters and digits, all else one '-'.
std::string plain_name(const std::string& text) {
    std::string plain;
    for (const unsigned char letter : text) {
        if (std::isalnum(letter) != 0 && letter < 0x80) {
            plain += static_cast<char>(letter);
        } else if (!plain.ends_with('-')) {
            plain += '-';
        }
    }
    if (plain.ends_with('-')) {
        plain.pop_back();
    }
    return plain.empty() ? "no-name" : plain;
}

const char* word(Outcome outcome) {
    if (is_red(outcome)) {
        return "fail";
    }
    return outcome == Outcome::kSkipped ? "skip" : "pass";
}

// Returns the outcome of another run of a failed cell; nothing if it was run once.
std::optional<std::string> retry_of(const Case& one) {
    const std::optional<Runs>& runs = one.cell->runs;
    if (!is_red(one.outcome) || !runs || runs->n < 2) {
        return std::nullopt;
    }
    return one.cell->verdict == CellVerdict::kUnstable ? "pass" : "fail";
}

// Formats a time as Python prints a datetime of UTC, which is what NIPA's own executors write.
std::string moment(const std::string& started_at, double seconds_later) {
    std::tm parts{};
    if (strptime(started_at.c_str(), "%Y-%m-%dT%H:%M:%S", &parts) == nullptr) {
        return started_at;
    }
    const auto then = timegm(&parts) + static_cast<std::time_t>(std::ceil(seconds_later));
    return fmt::format("{:%Y-%m-%d %H:%M:%S}+00:00", fmt::gmtime(then));
}

ordered_json test_of(const ScenarioResult& scenario, int exit_code, const std::string& link) {
    ordered_json cells = ordered_json::array();
    std::string retry;
    Tally counts;
    const std::vector<Case> cases = cases_of(scenario, exit_code);
    for (const Case& one : cases) {
        counts.add(one.outcome);
        cells.push_back({{"test", plain_name(one.cell->id)}, {"result", word(one.outcome)}});
        if (is_red(one.outcome)) {
            const auto again = retry_of(one);
            if (again) {
                cells.back()["retry"] = *again;
            }
            retry = retry == "fail" || !again ? "fail" : *again;
        }
    }
    const bool failed = counts.failures + counts.errors != 0;
    // NIPA knows no failure that is accepted.
    const bool skipped = nothing_executed(cases) || !condition_of(cases).empty();
    const char* const unless_failed = skipped ? "skip" : "pass";
    ordered_json test = {{"test", plain_name(scenario.id)},
                         {"group", "pathproof"},
                         {"result", failed ? "fail" : unless_failed},
                         {"link", link + "report.html#" + scenario.id},
                         {"time", scenario.seconds}};
    if (!scenario.repetitions.empty() && failed) {
        test["retry"] = retry;
    }
    test["results"] = std::move(cells);
    return test;
}

}  // namespace

std::string netdev_json(const RunResult& run, int exit_code, const NetdevNames& names) {
    const std::string link =
        names.link.empty() || names.link.ends_with('/') ? names.link : names.link + "/";
    ordered_json tests = ordered_json::array();
    for (const ScenarioResult& scenario : run.scenarios) {
        tests.push_back(test_of(scenario, exit_code, link));
    }
    tests.push_back({{"test", "run"},
                     {"group", "pathproof"},
                     {"result", word(outcome_of_run(exit_code))},
                     {"link", link + "report.html"},
                     {"time", run.seconds}});
    ordered_json all = {
        {"executor", names.executor},
        {"branch", names.branch.empty() ? fact_of(run, "Kernel", "release") : names.branch},
        {"start", moment(run.started_at, 0)},
        {"end", moment(run.started_at, run.seconds)},
        {"results", std::move(tests)}};
    if (!names.link.empty()) {
        all["link"] = names.link;
    }
    // NIPA takes results with a device for those of hardware.
    if (run.evidence_class == "physical") {
        all["device"] = {{"driver", fact_of(run, "DUT device", "driver")},
                         {"firmware", fact_of(run, "DUT device", "firmware")},
                         {"bus", fact_of(run, "DUT device", "bus")}};
    }
    return process::to_text(all, 2) + "\n";
}

}  // namespace pathproof::report
