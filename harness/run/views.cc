#include "harness/run/views.h"

#include <unistd.h>

#include <algorithm>

#include "dataplane/base/new_file.h"
#include "harness/process/json_text.h"
#include "harness/process/log.h"
#include "harness/report/json.h"
#include "harness/report/ktap.h"
#include "harness/report/report.h"

namespace pathproof::run {

Status Views::check() const {
    const auto on_stdout = {json, ktap, summary_md == "-", netdev_json == "-", ocp == "-"};
    return std::ranges::count(on_stdout, true) < 2
               ? Status()
               : fail(ErrorCode::kBadInput,
                      "standard output takes one of --json, --ktap, --summary-md -, "
                      "--netdev-json - and --ocp -: name files for the others");
}

int Views::write(const verdict::RunResult& result, int exit_code) const {
    int code = exit_code;
    const auto put = [&](const std::string& file, const auto& text) {
        if (file.empty() || file == "-") {
            return;
        }
        if (const Status written = replace_file(file, text()); !written) {
            process::log(written.error().message);
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
    } else if (ocp == "-") {
        return true;  // it is there already
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

}  // namespace pathproof::run
