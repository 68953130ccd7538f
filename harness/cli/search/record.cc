#include "harness/cli/search/record.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/cli/commands.h"
#include "harness/process/json_text.h"
#include "harness/process/log.h"

namespace pathproof::cli {
namespace {

using nlohmann::json;

json trial_json(std::uint64_t number, std::uint16_t size, const search::TrialOutput& output) {
    const search::TrialInput& input = output.input;
    const judge::LatencySummary latency = output.latency.summary();
    json line = {{"type", "trial"},
                 {"n", number},
                 {"frame_bytes", size},
                 {"load_pps", input.load_pps},
                 {"duration_s", search::seconds(input.duration)},
                 {"offered_pps", output.offered_pps},
                 {"sent", output.sent},
                 {"lost", output.lost},
                 {"loss_ratio", output.loss_ratio()},
                 {"duplicates", output.duplicates},
                 {"reordered", output.reordered},
                 {"bad_checksums", output.bad_checksums},
                 {"latency_us",
                  {{"p50", static_cast<double>(latency.p50_ns) / 1e3},
                   {"p99", static_cast<double>(latency.p99_ns) / 1e3},
                   {"max", static_cast<double>(latency.max_ns) / 1e3}}},
                 {"seconds", output.trial_seconds},
                 {"overhead_ms", output.overhead_seconds * 1e3},
                 {"tester_limit", output.tester_limit},
                 {"limited_by_stalls", output.limited_by_stalls},
                 {"disturbance", output.disturbance},
                 {"objection", output.objection},
                 {"partial", output.partial}};
    if (input.frames != 0) {
        line["frames"] = input.frames;
    }
    if (input.change) {
        line["change"] = {{"load_pps", input.change->load_pps},
                          {"duration_s", search::seconds(input.change->duration)}};
        line["last_loss_s"] = output.last_loss ? json(search::seconds(*output.last_loss)) : json();
    }
    return line;
}

const char* trial_mark(const search::TrialOutput& output) {
    if (output.partial) {
        return "  cut short";
    }
    if (output.limited_by_stalls) {
        return "  disturbed";
    }
    if (!output.tester_limit.empty()) {
        return "  tester limited";
    }
    if (!output.objection.empty()) {
        return "  objected to";
    }
    return output.disturbed() ? "  disturbed" : "";
}

std::string progress_line(std::uint64_t number, std::uint16_t size,
                          const search::TrialOutput& output) {
    const search::TrialInput& input = output.input;
    const std::string what = input.frames != 0
                                 ? fmt::format("burst of {}", input.frames)
                                 : fmt::format("{:.0f}/s for {:.3g} s", input.load_pps,
                                               search::seconds(input.whole_duration()));
    return fmt::format("trial {} of {} B: {}: {:.4f} % lost{}", number, size, what,
                       100 * output.loss_ratio(), trial_mark(output));
}

// Returns whether the folder has the result of a complete search.
bool has_whole_search(const std::string& folder) {
    const json earlier = process::json_or_null(read_file(folder + "/search.json").value_or(""));
    return earlier.is_object() && earlier.value("verdict", "") != "PARTIAL";
}

}  // namespace

SearchRecord::~SearchRecord() {
    clear_line();
}

Result<SearchRecord> SearchRecord::open(const SearchOptions& options) {
    SearchRecord record(options);
    if (options.out.empty()) {
        return record;
    }
    TRY(doing(make_folders(options.out, ErrorCode::kBadInput), "--out {}", options.out));
    auto log = TRY(doing(NewFile::beside(options.out + "/trials.jsonl"), "--out {}", options.out));
    record.log_.emplace(std::move(log));
    return record;
}

void SearchRecord::clear_line() {
    if (line_open_) {
        fmt::print(stderr, "\r\x1b[K");
        line_open_ = false;
    }
}

void SearchRecord::say(const std::string& sentence) {
    clear_line();
    process::log(sentence);
}

void SearchRecord::log(const std::string& line) {
    if (!log_ || !logged_) {
        return;
    }
    logged_ = log_->write(line);
    if (!logged_) {
        say(logged_.error().message + "; the search goes on");
    }
}

void SearchRecord::trial(std::uint16_t size, const search::TrialOutput& output) {
    ++trials_;
    const json line = trial_json(trials_, size, output);
    log(process::to_text(line) + "\n");
    if (options_.json) {
        fmt::print("{}\n", process::to_text(line));
        std::fflush(stdout);
    }
    const std::string text = progress_line(trials_, size, output);
    if (!terminal_) {
        process::log(text);
        return;
    }
    fmt::print(stderr, "\r\x1b[K{}", text.substr(0, 78));
    std::fflush(stderr);
    line_open_ = true;
}

Status SearchRecord::result(const json& result, const std::string& table) {
    clear_line();
    fmt::print("{}", options_.json ? process::to_text(result) + "\n" : table);
    std::fflush(stdout);
    if (options_.out.empty()) {
        return {};
    }
    // An incomplete result never replaces a complete one.
    std::string folder = options_.out;
    if (result.value("verdict", "") == "PARTIAL" && has_whole_search(folder)) {
        folder += "/incomplete";
        std::error_code ignored;
        std::filesystem::create_directory(folder, ignored);
        say(fmt::format("the earlier search in {} stays, this one is in {}", options_.out, folder));
    }
    Status written = replace_file(folder + "/search.json", process::to_text(result, 2) + "\n");
    written = written && logged_ ? log_->put_in_place_of(folder + "/trials.jsonl") : written;
    return written ? logged_ : written;
}

}  // namespace pathproof::cli
