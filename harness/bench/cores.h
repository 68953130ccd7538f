// The CPUs that a lane of the data plane uses.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

namespace pathproof::bench {

struct Cores {
    int control = 0;  // where main lcores, and the benchmark itself, wait
    int worker = 0;   // where frames are made

    bool apart() const { return control != worker; }
    std::vector<int> both() const { return {control, worker}; }
    // EAL's option: lcore 0 for the main thread, lcore 1 for the work, on one CPU if there is only
    // one.
    std::string lcores() const { return fmt::format("0@{},1@{}", control, worker); }
};

// The first CPU for control, the last for work: interrupts and other services tend to the first.
inline Cores choose_cores(const std::vector<int>& usable) {
    return {.control = usable.front(), .worker = usable.back()};
}

}  // namespace pathproof::bench
