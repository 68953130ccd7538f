#include "harness/bench/watch_output.h"

namespace pathproof::bench {

void count_line(std::string_view line, WatchCount& count) {
    constexpr std::string_view kNew = "[NEW]";
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin == std::string_view::npos) {
        return;
    }
    line.remove_prefix(begin);
    if (line.starts_with("[GAP]")) {
        ++count.gaps;
    } else if (line.starts_with(kNew)) {
        const bool missed = line.find("[MISSED]") != std::string_view::npos;
        ++(missed ? count.new_missed : count.new_live);
    }
}

Result<WatchCount> read_watch_output(const OutputFile& out) {
    WatchCount count;
    const Status read = out.each_line([&](std::string_view line) { count_line(line, count); });
    if (!read) {
        return pass_on(read.error());
    }
    return count;
}

}  // namespace pathproof::bench
