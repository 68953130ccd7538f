// The kinds of search, each for one frame size: plan, run, and what is said of the outcome.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/search/bound.h"
#include "dataplane/search/mlrsearch.h"
#include "dataplane/search/trials.h"
#include "harness/cli/generate/remedies.h"
#include "harness/cli/search/options.h"
#include "harness/cli/search/setup.h"

namespace pathproof::cli {

struct SizeSearch {
    const SearchOptions& options;
    std::uint16_t size = 0;  // with FCS
    MaxLoad max_load;
    bool medium_is_real = false;  // the greatest load is that of a physical link

    double min_load() const;
};

// Reasons why an outcome is not conclusive, one sentence each. Empty: it is conclusive.
struct Reasons {
    std::vector<std::string> sentences;
    TesterTrouble trouble;

    void add(std::string sentence) { sentences.push_back(std::move(sentence)); }
    // Helped by whatever gives the tester more of its CPUs, too.
    void add_limit(std::string sentence) {
        trouble = {.disturbed = true, .limited = true};
        add(std::move(sentence));
    }
    void add_disturbance(std::string sentence) {
        trouble.disturbed = true;
        add(std::move(sentence));
    }
};

struct SizeOutcome {
    nlohmann::json json;
    std::string table;  // one or more lines
    Reasons reasons;
};

// "1488095", "-" without one.
std::string pps_text(const std::optional<search::Bound>& bound);

// Mark behind the figures of a trial of which the tester was the limit, or was disturbed.
template <typename Trial>
const char* trouble_mark(const Trial& trial) {
    if (trial.tester_limited) {
        return "  tester limited";
    }
    return trial.doubtful ? "  disturbed" : "";
}

// Usual duration of the trials, and the longest they may take.
struct SearchTime {
    search::Nanoseconds usual{};
    search::Nanoseconds most{};
};

struct SearchKind {
    const char* name;
    const char* help;
    void (*add_options)(CLI::App&, SearchOptions&);
    // Errors (kBadInput): options that make no sense together.
    Result<SearchTime> (*time)(const SizeSearch&);
    Result<SizeOutcome> (*run)(const SizeSearch&, search::Trials&);
};

// One each, in files of their own.
extern const SearchKind kMlrKind, kThroughputKind, kLatencyKind, kLossKind, kBurstKind,
    kRecoveryKind;

// --- what they share ---

// The trial that shows a limit of the tester's best: the last that had one. Empty: none had.
std::string tester_limit(const search::Trials& trials);
// Adds why a search ended early, if it did.
void add_ending(Reasons& reasons, const search::Trials& trials);
// Layer-1 rate of frames of this size, in Mbit/s: with preamble and gap.
double wire_mbps(double pps, std::uint16_t size);

// MLRsearch with the goals of these presets, as wide as --width has it.
search::MlrPlan rates_plan(const SizeSearch& search, std::initializer_list<const char*> goals);
// The throughput as typed, else found by MLRsearch with the NDR goal. Nothing: the search for it
// gave no lower bound, and `reasons` says so.
Result<std::optional<double>> throughput_for(const SizeSearch& search, search::Trials& trials,
                                             Reasons& reasons);
search::Nanoseconds throughput_time(const SizeSearch& search);

nlohmann::json bound_json(const std::optional<search::Bound>& bound);

}  // namespace pathproof::cli
