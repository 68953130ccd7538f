#include "harness/bench/peers/dnsperf.h"

#include <optional>

#include "dataplane/base/pattern.h"

namespace pathproof::bench {
namespace {

std::optional<double> value_of(const std::string& text, const std::string& name) {
    const auto found = Pattern(name + ":[ \t]+([0-9.]+)").search(text);
    if (!found) {
        return std::nullopt;
    }
    return std::strtod((*found)[1].c_str(), nullptr);
}

std::uint64_t count(double value) {
    return static_cast<std::uint64_t>(value);
}

}  // namespace

std::vector<std::string> dnsperf_command(const DnsperfJob& job) {
    return {"dnsperf",
            "-s",
            job.server,
            "-d",
            job.queries,
            "-l",
            fmt::format("{}", job.seconds),
            "-T",
            "1",
            "-c",
            fmt::format("{}", job.clients),
            "-q",
            fmt::format("{}", job.outstanding)};
}

Result<DnsperfReport> parse_dnsperf(const std::string& text) {
    const auto sent = value_of(text, "Queries sent");
    const auto completed = value_of(text, "Queries completed");
    const auto lost = value_of(text, "Queries lost");
    const auto seconds = value_of(text, R"(Run time \(s\))");
    const auto rate = value_of(text, "Queries per second");
    if (!sent || !completed || !lost || !seconds || !rate) {
        return fail(ErrorCode::kFailed, "dnsperf printed no statistics: '{}'", text.substr(0, 200));
    }
    return DnsperfReport{.sent = count(*sent),
                         .completed = count(*completed),
                         .lost = count(*lost),
                         .seconds = *seconds,
                         .queries_per_second = *rate};
}

}  // namespace pathproof::bench
