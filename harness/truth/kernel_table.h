// The transmit side of a kernel device's truth table: profile expects, driver advertises, wire
// shows.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/profile/errata.h"
#include "harness/profile/profile.h"
#include "harness/truth/conclude.h"
#include "harness/truth/condition.h"
#include "harness/truth/kernel_rows.h"
#include "harness/verdict/result.h"

namespace pathproof::truth {

// Everything that a run learnt of one device.
struct TruthRun {
    std::string device;  // "eth0 (veth) in pp-1a2b-node-a"
    std::string driver;
    std::string kernel;  // `uname -r`
    WireKind wire = WireKind::kCable;
    std::optional<profile::Profile> profile;
    std::vector<profile::Erratum> errata;
    std::vector<agent::Feature> as_found;
    std::vector<std::string> varied;
    const ProbeSet* set = nullptr;
    std::vector<SettingOutcome> outcomes;
    std::vector<std::string> left_out;  // what of the matrix was not sent, each with the reason
    // Over all settings: relations of nameless wrong checksums by place, where wrong values show by
    // place and title, and how wrong frames lie in time.
    std::map<std::string, Relation> relations;
    std::map<std::string, std::string> where;
    std::optional<TimeFinding> in_time;
    TruthValues values;  // what is said of all this
};

// The profile's expectation of a feature; empty without a profile or a word on it.
std::string expectation_of(const TruthRun& run, const std::string& feature);

// "on", "off [fixed]", "not there".
std::string advertised(const std::vector<agent::Feature>& features, const std::string& name);

verdict::TruthTable truth_table(const TruthRun& run);

// The judgement of one column of columns_by_request(), or of all, under a setting.
Judged judge_condition(const TruthRun& run, const SettingOutcome& outcome,
                       std::optional<Condition> condition);

// Takes the rows of that setting and column that `wanted` takes; nameless checksums get the run's
// relation as their name.
Judged judge_named(const TruthRun& run, const SettingOutcome& outcome,
                   const std::function<bool(std::size_t)>& wanted);

// "tx.all-off", and "tx.all-off.tso".
std::string cell_id(const Setting& setting);
std::string cell_id(const Setting& setting, const Column& column);

// Documented defects that look like these, the surest first.
std::vector<verdict::KnownErratum> known_errata(const TruthRun& run, std::vector<Defect> defects);

}  // namespace pathproof::truth
