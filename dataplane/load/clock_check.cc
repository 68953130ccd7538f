#include "dataplane/load/clock_check.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "dataplane/base/file.h"

namespace pathproof::load {

std::optional<double> ppm_since(const port::ClockReading& start, const traffic::TscClock& clock) {
    const port::ClockReading end = port::read_clocks();
    const std::int64_t passed = end.monotonic_ns - start.monotonic_ns;
    if (passed < 1'000'000'000) {
        return std::nullopt;
    }
    const std::int64_t counted = clock.nanoseconds(start.tsc, end.tsc);
    return static_cast<double>(counted - passed) * 1e6 / static_cast<double>(passed);
}

CounterWatch watch_counter(const port::ClockReading& start,
                           std::span<const port::ClockReading> readings,
                           const traffic::TscClock& clock) {
    CounterWatch watch;
    watch.uncertain_ns = clock.nanoseconds(0, start.window);
    for (const port::ClockReading& reading : readings) {
        const std::int64_t passed = reading.monotonic_ns - start.monotonic_ns;
        const std::int64_t ahead = clock.nanoseconds(start.tsc, reading.tsc) - passed;
        if (std::abs(ahead) > std::abs(watch.farthest_ns)) {
            watch.farthest_ns = ahead;
        }
        watch.elapsed_ns = std::max(watch.elapsed_ns, passed);
        watch.uncertain_ns = std::max(watch.uncertain_ns, clock.nanoseconds(0, reading.window));
        ++watch.readings;
    }
    return watch;
}

bool invariant_counter(const char* cpuinfo) {
    const std::string_view text(cpuinfo);
    const std::size_t flags = text.find("flags");
    if (flags == text.npos) {
        return false;
    }
    std::istringstream line(std::string(text.substr(flags, text.find('\n', flags) - flags)));
    const std::set<std::string> words{std::istream_iterator<std::string>(line), {}};
    return words.contains("constant_tsc") && words.contains("nonstop_tsc");
}

bool invariant_counter() {
    return invariant_counter(read_file("/proc/cpuinfo").value_or("").c_str());
}

std::string clock_source() {
    return first_word("/sys/devices/system/clocksource/clocksource0/current_clocksource");
}

bool made_from_counter(const std::string& source) {
    return source != "hpet" && source != "acpi_pm";
}

}  // namespace pathproof::load
