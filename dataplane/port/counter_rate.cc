#include "dataplane/port/counter_rate.h"

#include <rte_cycles.h>
#include <time.h>

#include <cmath>

namespace pathproof::port {
namespace {

constexpr int kReadings = 16;
constexpr timespec kMeasured{.tv_sec = 0, .tv_nsec = 100'000'000};

std::uint64_t measure() {
    const ClockReading begin = read_clocks();
    nanosleep(&kMeasured, nullptr);
    const ClockReading end = read_clocks();
    const auto cycles = static_cast<double>(end.tsc - begin.tsc);
    const auto passed = static_cast<double>(end.monotonic_ns - begin.monotonic_ns);
    return static_cast<std::uint64_t>(std::llround(cycles * 1e9 / passed));
}

}  // namespace

ClockReading read_clocks() noexcept {
    ClockReading best;
    std::uint64_t shortest = ~std::uint64_t{0};
    for (int reading = 0; reading < kReadings; ++reading) {
        timespec time{};
        const std::uint64_t before = rte_rdtsc_precise();
        clock_gettime(CLOCK_MONOTONIC, &time);
        const std::uint64_t after = rte_rdtsc_precise();
        if (after - before < shortest) {
            shortest = after - before;
            best = {.tsc = before + (after - before) / 2,
                    .monotonic_ns = time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec,
                    .window = after - before};
        }
    }
    return best;
}

std::uint64_t counter_hz() {
    static const std::uint64_t hz = measure();
    return hz;
}

}  // namespace pathproof::port
