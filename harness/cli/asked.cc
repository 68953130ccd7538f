#include "harness/cli/asked.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/algorithm/string.hpp>
#include <tuple>

#include "harness/cli/offload_check.h"
#include "harness/prices/run.h"

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

// kBadInput names those there are.
Result<const scenario::Scenario*> scenario_named(const std::string& id) {
    const scenario::Scenario* found = scenario::find_scenario(id);
    if (found == nullptr) {
        return fail(ErrorCode::kBadInput, "unknown scenario '{}'; there are: {}", id,
                    scenario::known_scenarios());
    }
    return found;
}

// The built-in lab alone has all paths that cures are tried on.
Status check_priced(const verdict::RunOptions& asked) {
    return asked.prices && asked.lab != "veth"
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

// "--pairs", with the ids of those that declare it before its help. Once, for all of them.
void add_scenario_option(CLI::App& command, const scenario::OptionRow& row,
                         verdict::ScenarioOptions& given) {
    const std::string option = std::string("--") + row.name;
    if (command.get_option_no_throw(option) != nullptr) {
        return;
    }
    std::vector<std::string> ids;
    for (const scenario::Scenario& scenario : scenario::all_scenarios()) {
        if (std::ranges::count(scenario.options, std::string(row.name),
                               &scenario::OptionRow::name) != 0) {
            ids.emplace_back(scenario.id);
        }
    }
    const std::string help = fmt::format("{}: {}", fmt::join(ids, ", "), row.help);
    const std::string name = row.name;
    if (!row.most) {
        command.add_flag_callback(
            option, [&given, name] { given[name] = std::nullopt; }, help);
        return;
    }
    command
        .add_option_function<std::uint64_t>(
            option,
            [&given, name](std::uint64_t number) {
                if (number != 0) {
                    given[name] = number;
                }
            },
            help)
        ->check(CLI::Range(std::uint64_t{0}, *row.most));
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
                           .given = asked.of_scenarios,
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
    TRY(scenario::check_options(session.scenarios, asked.of_scenarios, asked.cells));
    TRY(check_patterns(session.scenarios, asked.cells, asked.prices));
    TRY(check_priced(asked));
    const bool of_device = asked.command == "offload check";
    TRY(take_lab(of_device ? "veth" : asked.lab, session));
    if (of_device) {
        TRY(choose_device(session));
    }
    std::erase_if(session.scenarios, [&](const scenario::Scenario* each) {
        return asked.scenarios.empty() && each->when == scenario::Scenario::When::kOnItsLab &&
               !session.place->lacks(each->needs).empty();
    });
    // Of another lab's device the one that its driver says.
    const bool own = asked.command == "qualify" && !session.device && session.place->duts().empty();
    const std::string named = asked.profile.empty() && own ? "veth" : asked.profile;
    if (!named.empty()) {
        session.profile = TRY(profile::find_profile(profile::profile_directory(), named));
    }
    if (of_device) {
        return session;
    }
    TRY(asked.scenarios.empty() ? Status() : check_roles(session));
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

void add_run_options(CLI::App& command, verdict::RunOptions& asked) {
    command
        .add_option("--cells", asked.cells,
                    "run the cells that match these patterns only ('cure.*,*.no-nat.*', "
                    "'dns-race/cure.*'); nothing is said of the others")
        ->delimiter(',')
        ->allow_extra_args(false);
    add_repeat_option(command, asked);
    for (const scenario::Scenario& scenario : scenario::all_scenarios()) {
        for (const scenario::OptionRow& row : scenario.options) {
            add_scenario_option(command, row, asked.of_scenarios);
        }
    }
    // Together with the lab they are one text, which a report keeps and `rerun` reads.
    for (const auto& [lab, name, help] :
         {std::tuple{"qemu", "nic",
                     "the guest's NICs, separated by commas, or all (default: e1000e)"},
          {"qemu", "kernel",
           "the guest's kernel: a bzImage, or Debian's linux-image-... (default: one is found)"},
          {"qemu", "modules", "the folder with the modules of --kernel"},
          {"qemu", "module", "a .ko file in the place of the NIC's driver"},
          {"cni", "conflist",
           "the network: bridge, ptp, macvlan, ipvlan, flannel, calico, a conflist file, or one "
           "for each node: A,B (default: all that are built in)"},
          {"cni", "plugins", "the folder of the plug-ins (default: /usr/lib/cni)"}}) {
        const std::string key = name;
        command
            .add_option_function<std::string>(
                "--" + key,
                [&asked, key](const std::string& value) {
                    asked.lab = lab_with(asked.lab, key, value);
                },
                help)
            ->group(std::string("Lab ") + lab);
    }
    command.add_flag("--serials", asked.serials,
                     "serial numbers of machine and NICs in the report (left out without it)");
    command.add_flag("--no-hugepages", asked.no_hugepages, "do not reserve hugepages");
}

}  // namespace pathproof::cli
