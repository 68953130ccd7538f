#include "harness/cli/search/kinds.h"

#include <algorithm>

#include "dataplane/search/frame_sizes.h"
#include "harness/message/archive.h"
#include "harness/message/fields.h"

namespace pathproof::search {

FIELDS(Bound, load_pps, offered_pps, trials, seconds, tester_limited, doubtful)

}  // namespace pathproof::search

namespace pathproof::cli {
namespace {

// Least load without --min-load: so many frames a second, or that share of the greatest load if it
// is less. Fewer frames in the shortest trial give loss ratios that mean nothing.
constexpr double kLeastLoad = 1'000;
constexpr double kLeastShare = 1e-3;

}  // namespace

std::string pps_text(const std::optional<search::Bound>& bound) {
    return bound ? fmt::format("{:.0f}", bound->load_pps) : "-";
}

double SizeSearch::min_load() const {
    if (options.min_load > 0) {
        return options.min_load;
    }
    return std::min(kLeastLoad, kLeastShare * max_load.pps);
}

std::string tester_limit(const search::Trials& trials) {
    const auto& log = trials.log();
    const auto last = std::find_if(log.rbegin(), log.rend(), [](const search::TrialOutput& trial) {
        return !trial.tester_limit.empty();
    });
    return last == log.rend() ? std::string() : last->tester_limit;
}

void add_ending(Reasons& reasons, const search::Trials& trials) {
    switch (trials.ending()) {
        case search::Ending::kNone: return;
        case search::Ending::kStopped: reasons.add("partial: stopped before its end"); return;
        case search::Ending::kCutShort:
            reasons.add("partial: cut short, for " + trials.why_cut_short());
            return;
        case search::Ending::kOutOfTime:
            reasons.add("partial: out of time; allow more with --max-time");
            return;
    }
}

double wire_mbps(double pps, std::uint16_t size) {
    return pps * 8 * (size + search::kOverheadBytes) / 1e6;
}

search::MlrPlan rates_plan(const SizeSearch& search, std::initializer_list<const char*> goals) {
    search::MlrPlan plan{.min_load_pps = search.min_load(), .max_load_pps = search.max_load.pps};
    for (const char* goal : goals) {
        plan.goals.push_back(search::preset(goal).value());
        plan.goals.back().relative_width = search.options.width;
    }
    return plan;
}

Result<std::optional<double>> throughput_for(const SizeSearch& search, search::Trials& trials,
                                             Reasons& reasons) {
    if (search.options.throughput > 0) {
        return std::optional<double>(search.options.throughput);
    }
    const auto found = TRY(doing(search::mlr_search(rates_plan(search, {"ndr"}), trials),
                                 "search for the throughput"));
    const search::GoalResult& goal = found.goals.front();
    if (goal.limit == search::Limit::kTester) {
        reasons.add_limit("the throughput is the tester's: " + tester_limit(trials));
    } else if (!goal.conclusive()) {
        reasons.add("the throughput was not found for certain; give it with --throughput");
    }
    return goal.lower ? std::optional<double>(goal.lower->offered_pps) : std::nullopt;
}

search::Nanoseconds throughput_time(const SizeSearch& search) {
    return search.options.throughput > 0 ? search::Nanoseconds(0)
                                         : search::usual_time(rates_plan(search, {"ndr"}));
}

nlohmann::json bound_json(const std::optional<search::Bound>& bound) {
    return message::encode(bound);
}

}  // namespace pathproof::cli
