#include "harness/cli/asked.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "harness/cli/offload_check.h"

namespace pathproof::cli {
namespace {

int repro_exit_code(verdict::ScenarioVerdict verdict) {
    switch (verdict) {
        case verdict::ScenarioVerdict::kReproduced:
        case verdict::ScenarioVerdict::kDefectFound: return 0;
        case verdict::ScenarioVerdict::kExposed:
        case verdict::ScenarioVerdict::kNotReproduced:
        case verdict::ScenarioVerdict::kNoDefectFound: return 1;
        case verdict::ScenarioVerdict::kInconclusive:
        case verdict::ScenarioVerdict::kNotRun: return 3;
    }
    return 3;
}

Status check_patterns(const std::vector<const scenario::Scenario*>& scenarios,
                      const std::vector<std::string>& patterns) {
    for (const std::string& pattern : patterns) {
        const std::string name = pattern.substr(0, pattern.find('/'));
        if (name != pattern && std::ranges::none_of(scenarios, [&](const auto* scenario) {
                return scenario->id == name;
            })) {
            return fail(ErrorCode::kBadInput, "'{}' is of no scenario of this run", pattern);
        }
    }
    for (const scenario::Scenario* scenario : scenarios) {
        const Status known =
            scenario::check_cells(*scenario, scenario::patterns_for(scenario->id, patterns));
        if (!known) {
            return known;
        }
    }
    return {};
}

}  // namespace

Result<std::vector<std::string>> scenario_ids(const std::string& list) {
    const auto scenarios = parse_scenarios(list);
    if (!scenarios) {
        return pass_on(scenarios.error());
    }
    std::vector<std::string> ids;
    for (const scenario::Scenario* scenario : *scenarios) {
        ids.emplace_back(scenario->id);
    }
    return ids;
}

Result<SessionOptions> session_of(const verdict::RunOptions& asked, std::uint64_t seed,
                                  const std::string& out_dir) {
    SessionOptions session{.asked = asked, .command = "", .repeat_command = "", .out_dir = out_dir};
    session.repeat_command = session.command = verdict::repeat_command(asked);
    session.seed = seed;
    session.cells = asked.cells;
    session.pairs = asked.pairs;
    session.repeat = asked.repeat;
    session.use_hugepages = !asked.no_hugepages;
    session.matrix = asked.full ? scenario::MatrixSize::kFull : scenario::MatrixSize::kQuick;
    for (const std::string& id : asked.scenarios) {
        auto found = parse_scenarios(id);
        if (!found) {
            return pass_on(found.error());
        }
        session.scenarios.push_back(found->front());
    }
    for (const scenario::Scenario& each : scenario::all_scenarios()) {
        if (asked.scenarios.empty() && !each.on_request) {
            session.scenarios.push_back(&each);
        }
    }
    if (const Status sound = check_patterns(session.scenarios, asked.cells); !sound) {
        return pass_on(sound.error());
    }
    const bool of_device = asked.command == "offload check";
    Status taken = take_lab(of_device ? "veth" : asked.lab, session);
    taken = taken && of_device ? choose_device(session) : taken;
    if (!taken) {
        return pass_on(taken.error());
    }
    // Of another lab's device the one that its driver says.
    const bool own = asked.command == "qualify" && !session.device;
    const std::string named = asked.profile.empty() && own ? "veth" : asked.profile;
    if (!named.empty()) {
        auto profile = profile::find_profile(profile::profile_directory(), named);
        if (!profile) {
            return pass_on(profile.error());
        }
        session.profile = std::move(*profile);
    }
    if (of_device) {
        return session;
    }
    if (const Status able = asked.scenarios.empty() ? Status() : check_roles(session); !able) {
        return pass_on(able.error());
    }
    session.calibrate =
        asked.command == "qualify" ? scenario::Calibrate::kQuick : scenario::Calibrate::kNo;
    return session;
}

int exit_code_of(const verdict::RunResult& result) {
    return result.options.command == "repro" ? repro_exit_code(result.scenarios.front().verdict)
           : result.options.command == "offload check" ? device_exit_code(result)
                                                       : verdict::exit_code(result.verdict);
}

void add_repeat_option(CLI::App& command, verdict::RunOptions& asked) {
    command
        .add_option(
            "--repeat", asked.repeat,
            "run each scenario so often, the first time with the seed of the run, then with "
            "the next ones: a cell that fails in some repetitions only is UNSTABLE")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
}

}  // namespace pathproof::cli
