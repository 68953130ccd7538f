#include "dataplane/measure/pair_trial.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

namespace pathproof::measure {
namespace {

using judge::PairReport;
using judge::QueryRecord;
using judge::QueryState;

bool left(const QueryRecord& record) {
    return record.sent_ns >= 0;
}

// Returns whether the run's objection is reported as the tester's limit.
bool is_of_limit(const std::string& objection) {
    return objection.find(" frames itself") != std::string::npos ||
           objection.starts_with("late departures");
}

}  // namespace

double pairs_per_second(const PairReport& report) {
    std::uint64_t pairs = 0;
    std::int64_t first = INT64_MAX;
    std::int64_t last = 0;
    for (std::size_t at = 0; at + 1 < report.records.size(); at += 2) {
        const QueryRecord& record = report.records[at];
        if (!left(record)) {
            continue;
        }
        ++pairs;
        first = std::min(first, record.sent_ns);
        last = std::max(last, record.sent_ns);
    }
    return pairs > 1 && last > first
               ? static_cast<double>(pairs - 1) * 1e9 / static_cast<double>(last - first)
               : 0;
}

search::TrialOutput output_of(const pairs::PairPlan& plan, const PairReport& report,
                              double offered_tolerance) {
    search::TrialOutput output{
        .input = {.load_pps = plan.pairs_per_second, .frames = plan.pairs},
        .disturbance = fmt::format("{}", fmt::join(report.disturbances, "; "))};
    for (std::size_t at = 0; at + 1 < report.records.size(); at += 2) {
        const QueryRecord* halves = &report.records[at];
        const bool both = left(halves[0]) && left(halves[1]);
        output.sent += both ? 1 : 0;
        output.lost += both && (halves[0].state != QueryState::kAnswered ||
                                halves[1].state != QueryState::kAnswered)
                           ? 1
                           : 0;
    }
    output.bad_checksums = report.client.bad_checksum + report.server.bad_checksum;
    // The last pairs of a load that was met may have left a little early.
    output.offered_pps = std::min(pairs_per_second(report), plan.pairs_per_second);
    std::vector<std::string> limits;
    if (output.offered_pps < (1 - offered_tolerance) * plan.pairs_per_second) {
        limits.push_back(fmt::format("{:.0f} of {:.0f} pairs/s were offered", output.offered_pps,
                                     plan.pairs_per_second));
        output.limited_by_stalls = !report.disturbances.empty();
        // Such a run leaves nothing out, but pairs that left late were not offered at this load.
        output.sent = static_cast<std::uint64_t>(output.offered_pps / plan.pairs_per_second *
                                                 static_cast<double>(output.sent));
        output.lost = std::min(output.lost, output.sent);
    }
    if (report.tester_lost != 0) {
        limits.push_back(fmt::format("the tester's own ports lost {} frames", report.tester_lost));
    }
    output.tester_limit = fmt::format("{}", fmt::join(limits, "; "));
    std::vector<std::string> others = report.objections;
    std::erase_if(others, is_of_limit);
    output.objection = fmt::format("{}", fmt::join(others, "; "));
    return output;
}

}  // namespace pathproof::measure
