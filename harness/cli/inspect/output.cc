#include "harness/cli/inspect/output.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "harness/cli/generate/number_checks.h"
#include "harness/cli/inspect/place.h"
#include "harness/cli/seconds.h"
#include "harness/netfilter/filter.h"
#include "harness/netfilter/text.h"
#include "harness/process/json_text.h"
#include "harness/process/netns.h"

namespace pathproof::cli::inspect {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kFlushBytes = 64 * 1024;

}  // namespace

void add_common(CLI::App& app, CommonOptions& options) {
    app.add_option("--netns", options.netns, fmt::format("network namespace: {}", kPlaceHelp))
        ->transform(named_place());
    app.add_flag("--json", options.json, "one JSON object a line");
}

void add_filter_words(CLI::App& app, std::vector<std::string>& words) {
    app.add_option("filter", words, "filter words, see below");
    app.footer(netfilter::filter_help());
}

Clock::time_point Limits::deadline() const {
    return duration_s ? Clock::now() + nanoseconds_of(*duration_s) : Clock::time_point::max();
}

void add_limits(CLI::App& app, Limits& limits, const std::string& counted) {
    app.add_option("--duration", limits.duration_s, "end after so many seconds")->check(kAboveZero);
    app.add_option("--count", limits.count, "end after so many " + counted)->check(kPositive);
}

std::string time_text(std::int64_t time_ns) {
    return "[" + netfilter::seconds_text(time_ns) + "]";
}

void Output::end_line() {
    buffer_ += '\n';
    if (buffer_.size() >= kFlushBytes) {
        flush();
    }
}

void Output::flush() {
    std::fwrite(buffer_.data(), 1, buffer_.size(), stdout);
    std::fflush(stdout);
    buffer_.clear();
}

Status still_there(const std::string& netns) {
    return process::require_netns(netns) ? Status()
                                         : fail(ErrorCode::kUnavailable,
                                                "network namespace '{}' went away meanwhile: begin "
                                                "again when it is there",
                                                netns);
}

// Text of the kernel (a helper's name) is not held to be UTF-8.
void put_json(Output& output, const nlohmann::json& line) {
    output.put_line(process::to_text(line));
}

}  // namespace pathproof::cli::inspect
