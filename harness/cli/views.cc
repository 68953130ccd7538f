#include "harness/cli/views.h"

#include <CLI/CLI.hpp>

#include "dataplane/base/new_file.h"
#include "harness/cli/commands.h"
#include "harness/report/ktap.h"

namespace pathproof::cli {

int Views::write(const verdict::RunResult& result, int exit_code) const {
    if (summary_md.empty() || summary_md == "-") {
        return exit_code;
    }
    const Status written = replace_file(summary_md, report::summary_markdown(result, exit_code));
    if (!written) {
        complain(written.error());
    }
    return written ? exit_code : 3;
}

bool Views::print(const verdict::RunResult& result, int exit_code) const {
    if (ktap) {
        fmt::print("{}", report::ktap(result, exit_code));
    } else if (summary_md == "-") {
        fmt::print("{}", report::summary_markdown(result, exit_code));
    }
    return ktap || summary_md == "-";
}

void add_view_options(CLI::App& command, Views& views) {
    CLI::Option* ktap =
        command.add_flag("--ktap", views.ktap, "print KTAP, as the kernel's selftests do");
    command
        .add_option("--summary-md", views.summary_md,
                    "write a summary in Markdown, for the page of a CI job (-: standard output)")
        ->type_name("FILE");
    if (CLI::Option* other = command.get_option_no_throw("--json"); other != nullptr) {
        ktap->excludes(other);
    }
}

}  // namespace pathproof::cli
