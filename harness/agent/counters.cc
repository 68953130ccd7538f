#include "harness/agent/counters.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "dataplane/base/file.h"

namespace pathproof::agent {
namespace {

namespace fs = std::filesystem;

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
    std::vector<std::string_view> words;
    std::size_t begin = text.find_first_not_of(separators);
    while (begin != std::string_view::npos) {
        const std::size_t end = std::min(text.find_first_of(separators, begin), text.size());
        words.push_back(text.substr(begin, end - begin));
        begin = text.find_first_not_of(separators, end);
    }
    return words;
}

std::optional<std::uint64_t> parse_count(std::string_view word, int base = 10) {
    std::uint64_t value = 0;
    const auto [end, problem] =
        std::from_chars(word.data(), word.data() + word.size(), value, base);
    if (problem != std::errc() || end != word.data() + word.size()) {
        return std::nullopt;
    }
    return value;
}

void add_pair(std::string_view names_line, std::string_view values_line, CounterSet& counters) {
    const std::vector<std::string_view> names = split(names_line, " \t\r");
    const std::vector<std::string_view> values = split(values_line, " \t\r");
    if (names.size() != values.size() || names.front() != values.front()) {
        return;
    }
    const std::string group(names.front().substr(0, names.front().size() - 1));
    for (std::size_t i = 1; i < names.size(); ++i) {
        if (const auto count = parse_count(values[i])) {
            counters[group + "." + std::string(names[i])] = *count;
        }
    }
}

bool begins_group(std::string_view line) {
    const std::vector<std::string_view> words = split(line, " \t\r");
    return !words.empty() && words.front().size() > 1 && words.front().back() == ':';
}

std::string_view group_name(std::string_view line) {
    return line.substr(0, line.find(':'));
}

void add_device(const fs::path& device, CounterSet& counters) {
    std::error_code problem;
    std::vector<fs::path> files = {device / "carrier_down_count"};
    for (fs::directory_iterator file(device / "statistics", problem), end; !problem && file != end;
         file.increment(problem)) {
        files.push_back(file->path());
    }
    for (const fs::path& file : files) {
        // A device may go away between the listing and the reading: its counters are then simply
        // not there.
        const auto text = read_file(file.string());
        const std::vector<std::string_view> words =
            text ? split(*text, " \n") : std::vector<std::string_view>();
        const auto count = words.size() == 1 ? parse_count(words.front()) : std::nullopt;
        if (count) {
            counters[device.filename().string() + "." + file.filename().string()] = *count;
        }
    }
}

}  // namespace

CounterSet parse_paired_counters(std::string_view text) {
    CounterSet counters;
    std::string_view names;
    for (std::string_view line : split(text, "\n")) {
        if (!begins_group(line)) {
            names = {};
            continue;
        }
        if (names.empty() || group_name(names) != group_name(line)) {
            names = line;
            continue;
        }
        add_pair(names, line, counters);
        names = {};
    }
    return counters;
}

CounterSet parse_listed_counters(std::string_view text) {
    CounterSet counters;
    for (std::string_view line : split(text, "\n")) {
        const std::vector<std::string_view> words = split(line, " \t\r");
        const auto count = words.size() == 2 ? parse_count(words[1]) : std::nullopt;
        if (count) {
            counters[std::string(words[0])] = *count;
        }
    }
    return counters;
}

CounterSet parse_socket_counts(std::string_view text) {
    CounterSet counters;
    for (std::string_view line : split(text, "\n")) {
        const std::vector<std::string_view> words = split(line, " \t\r");
        if (!begins_group(line)) {
            continue;
        }
        for (std::size_t i = 1; i + 1 < words.size(); i += 2) {
            if (const auto count = parse_count(words[i + 1])) {
                counters[fmt::format("{}.{}", group_name(line), words[i])] = *count;
            }
        }
    }
    return counters;
}

CounterSet parse_neighbour_table(std::string_view text) {
    CounterSet counters;
    const std::vector<std::string_view> lines = split(text, "\n");
    for (std::size_t line = 1; line < lines.size(); ++line) {
        const std::vector<std::string_view> names = split(lines.front(), " \t\r");
        const std::vector<std::string_view> values = split(lines[line], " \t\r");
        for (std::size_t i = 0; i < names.size() && names.size() == values.size(); ++i) {
            if (const auto count = parse_count(values[i], 16)) {
                std::uint64_t& sum = counters[std::string(names[i])];
                sum = names[i] == "entries" ? *count : sum + *count;
            }
        }
    }
    return counters;
}

Result<CounterSet> read_limits(const std::string& proc_net) {
    CounterSet counters = TRY(read_counters({.proc_net = proc_net, .class_net = {}}));
    for (const char* file : {"sockstat", "sockstat6"}) {
        if (const auto text = read_file(proc_net + "/" + file)) {
            counters.merge(parse_socket_counts(*text));
        }
    }
    for (const char* table : {"arp", "ndisc"}) {
        if (const auto text = read_file(fmt::format("{}/stat/{}_cache", proc_net, table))) {
            for (const auto& [name, value] : parse_neighbour_table(*text)) {
                counters[fmt::format("{}.{}", table, name)] = value;
            }
        }
    }
    return counters;
}

Result<CounterSet> read_counters(const CounterSource& source) {
    CounterSet counters;
    for (const char* file : {"snmp", "netstat"}) {
        if (const auto text = read_file(source.proc_net + "/" + file)) {
            counters.merge(parse_paired_counters(*text));
        }
    }
    if (const auto text = read_file(source.proc_net + "/snmp6")) {
        counters.merge(parse_listed_counters(*text));
    }
    if (counters.empty()) {
        return fail(ErrorCode::kKernelLacks, "no counters can be read below {}; is /proc mounted?",
                    source.proc_net);
    }
    std::error_code problem;
    for (fs::directory_iterator device(source.class_net, problem), end; !problem && device != end;
         device.increment(problem)) {
        add_device(device->path(), counters);
    }
    return counters;
}

CounterSet delta(const CounterSet& before, const CounterSet& after) {
    CounterSet grown;
    for (const auto& [name, value] : after) {
        const auto earlier = before.find(name);
        const std::uint64_t base = earlier == before.end() ? 0 : earlier->second;
        if (value > base) {
            grown[name] = value - base;
        }
    }
    return grown;
}

std::uint64_t backlog_drops() {
    std::ifstream file("/proc/net/softnet_stat");
    std::uint64_t dropped = 0;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::uint64_t processed = 0;
        std::uint64_t of_cpu = 0;
        words >> std::hex >> processed >> of_cpu;
        dropped += of_cpu;
    }
    return dropped;
}

}  // namespace pathproof::agent
