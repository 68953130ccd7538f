#include "harness/bench/peers/kxdpgun.h"

#include "dataplane/base/pattern.h"

namespace pathproof::bench {
namespace {

constexpr std::uint64_t kBeyondReach = 50'000'000;

}  // namespace

std::vector<std::string> kxdpgun_command(const KxdpgunJob& job) {
    return {"kxdpgun",
            "-t",
            fmt::format("{}", job.seconds),
            "-Q",
            fmt::format("{}", kBeyondReach),
            "-b",
            fmt::format("{}", job.batch),
            "-F",
            fmt::format("{}", job.cpu),
            "-I",
            job.device,
            "-l",
            job.local_address,
            "-L",
            job.local_mac,
            "-R",
            job.remote_mac,
            "-i",
            job.queries,
            job.remote_address};
}

Result<KxdpgunReport> parse_kxdpgun(const std::string& text) {
    static const Pattern queries("total queries:[ \t]+([0-9]+)");
    static const Pattern replies("total replies:[ \t]+([0-9]+)");
    const auto sent = queries.search(text);
    const auto answered = replies.search(text);
    if (!sent || !answered) {
        return fail(ErrorCode::kFailed, "kxdpgun printed no totals: '{}'", text.substr(0, 200));
    }
    return KxdpgunReport{.queries = std::strtoull((*sent)[1].c_str(), nullptr, 10),
                         .replies = std::strtoull((*answered)[1].c_str(), nullptr, 10)};
}

}  // namespace pathproof::bench
