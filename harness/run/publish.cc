#include "harness/run/publish.h"

#include <fmt/ranges.h>

#include <filesystem>

#include "harness/process/log.h"
#include "harness/report/report.h"

namespace pathproof::run {

int publish(const verdict::RunResult& result, const std::string& out_dir, int exit_code,
            const std::function<void(const std::string& report)>& print) {
    const auto written = out_dir.empty() ? Result<report::Written>(report::Written{})
                                         : report::write_report(result, out_dir, exit_code);
    print(written && !out_dir.empty()
              ? std::filesystem::absolute(written->folder + "/report.html").string()
              : "");
    if (!written) {
        process::log(written.error().message);
        return 3;
    }
    if (written->folder != out_dir) {
        process::log(fmt::format(
            "this run is not complete: the earlier report in {} stays, this one is in {}", out_dir,
            written->folder));
    }
    if (!written->lost.empty()) {
        process::log(
            fmt::format("evidence that was to be kept is not there, and not in the report: {}; is "
                        "there room in {}?",
                        fmt::join(written->lost, ", "), out_dir));
    }
    return written->lost.empty() ? exit_code : 3;
}

}  // namespace pathproof::run
