#include "harness/compare/read.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "dataplane/base/file.h"
#include "harness/process/json_text.h"
#include "harness/report/json.h"

namespace pathproof::compare {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargest = 64u << 20;
constexpr std::string_view kVersion = "pathproof-report/1";

// Before the schema says no to all of it.
Status check_version(const std::string& file, const std::string& text) {
    const auto document = process::json_or_null(text);
    if (document.is_null()) {
        return fail(ErrorCode::kBadInput,
                    "{} is no JSON, or was cut short: no report can be read from it", file);
    }
    const std::string version = process::text_in(document, "schema");
    if (version == kVersion) {
        return {};
    }
    return version.starts_with("pathproof-report/")
               ? fail(ErrorCode::kBadInput,
                      "{} is of version {}, this pathproof reads {}: read it with the one that "
                      "wrote it, or a newer one",
                      file, version, kVersion)
               : fail(ErrorCode::kBadInput, "{} is JSON, but no report of pathproof", file);
}

}  // namespace

Result<Report> read_report(const std::string& path) {
    std::error_code problem;
    if (path.empty() || !fs::exists(path, problem)) {
        return fail(ErrorCode::kNotFound, "there is no report '{}'", path);
    }
    Report report{.file = path, .run = {}};
    if (fs::is_directory(path, problem)) {
        report.file = (fs::path(path) / "report.json").string();
        if (!fs::exists(report.file, problem)) {
            return fail(ErrorCode::kNotFound, "folder {} has no report.json", path);
        }
    }
    if (!fs::is_regular_file(report.file, problem)) {
        return fail(ErrorCode::kBadInput, "{} is no regular file", report.file);
    }
    if (const auto bytes = fs::file_size(report.file, problem); problem || bytes > kLargest) {
        return fail(ErrorCode::kBadInput, "{} has {} MiB; no report has more than {}", report.file,
                    bytes >> 20, kLargest >> 20);
    }
    const auto text = read_file(report.file);
    if (!text) {
        return fail(ErrorCode::kNotPermitted, "{} cannot be read", report.file);
    }
    TRY(check_version(report.file, *text));
    report.run = TRY(doing(report::from_json(*text), "{}", report.file));
    return report;
}

}  // namespace pathproof::compare
