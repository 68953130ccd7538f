#include "harness/cli/run_options.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "harness/lab/lab.h"
#include "harness/scenario/scenario.h"

namespace pathproof::cli {
namespace {

// Adds an option of scenarios once, its help headed by the ids of all that declare it.
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
    if (row.check_text != nullptr) {
        command
            .add_option_function<std::string>(
                option, [&given, name](const std::string& text) { given[name] = text; }, help)
            ->type_name(row.type)
            ->check([check = row.check_text](const std::string& text) {
                const Status fits = check(text);
                return fits ? std::string() : fits.error().message;
            });
        return;
    }
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

void add_lab_option(CLI::App& command, verdict::LabRequest& lab) {
    command
        .add_option_function<std::string>(
            "--lab", [&lab](const std::string& text) { lab = verdict::parse_lab_request(text); },
            fmt::format("the lab: {}", fmt::join(lab::labs(), ", or ")))
        ->default_str(to_text(lab));
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
    for (const verdict::LabOption& option : verdict::lab_options()) {
        command
            .add_option_function<std::string>(
                std::string("--") + option.name,
                [&asked, option](const std::string& value) { option.value(asked.lab) = value; },
                option.help)
            ->group(std::string("Lab ") + option.lab);
    }
    command.add_flag("--serials", asked.serials,
                     "serial numbers of machine and NICs in the report (left out without it)");
    command.add_flag("--no-hugepages", asked.no_hugepages, "do not reserve hugepages");
}

void add_wait_option(CLI::App& command, std::uint32_t& seconds) {
    command
        .add_option("--wait", seconds,
                    "while another run has the lab, wait for its end for so many seconds (without "
                    "it: exit code 4 at once)")
        ->type_name("SECONDS")
        ->check(CLI::Range(0, 86'400));
}

void add_history_options(CLI::App& command, run::HistoryChoice& history) {
    CLI::Option* target =
        command
            .add_option("--history", history.target,
                        "the history that this run is added to: a SQLite file, or "
                        "postgresql://HOST/DATABASE (default: history.db in "
                        "~/.local/state/pathproof; see 'pathproof history')")
            ->type_name("FILE|URI");
    command.add_flag("--no-history", history.is_off, "add this run to no history")
        ->excludes(target);
}

void add_baseline_option(CLI::App& command, std::string& file) {
    command
        .add_option("--baseline", file,
                    "file of expected failures: exit code 0 if there is no other, 1 if there is "
                    "(see 'pathproof baseline')")
        ->type_name("FILE");
}

void add_party_options(CLI::App& command, verdict::Parties& parties) {
    for (const verdict::PartyField& field : verdict::party_fields()) {
        CLI::Option* option =
            command.add_option(std::string("--") + field.option, parties.*field.value, field.help)
                ->type_name("TEXT")
                ->group("Report");
        if (field.value == &verdict::Parties::received) {
            option->type_name("DAY")->check([](const std::string& day) {
                return verdict::is_day(day) ? std::string() : "it is no day, as 2026-11-23";
            });
        }
    }
}

void add_certificate_options(CLI::App& command, run::CertificateOptions& options) {
    add_party_options(command, options.parties);
    command
        .add_option("--bundle", options.bundle,
                    "pack report, evidence and their SHA-256 into this .tar.zst as well")
        ->type_name("FILE")
        ->group("Report");
}

void add_view_options(CLI::App& command, run::Views& views) {
    command.add_flag("--ktap", views.ktap, "print KTAP, as the kernel's selftests do");
    command
        .add_option("--summary-md", views.summary_md,
                    "write a summary in Markdown, for the page of a CI job (-: standard output)")
        ->type_name("FILE");
    command
        .add_option("--ocp", views.ocp,
                    "write OCP Test & Validation 2.0, a JSON line for each artifact, while the run "
                    "goes on (-: standard output)")
        ->type_name("FILE");
    CLI::Option* netdev =
        command
            .add_option("--netdev-json", views.netdev_json,
                        "write the results as the Linux netdev CI (NIPA) reads them (-: standard "
                        "output)")
            ->type_name("FILE");
    const auto name = [&](const char* option, std::string& value, const char* what) {
        command.add_option(option, value, what)->needs(netdev)->type_name("TEXT");
    };
    name("--netdev-executor", views.netdev.executor, "name of this executor (pathproof)");
    name("--netdev-branch", views.netdev.branch, "branch that is tested (the kernel's release)");
    name("--netdev-link", views.netdev.link, "URL of the folder that the report will be in");
}

}  // namespace pathproof::cli
