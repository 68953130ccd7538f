#include "dataplane/load/thread_time.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>

#include "dataplane/base/file.h"

namespace pathproof::load {

ThreadTime ThreadTime::of_caller() noexcept {
    const Fd file(open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC));
    std::array<char, 128> text;
    const ssize_t length = file ? read(file.get(), text.data(), text.size()) : -1;
    if (length <= 0) {
        return {};
    }
    // "RAN WAITED TIMESLICES", see Documentation/scheduler/sched-stats.rst of the kernel.
    ThreadTime time;
    const char* end = text.data() + length;
    const auto [rest, wrong] = std::from_chars(text.data(), end, time.ran_ns);
    if (wrong != std::errc() || rest == end) {
        return {};
    }
    std::from_chars(rest + 1, end, time.waited_ns);
    return time;
}

}  // namespace pathproof::load
