#include "dataplane/traffic/pace.h"

#include <rte_cycles.h>
#include <rte_pause.h>
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>

#include "dataplane/port/counter_rate.h"

namespace pathproof::traffic {
namespace {

// Time by which a sleep may overrun its end on a busy machine; sleeps end this much before the spin
// begins.
constexpr Nanoseconds kOversleep{60'000};

}  // namespace

Tsc tsc_now() noexcept {
    return rte_rdtsc();
}

TscClock TscClock::of_this_machine() {
    return TscClock(port::counter_hz());
}

Tsc spin_until(Tsc deadline) noexcept {
    Tsc now = rte_rdtsc();
    while (static_cast<std::int64_t>(deadline - now) > 0) {
        rte_pause();
        now = rte_rdtsc();
    }
    return now;
}

void Napper::nap(Tsc wake) noexcept {
    const Tsc now = rte_rdtsc();
    const auto left = Nanoseconds(clock_.nanoseconds(now, wake)) - kSpin - kOversleep;
    const auto time = std::min(nap_, left);
    nap_ = std::min(nap_ * 2, kLongest);
    if (time < kShortest) {
        rte_pause();
        return;
    }
    const timespec span{.tv_sec = 0, .tv_nsec = time.count()};
    nanosleep(&span, nullptr);
}

Promptness::Promptness() noexcept {
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    const sched_param first{.sched_priority = sched_get_priority_min(SCHED_FIFO)};
    sched_setscheduler(0, SCHED_FIFO, &first);
}

Promptness::~Promptness() {
    const sched_param ordinary{.sched_priority = 0};
    sched_setscheduler(0, SCHED_OTHER, &ordinary);
    prctl(PR_SET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL);  // 0: back to the default
}

}  // namespace pathproof::traffic
