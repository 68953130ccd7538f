// pathproof rerun: the run of a report once more, or single scenarios and cells of it, and at once
// what changed.

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "harness/cli/commands.h"
#include "harness/cli/compare.h"
#include "harness/cli/run_options.h"
#include "harness/run/exit_code.h"
#include "harness/run/publish.h"
#include "harness/run/request.h"

namespace pathproof::cli {
namespace {

namespace fs = std::filesystem;

struct RerunOptions {
    std::string report;
    std::vector<std::string> ids;
    std::string out = "rerun";
    run::HistoryChoice history;
    ComparisonViews views;
};

// Reports something that cannot be as it was, before anything is run.
void tell_gone(const std::string& sentence) {
    fmt::print(stderr, "pathproof: not as it was: {}\n", sentence);
}

Status check_repeatable(const compare::Report& report) {
    const verdict::RunOptions& options = report.run.options;
    if (options.command.empty()) {
        return fail(ErrorCode::kBadInput,
                    "{} was written by pathproof {}, which did not keep the options of a run; "
                    "repeat it by hand: {}",
                    report.file, report.run.version, report.run.repeat_command);
    }
    if (options.command == "offload check" && options.device.empty()) {
        return fail(ErrorCode::kNotSupported,
                    "{} is of DPDK ports, which rerun does not repeat; repeat it by hand: {}",
                    report.file, report.run.repeat_command);
    }
    if (options.command != "qualify" && options.command != "repro" &&
        options.command != "offload check") {
        return fail(ErrorCode::kNotSupported, "{} is of '{}', which rerun does not repeat",
                    report.file, options.command);
    }
    return {};
}

// A report is not written over the one that it is compared with, nor is that removed with it.
Status check_folder(const std::string& out, const compare::Report& report) {
    std::error_code none;
    const fs::path folder = fs::weakly_canonical(out, none);
    for (fs::path at = fs::canonical(report.file, none); at.has_relative_path();
         at = at.parent_path()) {
        if (at == folder) {
            return fail(ErrorCode::kBadInput, "{} lies in {}: name another folder with --out",
                        report.file, out);
        }
    }
    return {};
}

// One id as it is asked for: "scenario", "scenario/cell" or "scenario/cell/cause".
struct Wanted {
    std::string scenario;
    std::string cell;  // empty: all
};

Result<Wanted> parse(const std::string& id, const compare::Report& report) {
    const std::size_t slash = id.find('/');
    Wanted wanted{id.substr(0, slash), ""};
    const auto scenario =
        std::ranges::find(report.run.scenarios, wanted.scenario, &verdict::ScenarioResult::id);
    if (scenario == report.run.scenarios.end()) {
        return fail(ErrorCode::kBadInput, "{} has no scenario '{}'", report.file, wanted.scenario);
    }
    if (slash == std::string::npos) {
        return wanted;
    }
    for (const verdict::Cell& cell : all_cells(*scenario)) {
        if (id == verdict::cell_id(scenario->id, cell) ||
            id == verdict::finding_id(scenario->id, cell)) {
            wanted.cell = cell.id;
            return wanted;
        }
    }
    return fail(ErrorCode::kBadInput, "{} has no cell or finding '{}'", report.file, id);
}

// Returns whether this pathproof still has the scenario and the cell, by the id that is asked for;
// reports it if not.
bool is_there(Wanted& wanted) {
    const scenario::Scenario* known = scenario::find_scenario(wanted.scenario);
    if (known == nullptr) {
        tell_gone(fmt::format("this pathproof has no scenario {}", wanted.scenario));
        return false;
    }
    const auto cells = known->cells != nullptr ? known->cells() : std::vector<std::string>();
    if (wanted.cell.empty() || cells.empty() || std::ranges::count(cells, wanted.cell) != 0) {
        return true;
    }
    // A cell of the matrix that is a control, too.
    constexpr std::string_view kControl = "control.";
    if (wanted.cell.starts_with(kControl) &&
        std::ranges::count(cells, wanted.cell.substr(kControl.size())) != 0) {
        wanted.cell.erase(0, kControl.size());
        return true;
    }
    tell_gone(fmt::format("this pathproof has no cell {}/{}", wanted.scenario, wanted.cell));
    return false;
}

// All that the report has, or what was named, as far as it is still there.
Result<verdict::RunOptions> asked_again(const compare::Report& report,
                                        const std::vector<std::string>& ids) {
    verdict::RunOptions asked = report.run.options;
    std::vector<Wanted> wanted;
    for (const std::string& id : ids) {
        auto one = TRY(parse(id, report));
        wanted.push_back(std::move(one));
    }
    if (ids.empty()) {
        for (const verdict::ScenarioResult& scenario : report.run.scenarios) {
            // Figures that were held against limits are judged anew, not run.
            if (scenario.verdict == verdict::ScenarioVerdict::kNotRun ||
                scenario.area == verdict::Area::kAcceptance) {
                continue;
            }
            wanted.push_back({scenario.id, ""});
            for (const verdict::Cell& cell : all_cells(scenario)) {
                // A cell that an interrupted run was about to measure has no figures, and does not
                // count.
                if (!cell.id.starts_with("unfinished.")) {
                    Wanted one{scenario.id, cell.id};
                    static_cast<void>(is_there(one));
                }
            }
        }
    } else {
        asked.cells.clear();
        asked.prices = false;
    }
    asked.scenarios.clear();
    for (Wanted& one : wanted) {
        if (!is_there(one)) {
            continue;
        }
        if (std::ranges::find(asked.scenarios, one.scenario) == asked.scenarios.end()) {
            asked.scenarios.push_back(one.scenario);
        }
        if (!one.cell.empty() && scenario::find_scenario(one.scenario)->cells == nullptr) {
            fmt::print(stderr, "pathproof: {} runs whole, for {} too\n", one.scenario, one.cell);
        } else if (!one.cell.empty()) {
            asked.cells.push_back(one.scenario + "/" + one.cell);
        }
    }
    // A scenario that was named whole is run whole, whatever cells of it were named beside it.
    for (const Wanted& one : wanted) {
        std::erase_if(asked.cells, [&](const std::string& cell) {
            return !ids.empty() && one.cell.empty() && cell.starts_with(one.scenario + "/");
        });
    }
    if (asked.scenarios.empty()) {
        return fail(ErrorCode::kNotFound, "nothing of {} that can be run again is left",
                    report.file);
    }
    return asked;
}

// Kernel, versions, settings and the device, as far as they can be read before a run.
void tell_differences(const compare::Report& report, const run::SessionOptions& session) {
    for (const compare::Difference& each : differences_from_here(report)) {
        tell_gone(fmt::format("{}: {}: {} -> {}", each.where, each.what, each.before, each.now));
    }
    if (!session.evidence_note.empty() && session.evidence_note != report.run.evidence_note) {
        tell_gone(fmt::format("device: {} -> {}", report.run.evidence_note, session.evidence_note));
    }
}

Result<int> run_rerun(const RerunOptions& options) {
    auto before = TRY(compare::read_report(options.report));
    TRY(check_repeatable(before));
    TRY(check_folder(options.out, before));
    TRY(options.history.check());
    const auto expected = TRY(run::Expected::read(options.views.baseline));
    const auto asked = TRY(asked_again(before, options.ids));
    auto session = TRY(run::session_of(asked, before.run.seed, options.out));
    session.command =
        fmt::format("pathproof rerun {}{}{} --out {}", options.report,
                    options.ids.empty() ? "" : " ", fmt::join(options.ids, " "), options.out);
    session.history = options.history;
    tell_differences(before, session);
    auto result = TRY(run::run_session(session));
    static_cast<void>(expected.judge(result, 0));
    const int run_code = run::exit_code_of(result);
    std::erase_if(before.run.scenarios, [&](const verdict::ScenarioResult& scenario) {
        return std::ranges::find(asked.scenarios, scenario.id) == asked.scenarios.end();
    });
    int compared = 3;
    const int ended =
        run::publish(result, options.out, run_code, options.history, [&](const std::string& page) {
            const fs::path folder =
                page.empty() ? fs::path(options.out) : fs::path(page).parent_path();
            const auto code = compare_reports({before, {(folder / "report.json").string(), result}},
                                              expected, options.views);
            compared = code ? *code : complain(code.error());
        });
    return ended == 3 && run_code != 3 ? 3 : compared;
}

}  // namespace

void add_rerun(CLI::App& app, Command& chosen) {
    CLI::App* command = app.add_subcommand(
        "rerun",
        "Repeat the run of a report with its options and its seed, and say what changed (exit "
        "codes as of compare)");
    const auto options = options_for<RerunOptions>(*command, chosen, run_rerun);
    command->add_option("REPORT", options->report, "report.json, or the folder that it is in")
        ->required();
    command->add_option("ID", options->ids,
                        "only these scenarios, cells or findings of it: 'dns-race', "
                        "'dns-race/same-tuple.two-cpus' (default: all)");
    command->add_option("--out", options->out, "folder of the new report; never that of REPORT")
        ->capture_default_str();
    add_history_options(*command, options->history);
    add_comparison_options(*command, options->views);
}

}  // namespace pathproof::cli
