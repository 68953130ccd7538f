// pathproof offload check: the offload truth table of one device of the kernel.

#include "harness/cli/offload_check.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "harness/cli/run_options.h"
#include "harness/cli/truth_text.h"
#include "harness/report/text.h"
#include "harness/run/request.h"
#include "harness/run/run_to_end.h"

namespace pathproof::cli {
namespace {

void print_finding(const verdict::TruthRow& row) {
    if (row.finding.empty()) {
        return;
    }
    fmt::print("{}: {}\n", row.offload, row.finding);
    for (const verdict::KnownErratum& erratum : row.errata) {
        fmt::print("  {} ({}): {}\n    workaround: {}; source: {}\n", erratum.id, erratum.certainty,
                   erratum.title, erratum.workaround, erratum.source);
    }
}

void print_table(const verdict::TruthTable& table) {
    fmt::print("{}", truth_text(table));
    for (const verdict::TruthRow& row : table.rows) {
        print_finding(row);
    }
    fmt::print("\n");
}

void print_check(const verdict::RunResult& result) {
    const verdict::ScenarioResult& scenario = result.scenarios.front();
    for (const verdict::TruthTable& table : scenario.truth_tables) {
        print_table(table);
    }
    fmt::print("{}\n", report::wrap(scenario.headline, 100, 0));
    if (scenario.cure_shown) {
        fmt::print("{}\n", report::wrap("cure: " + scenario.cure, 100, 0));
    }
    for (const std::string& known : scenario.explanation) {
        fmt::print("{}\n", report::wrap("looks like: " + known, 100, 0));
    }
    const bool defect = scenario.verdict == verdict::ScenarioVerdict::kDefectFound;
    if (result.verdict == verdict::RunVerdict::kIncomplete) {
        for (const std::string& reason : result.reasons) {
            fmt::print("{}: {}\n", defect ? "beside it" : "incomplete", reason);
        }
    }
}

}  // namespace

Result<int> run_device_check(const OffloadCheckOptions& options) {
    verdict::RunOptions asked = options;
    asked.scenarios = {"offload-truth"};
    const auto print = [](const verdict::RunResult& result, const std::string& report) {
        print_check(result);
        fmt::print("{}", report.empty() ? "" : "report: " + report + "\n");
    };
    return run::run_to_end(run::session_of(asked, options.seed, options.out), options, print);
}

void declare_device_check(CLI::App& check, OffloadCheckOptions& options) {
    CLI::Option* device = check.add_option("DEV", options.device,
                                           "Network device of the kernel, in use for nothing else");
    CLI::Option* tester = check.add_option(
        "--tester", options.tester,
        "With DEV: the tester's port at the other end of its cable: network interface, "
        "PCI address or DPDK virtual device (default: the peer of a veth device)");
    tester->needs(device);
    check
        .add_option("--tester-netns", options.tester_netns,
                    "Network namespace of --tester (default: that of DEV)")
        ->needs(tester);
    check
        .add_option(
            "--path-proven-by", options.path_proven_by,
            "With DEV: another device beside it whose frames take the same path to the "
            "tester's port: where plain frames come wrong, it sends the same ones, and tells "
            "DEV from the path")
        ->needs(device);
    add_repeat_option(check, options);
    add_wait_option(check, options.wait_s);
}

}  // namespace pathproof::cli
