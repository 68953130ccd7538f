// The probes on which each cure is tried: the smallest cell of each scenario that shows its
// failure, and one probe for each side effect that is known.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "harness/prices/cures.h"
#include "harness/scenario/scenario.h"
#include "harness/verdict/prices.h"

namespace pathproof::prices {

// Outcomes of a probe: all runs without any cure, and one with each cure that was tried.
struct Tried {
    std::vector<verdict::ProbeOutcome> without;
    std::map<std::string, verdict::ProbeOutcome> with;  // by the cure's id
};

// A cell of the probe's scenario that is the probe with a cure.
struct OwnCell {
    std::string cure;
    std::string cell;
    // Meaning of the cell's PASS for the probe, if the cell demonstrates what the cure breaks.
    std::string breaks = {};
};

// Measures of harm, for a cell whose verdict does not tell of it.
struct Harm {
    std::string count, all;
    std::string text;  // "connections broke"
};

struct Probe {
    std::string id;
    std::string text;
    std::vector<Part> has;  // of its path
    // The scenario and its cells: without a cure, once more after the cures, with cures.
    std::string scenario = {};
    std::string cell = {};
    std::string cause = {};  // by which the cell fails; a failure by another says nothing
    std::string after = {};
    std::vector<OwnCell> own = {};
    Harm harm = {};
    // Cures of the NAT path that its lab cannot set. "*": all.
    std::vector<std::string> cannot = {};
    // In place of a scenario.
    Result<Tried> (*run)(scenario::Context& context, const Cures& cures) = nullptr;

    bool has_part(Part part) const { return std::ranges::count(has, part) != 0; }
    const OwnCell* own_cell(const std::string& cure) const;
    // Returns the reason why that cure is not tried on the probe; empty: it is tried.
    std::string leaves_out(const Cure& cure) const;
    // Returns whether the cure is left out because the path has nothing of what it changes.
    bool does_not_apply(const Cure& cure) const { return !has_part(cure.needs); }
};

const std::vector<Probe>& all_probes();

// Runs it without a cure and with each that it does not leave out. An error: nothing could be run.
Result<Tried> run_probe(scenario::Context& context, const Probe& probe, const Cures& cures);

// Probes of probes.cc's table that run no scenario.
Result<Tried> run_long_lived(scenario::Context& context, const Cures& cures);
Result<Tried> run_ipv6_only(scenario::Context& context, const Cures& cures);
Result<Tried> run_short_name(scenario::Context& context, const Cures& cures);
Result<Tried> run_taken_workers(scenario::Context& context, const Cures& cures);
Result<Tried> run_segment_sender(scenario::Context& context, const Cures& cures);
Result<Tried> run_zero_copy_sender(scenario::Context& context, const Cures& cures);
Result<Tried> run_tls_sender(scenario::Context& context, const Cures& cures);
Result<Tried> run_xdp_sender(scenario::Context& context, const Cures& cures);

}  // namespace pathproof::prices
