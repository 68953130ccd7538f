#include "harness/cli/views.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "dataplane/base/new_file.h"
#include "harness/cli/commands.h"
#include "harness/process/json_text.h"
#include "harness/report/json.h"
#include "harness/report/ktap.h"
#include "harness/report/report.h"

namespace pathproof::cli {

Status Views::check() const {
    const auto on_stdout = {json, ktap, summary_md == "-", netdev_json == "-"};
    return std::ranges::count(on_stdout, true) < 2
               ? Status()
               : fail(ErrorCode::kBadInput,
                      "standard output takes one of --json, --ktap, --summary-md - and "
                      "--netdev-json -: name files for the others");
}

int Views::write(const verdict::RunResult& result, int exit_code) const {
    int code = exit_code;
    const auto put = [&](const std::string& file, const auto& text) {
        if (file.empty() || file == "-") {
            return;
        }
        if (const Status written = replace_file(file, text()); !written) {
            complain(written.error());
            code = 3;
        }
    };
    put(summary_md, [&] { return report::summary_markdown(result, exit_code); });
    put(netdev_json, [&] { return report::netdev_json(result, exit_code, netdev); });
    return code;
}

bool Views::print(const verdict::RunResult& result, int exit_code) const {
    if (json) {
        fmt::print("{}\n", process::to_text(report::to_json(result)));
    } else if (ktap) {
        fmt::print("{}", report::ktap(result, exit_code));
    } else if (summary_md == "-") {
        fmt::print("{}", report::summary_markdown(result, exit_code));
    } else if (netdev_json == "-") {
        fmt::print("{}", report::netdev_json(result, exit_code, netdev));
    } else {
        return false;
    }
    return true;
}

void print_summary(const verdict::RunResult& result) {
    const bool terminal = isatty(STDOUT_FILENO) == 1;
    fmt::print("{}",
               report::summary(result, terminal ? report::Colour::kAnsi : report::Colour::kNone));
}

void add_view_options(CLI::App& command, Views& views) {
    command.add_flag("--ktap", views.ktap, "print KTAP, as the kernel's selftests do");
    command
        .add_option("--summary-md", views.summary_md,
                    "write a summary in Markdown, for the page of a CI job (-: standard output)")
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
