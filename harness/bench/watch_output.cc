#include "harness/bench/watch_output.h"

#include <algorithm>

#include "dataplane/base/number.h"

namespace pathproof::bench {
namespace {

constexpr std::string_view kNew = "[NEW]";
constexpr std::string_view kMissed = " [MISSED]";
constexpr std::string_view kGap = "# gap ";

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

}  // namespace

void count_line(std::string_view line, WatchCount& count) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin == std::string_view::npos) {
        return;
    }
    line.remove_prefix(begin);
    if (line.starts_with(kNew)) {
        ++(line.ends_with(kMissed) ? count.new_missed : count.new_live);
    } else if (line.starts_with(kGap)) {
        line.remove_prefix(kGap.size());
        count.last_gap = std::max(count.last_gap, take_number<std::uint64_t>(line).value_or(0));
    }
}

Result<WatchCount> read_watch_output(const OutputFile& out, const OutputFile& err) {
    WatchCount count;
    TRY(out.each_line([&](std::string_view line) { count_line(line, count); }));
    TRY(err.each_line(
        [&](std::string_view line) { count.warnings += contains(line, "ENOBUFS") ? 1 : 0; }));
    return count;
}

}  // namespace pathproof::bench
