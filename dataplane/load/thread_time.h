// CPU time that the scheduler gave the calling thread.
#pragma once

#include <cstdint>

namespace pathproof::load {

struct ThreadTime {
    std::uint64_t ran_ns = 0;
    std::uint64_t waited_ns = 0;  // it could have run, but another thread did

    // Reads /proc/thread-self/schedstat; all 0 on a kernel without CONFIG_SCHED_INFO.
    static ThreadTime of_caller() noexcept;
};

}  // namespace pathproof::load
