#include "harness/agent/cpu_use.h"

#include <unistd.h>

#include <algorithm>
#include <boost/algorithm/string.hpp>
#include <filesystem>
#include <sstream>

#include "dataplane/base/file.h"
#include "dataplane/base/number.h"
#include "harness/agent/operations.h"
#include "harness/process/cpu_time.h"

namespace pathproof::agent {
namespace {

std::vector<std::string> words_of(std::string_view line) {
    std::vector<std::string> words;
    std::istringstream in{std::string(line)};
    for (std::string word; in >> word;) {
        words.push_back(std::move(word));
    }
    return words;
}

template <typename Take>
void each_line(std::string_view text, const Take& take) {
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        take(words_of(text.substr(0, end)));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

// The counts behind a line's first word, one a CPU.
std::uint64_t sum_of_counts(const std::vector<std::string>& words) {
    std::uint64_t sum = 0;
    for (std::size_t n = 1; n < words.size(); ++n) {
        const auto count = whole_number<std::uint64_t>(words[n]);
        if (!count) {
            break;
        }
        sum += *count;
    }
    return sum;
}

// Sums these columns of the line of all CPUs: user nice system idle iowait irq softirq steal; guest time is in
// user's.
double sum_of_times(std::string_view stat, double ticks,
                    std::initializer_list<std::size_t> columns) {
    double sum = 0;
    each_line(stat, [&](const std::vector<std::string>& words) {
        if (words.size() < 9 || words[0] != "cpu") {
            return;
        }
        for (const std::size_t n : columns) {
            sum += static_cast<double>(whole_number<std::uint64_t>(words[n]).value_or(0)) / ticks;
        }
    });
    return sum;
}

// "eth0-TxRx-0" and "eth0" are of eth0; "eth01" is not.
bool names_device(const std::string& word, std::string_view device) {
    return word == device ||
           (word.starts_with(device) && word.size() > device.size() &&
            std::string_view("-@:").find(word[device.size()]) != std::string_view::npos);
}

std::vector<std::string> interrupt_numbers(const std::string& device) {
    std::vector<std::string> numbers;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(
             "/sys/class/net/" + device + "/device/msi_irqs", none)) {
        numbers.push_back(entry.path().filename());
    }
    return numbers;
}

// The counters run from the first reading on: opened each time they would start from 0.
const Result<process::CycleCounters>& cycle_counters() {
    static const Result<process::CycleCounters> counters = process::CycleCounters::start();
    return counters;
}

}  // namespace

double parse_busy_seconds(std::string_view stat, double ticks) {
    return sum_of_times(stat, ticks, {1, 2, 3, 6, 7});
}

double parse_softirq_seconds(std::string_view stat, double ticks) {
    return sum_of_times(stat, ticks, {7});
}

std::uint64_t parse_softirqs(std::string_view softirqs, std::string_view name) {
    std::uint64_t sum = 0;
    each_line(softirqs, [&](const std::vector<std::string>& words) {
        if (!words.empty() && words[0] == std::string(name) + ":") {
            sum += sum_of_counts(words);
        }
    });
    return sum;
}

std::optional<std::uint64_t> parse_interrupts(std::string_view interrupts,
                                              const std::vector<std::string>& numbers,
                                              std::string_view device) {
    std::optional<std::uint64_t> sum;
    each_line(interrupts, [&](const std::vector<std::string>& words) {
        if (words.size() < 2 || !words[0].ends_with(':')) {
            return;
        }
        const std::string number = words[0].substr(0, words[0].size() - 1);
        const bool own = std::ranges::count(numbers, number) != 0 ||
                         std::any_of(words.begin() + 1, words.end(), [&](const std::string& word) {
                             return names_device(word, device);
                         });
        if (own) {
            sum = sum.value_or(0) + sum_of_counts(words);
        }
    });
    return sum;
}

std::int64_t parse_memory(std::string_view meminfo, std::string_view name) {
    std::int64_t value = 0;
    each_line(meminfo, [&](const std::vector<std::string>& words) {
        if (words.size() > 1 && words[0] == std::string(name) + ":") {
            value = whole_number<std::int64_t>(words[1]).value_or(0);
        }
    });
    return value;
}

CpuUse read_cpu_use(const std::string& device) {
    const auto text = [](const char* file) { return read_file(file).value_or(""); };
    CpuUse use{.cpus = static_cast<unsigned>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)))};
    const std::string stat = text("/proc/stat");
    const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
    use.busy_seconds = parse_busy_seconds(stat, ticks);
    use.softirq_seconds = parse_softirq_seconds(stat, ticks);
    if (const auto& counters = cycle_counters()) {
        use.cycles = counters->read();
    } else {
        use.no_cycles = counters.error().message;
    }
    use.receive_softirqs = parse_softirqs(text("/proc/softirqs"), "NET_RX");
    use.interrupts = parse_interrupts(text("/proc/interrupts"), interrupt_numbers(device), device);
    const std::string memory = text("/proc/meminfo");
    use.memory_available_kib = parse_memory(memory, "MemAvailable");
    use.slab_kib = parse_memory(memory, "Slab");
    return use;
}

Result<CpuUse> Client::cpu_use(const std::string& device) {
    return impl_->ask<CpuUse>("cpu_use", device);
}

void add_cpu_use(Operations& operations) {
    operations.add("cpu_use", [](const std::string& device) { return read_cpu_use(device); });
}

}  // namespace pathproof::agent
