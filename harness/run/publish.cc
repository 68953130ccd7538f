#include "harness/run/publish.h"

#include <fmt/ranges.h>

#include <filesystem>

#include "dataplane/base/new_file.h"
#include "harness/compare/read.h"
#include "harness/process/log.h"
#include "harness/report/bundle.h"
#include "harness/report/report.h"
#include "harness/run/certificate_options.h"

namespace pathproof::run {

namespace {

// Packs the report as it lies in the folder.
Status pack(const std::string& folder, const std::string& bundle) {
    const compare::Report report = TRY(compare::read_report(folder));
    return report::write_bundle(report.run, folder, bundle);
}

}  // namespace

Status check_bundle(const std::string& bundle, const std::string& out_dir) {
    if (bundle.empty()) {
        return {};
    }
    if (out_dir.empty()) {
        return fail(ErrorCode::kBadInput, "--bundle packs a report: name its folder with --out");
    }
    const auto writable = NewFile::beside(bundle);
    return writable ? Status() : Status(pass_on(writable.error()));
}

int publish(const verdict::RunResult& result, const std::string& out_dir, int exit_code,
            const HistoryChoice& history,
            const std::function<void(const std::string& report)>& print,
            const std::string& bundle) {
    const auto written = out_dir.empty() ? Result<report::Written>(report::Written{})
                                         : report::write_report(result, out_dir, exit_code);
    print(written && !out_dir.empty()
              ? std::filesystem::absolute(written->folder + "/report.html").string()
              : "");
    remember_run(result, exit_code, history);
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
    if (const Status packed = bundle.empty() ? Status() : pack(written->folder, bundle); !packed) {
        process::log(packed.error().message);
        return 3;
    }
    return written->lost.empty() ? exit_code : 3;
}

}  // namespace pathproof::run
