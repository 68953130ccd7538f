#include "harness/run/request.h"

#include <algorithm>
#include <boost/algorithm/string.hpp>

#include "dataplane/base/suggestion.h"
#include "harness/lab/privilege.h"
#include "harness/prices/run.h"
#include "harness/process/log.h"
#include "harness/run/device.h"
#include "harness/truth/device_class.h"

namespace pathproof::run {
namespace {

// kBadInput names those there are.
Result<const scenario::Scenario*> scenario_named(const std::string& id) {
    const scenario::Scenario* found = scenario::find_scenario(id);
    if (found == nullptr) {
        std::vector<std::string> ids;
        for (const scenario::Scenario& each : scenario::all_scenarios()) {
            ids.emplace_back(each.id);
        }
        return fail(ErrorCode::kBadInput, "unknown scenario '{}'{}", id, choices(id, ids));
    }
    return found;
}

// The built-in lab alone has all paths that cures are tried on.
Status check_priced(const verdict::RunOptions& asked) {
    return asked.prices && asked.lab.name != "veth"
               ? fail(ErrorCode::kBadInput,
                      "--prices takes the built-in lab, which has every path that a cure is tried "
                      "on: leave --lab out")
               : Status();
}

Status check_patterns(const std::vector<const scenario::Scenario*>& scenarios,
                      const std::vector<std::string>& patterns, bool priced) {
    TRY(priced ? prices::check_price_patterns(prices::price_patterns(patterns)) : Status());
    for (const std::string& pattern : patterns) {
        const std::string name = pattern.substr(0, pattern.find('/'));
        if (priced && name != pattern && name == prices::kPrices) {
            continue;
        }
        if (name != pattern && std::ranges::none_of(scenarios, [&](const auto* scenario) {
                return scenario->id == name;
            })) {
            return fail(ErrorCode::kBadInput, "'{}' is of no scenario of this run", pattern);
        }
    }
    for (const scenario::Scenario* scenario : scenarios) {
        TRY(scenario::check_cells(*scenario, scenario::patterns_for(scenario->id, patterns)));
    }
    return {};
}

// Opens the lab that was asked for. The report may say of its devices what they are.
Status take_lab(SessionOptions& session) {
    session.place = TRY(lab::open_lab(session.asked.lab));
    session.evidence_note = session.place->evidence_note();
    session.lab = session.place->name();
    const std::shared_ptr<agent::Client> dut = session.place->dut();
    if (dut && !dut->hello().copied.empty()) {
        process::log(fmt::format("{}: {}; it was copied there for this run",
                                 session.place->other_host(), dut->hello().copied));
    }
    for (const lab::CabledDevice& cabled : session.place->devices()) {
        auto choice = TRY(choose_device(cabled, dut.get()));
        const bool first = !session.device;
        session.evidence =
            first ? choice.evidence : truth::class_of_ports(session.evidence, choice.evidence);
        if (first) {
            session.device = std::move(choice.device);
        }
        if (first || session.evidence == choice.evidence) {
            session.evidence_note = choice.evidence_note;
        }
    }
    return {};
}

// Takes the device that `offload check` names, in place of a lab's.
Status take_device(SessionOptions& session) {
    const verdict::RunOptions& asked = session.asked;
    session.place = TRY(lab::open_lab({.name = "veth"}));
    TRY(lab::needs_root("'pathproof offload check'"));
    auto choice = TRY(choose_device(
        {.netns = asked.netns,
         .name = asked.device,
         .tester_netns = asked.tester_netns.empty() ? asked.netns : asked.tester_netns,
         .tester_port = asked.tester}));
    session.device = std::move(choice.device);
    if (!asked.path_proven_by.empty()) {
        TRY(choose_proof(asked.path_proven_by, *session.device));
    }
    session.evidence = choice.evidence;
    session.evidence_note = choice.evidence_note;
    session.lab = "device " + asked.device;
    session.least_matrix = asked.quick ? truth::MatrixSize::kQuick : truth::MatrixSize::kFull;
    session.use_hugepages = false;
    return {};
}

void add_performance(SessionOptions& session) {
    const scenario::Scenario* const performance = scenario::find_scenario("performance");
    if (std::ranges::count(session.scenarios, performance) == 0) {
        session.scenarios.push_back(performance);
    }
}

// kBadInput for a share of a speed that nobody knows: ports that are no hardware have none.
Status check_load(const SessionOptions& session) {
    const auto load = session.asked.of_scenarios.find(scenario::kLoadOption);
    if (load == session.asked.of_scenarios.end() || !load->second.text.ends_with('%') ||
        session.evidence == port::Evidence::kPhysical) {
        return {};
    }
    return fail(
        ErrorCode::kBadInput,
        "--load {}: the links of lab {} have no speed, as they are no hardware; give pairs a "
        "second (--load 50000), or --load max",
        load->second.text, session.lab);
}

// kBadInput where the lab lacks a role that one of the session's scenarios needs.
Status check_roles(const SessionOptions& session) {
    for (const scenario::Scenario* scenario : session.scenarios) {
        if (const std::string why = session.place->lacks(scenario->needs); !why.empty()) {
            return fail(ErrorCode::kBadInput, "lab {} cannot run {}: {}",
                        to_text(session.asked.lab), scenario->id, why);
        }
    }
    return {};
}

}  // namespace

Result<std::vector<std::string>> scenario_ids(const std::string& list) {
    std::vector<std::string> ids;
    boost::split(ids, list, boost::is_any_of(","));
    for (const std::string& id : ids) {
        TRY(scenario_named(id));
    }
    return ids;
}

Result<SessionOptions> session_of(const verdict::RunOptions& asked, std::uint64_t seed,
                                  const std::string& out_dir) {
    SessionOptions session{.asked = asked,
                           .command = verdict::repeat_command(asked),
                           .out_dir = out_dir,
                           .seed = seed,
                           .use_hugepages = !asked.no_hugepages};
    for (const std::string& id : asked.scenarios) {
        const auto* found = TRY(scenario_named(id));
        session.scenarios.push_back(found);
    }
    for (const scenario::Scenario& each : scenario::all_scenarios()) {
        if (asked.scenarios.empty() && each.when != scenario::Scenario::When::kAsked) {
            session.scenarios.push_back(&each);
        }
    }
    if (asked.performance.value_or(false)) {
        add_performance(session);
    }
    TRY(scenario::check_options(session.scenarios, asked.of_scenarios, asked.cells));
    TRY(check_patterns(session.scenarios, asked.cells, asked.prices));
    TRY(check_priced(asked));
    const bool of_device = asked.command == "offload check";
    TRY(of_device ? take_device(session) : take_lab(session));
    std::erase_if(session.scenarios, [&](const scenario::Scenario* each) {
        return asked.scenarios.empty() && each->when == scenario::Scenario::When::kOnItsLab &&
               !session.place->lacks(each->needs).empty();
    });
    // Another lab's device gets the profile that its driver names, not veth's.
    const bool own = asked.command == "qualify" && !session.device && session.place->duts().empty();
    const std::string named = asked.profile.empty() && own ? "veth" : asked.profile;
    if (!named.empty()) {
        session.profile = TRY(profile::find_profile(profile::profile_directory(), named));
    }
    session.held = TRY(Held::read(asked, session.profile));
    if (of_device) {
        return session;
    }
    if (asked.command == "qualify" && asked.scenarios.empty() && asked.performance.value_or(true) &&
        session.evidence == port::Evidence::kPhysical) {
        add_performance(session);
    }
    TRY(asked.scenarios.empty() ? Status() : check_roles(session));
    TRY(check_load(session));
    session.calibrate =
        asked.command == "qualify" ? scenario::Calibrate::kQuick : scenario::Calibrate::kNo;
    return session;
}

}  // namespace pathproof::run
