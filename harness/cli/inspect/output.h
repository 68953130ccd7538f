// Options that the sub-commands of `pathproof inspect` share, and lines on standard output.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/base/exit_code.h"
#include "dataplane/base/result.h"
#include "harness/process/stop.h"
#include "harness/process/streams.h"

namespace CLI {
class App;
}

namespace pathproof::cli::inspect {

// Seconds.
inline constexpr double kShortestInterval = 0.01;
inline constexpr double kLongestInterval = 86'400;
inline constexpr double kLongestDuration = 1e9;

struct CommonOptions {
    std::string netns;  // empty: the caller's
    bool json = false;
};
// --netns and --json.
void add_common(CLI::App& app, CommonOptions& options);

// The positional filter words, explained at the end of --help; parse_filter() reads them.
void add_filter_words(CLI::App& app, std::vector<std::string>& words);

struct Limits {
    std::optional<double> duration_s;
    std::optional<std::uint64_t> count;

    // Returns the time at which --duration is over, counted from now; never without one.
    std::chrono::steady_clock::time_point deadline() const;
};
// --duration and --count; `counted` says of what ("events").
void add_limits(CLI::App& app, Limits& limits, const std::string& counted);

// "[1763692000.123456]", of CLOCK_REALTIME in nanoseconds.
std::string time_text(std::int64_t time_ns);

// Lines to standard output; they go out when flushed or when enough have gathered.
class Output {
  public:
    // The buffer for the next line, without its end.
    std::string& line() { return buffer_; }
    void end_line();
    void put_line(std::string_view text) {
        buffer_ += text;
        end_line();
    }
    void flush();

    // False when nobody reads any more or the output failed.
    bool open() const { return !process::output_lost(); }

  private:
    std::string buffer_;
};

// An error where the namespace, which was there, went meanwhile: what was counted since is not known.
Status still_there(const std::string& netns);
// Returns the result; if the namespace has gone, an error that says so in place of one that says
// that something was not found.
template <typename T>
Result<T> or_gone(Result<T> result, const std::string& netns) {
    TRY(still_there(netns));
    return result;
}

// Puts a line of one JSON object.
void put_json(Output& output, const nlohmann::json& line);

}  // namespace pathproof::cli::inspect
