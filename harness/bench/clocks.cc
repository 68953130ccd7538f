#include "harness/bench/clocks.h"

#include <fmt/format.h>
#include <x86intrin.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

namespace pathproof::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kTscWindow = std::chrono::milliseconds(100);
constexpr unsigned kSlices = 2000;
constexpr unsigned kAdditions = 20'000;

// Ten additions, each of the result of the one before: no core does more than one a cycle.
inline std::uint64_t ten_additions(std::uint64_t value, std::uint64_t step) {
    asm volatile(
        "add %1, %0\n add %1, %0\n add %1, %0\n add %1, %0\n add %1, %0\n"
        "add %1, %0\n add %1, %0\n add %1, %0\n add %1, %0\n add %1, %0\n"
        : "+r"(value)
        : "r"(step)
        : "cc");
    return value;
}

verdict::Fact fact(const std::string& name, double mhz, const std::string& source) {
    return {.name = name,
            .value = fmt::format("{:.0f}", mhz),
            .status = verdict::Fact::Status::kRead,
            .source = source};
}

}  // namespace

double measure_tsc_mhz() {
    const auto from = Clock::now();
    const std::uint64_t first = __rdtsc();
    auto now = from;
    while (now - from < kTscWindow) {
        now = Clock::now();
    }
    const std::uint64_t ticks = __rdtsc() - first;
    const std::chrono::duration<double, std::micro> passed = now - from;
    return static_cast<double>(ticks) / passed.count();
}

double measure_core_mhz(double tsc_mhz) {
    std::uint64_t quickest = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t value = 0;
    for (unsigned slice = 0; slice < kSlices; ++slice) {
        const std::uint64_t from = __rdtsc();
        for (unsigned i = 0; i < kAdditions / 10; ++i) {
            value = ten_additions(value, i);
        }
        quickest = std::min<std::uint64_t>(quickest, __rdtsc() - from);
    }
    return kAdditions * tsc_mhz / static_cast<double>(quickest);
}

verdict::FactGroup clock_facts() {
    const double tsc = measure_tsc_mhz();
    return {.title = "Clocks",
            .facts = {fact("tsc_mhz", tsc, "rdtsc against CLOCK_MONOTONIC over 100 ms"),
                      fact("core_mhz", measure_core_mhz(tsc),
                           "a chain of 20,000 additions, the quickest of 2,000")}};
}

}  // namespace pathproof::bench
