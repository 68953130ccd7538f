// pathproof inspect stats: the counters of each CPU and what they mean on this kernel.
#include "harness/netfilter/stats.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "dataplane/base/clock.h"
#include "harness/agent/counters.h"
#include "harness/cli/generate/number_checks.h"
#include "harness/cli/inspect/commands.h"
#include "harness/cli/inspect/output.h"
#include "harness/cli/seconds.h"
#include "harness/netfilter/planted.h"
#include "harness/netfilter/text.h"
#include "harness/process/netns.h"

namespace pathproof::cli::inspect {
namespace {

using namespace netfilter;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

// Seconds.
constexpr double kShortestSample = 0.001;

struct StatsOptions {
    CommonOptions common;
    Limits limits;
    std::optional<double> interval_s;
};

// A counter of something else that fills up or refuses where flows fail, and its meaning.
struct Limit {
    const char* counter;
    const char* meaning;
};
constexpr Limit kLimits[] = {
    {"TcpExt.PAWSActive", "SYN,ACKs refused: their timestamp is older than the connection's last"},
    {"TcpExt.PAWSEstab", "segments refused: their timestamp is older than the connection's last"},
    {"TcpExt.PAWSTimewait",
     "segments refused in TIME_WAIT: their timestamp is older than the last one; SYNs of another "
     "client behind the same NAT port count here"},
    {"TCP.tw", "connections in TIME_WAIT now"},
    {"TcpExt.TCPTimeWaitOverflow", "connections that found no room in TIME_WAIT"},
    {"Ip.ReasmFails", "IPv4 packets that were not put together from their fragments"},
    {"Ip.ReasmTimeout", "IPv4 packets whose last fragments did not come in time"},
    {"Ip6ReasmFails", "IPv6 packets that were not put together from their fragments"},
    {"Ip6ReasmTimeout", "IPv6 packets whose last fragments did not come in time"},
    {"FRAG.memory", "bytes of IPv4 fragments that wait for the others now"},
    {"arp.entries", "IPv4 neighbours of this machine now"},
    {"arp.table_fulls", "IPv4 neighbours that found no room (net.ipv4.neigh.default.gc_thresh3)"},
    {"ndisc.entries", "IPv6 neighbours of this machine now"},
    {"ndisc.table_fulls", "IPv6 neighbours that found no room (net.ipv6.neigh.default.gc_thresh3)"},
};

Result<agent::CounterSet> limits_of(const std::string& netns) {
    agent::CounterSet counters;
    TRY(process::in_netns(netns, [&]() -> Status {
        counters = TRY(agent::read_limits());
        return {};
    }));
    return counters;
}

void put_text(Output& output, const CpuStats& cpu) {
    append_text(output.line(), cpu);
    output.end_line();
}

// Appends a line each to `lines`; gives the values, null for what cannot be read.
json tell_limits(const agent::CounterSet& counters, std::string& lines) {
    json values = json::object();
    for (const Limit& limit : kLimits) {
        const auto found = counters.find(limit.counter);
        const bool readable = found != counters.end();
        values[limit.counter] = readable ? json(found->second) : json();
        lines += fmt::format("\n{:<26} {:>10}  {}", limit.counter,
                             readable ? std::to_string(found->second) : "-",
                             readable ? limit.meaning : "not readable here");
    }
    return values;
}

std::vector<CounterMeaning> meanings_here(const CpuStats& stats) {
    std::vector<CounterMeaning> meanings = counter_meanings(stats, running_kernel_release());
    put_measured(meanings, planted_packets());
    return meanings;
}

void put_meanings(Output& output, const std::vector<CpuStats>& stats, const TableSize& table,
                  const agent::CounterSet& limits, const StatsOptions& options) {
    const std::string release = running_kernel_release();
    json meanings = json::object();
    json totals = json::object();
    std::string lines =
        fmt::format("\n{:<15} {:>10}  meaning on Linux {}\n", "counter", "all CPUs", release);
    for (const CounterMeaning& meaning : meanings_here(stats.front())) {
        const std::uint64_t sum = total(stats, meaning.counter);
        const bool known = !meaning.text.empty();
        meanings[meaning.counter] = known ? json(meaning.text) : json();
        totals[meaning.counter] = sum;
        lines += fmt::format("{:<15} {:>10}  {}\n", meaning.counter, sum,
                             known ? meaning.text : meaning.unknown);
    }
    lines += fmt::format(
        "entries {}{}: hidden ones of resolved clashes are counted, a dump does not show them",
        table.entries, table.maximum == 0 ? "" : fmt::format(" of at most {}", table.maximum));
    lines += "\n\nbeside conntrack";
    const json beside = tell_limits(limits, lines);
    if (options.common.json) {
        put_json(output, {{"kernel", release},
                          {"totals", totals},
                          {"meanings", meanings},
                          {"entries", table.entries},
                          {"beside_conntrack", beside},
                          {"maximum", table.maximum}});
    } else {
        output.put_line(lines);
    }
}

// The change of each CPU, and of all with its rate and meaning.
class Changes {
  public:
    Changes(std::vector<CpuStats> change, double seconds)
        : change_(std::move(change)), seconds_(seconds) {}

    void show(Output& output) const {
        output.put_line(fmt::format("[{}.{:03}] change in {:.3f} s", time_ns_ / 1'000'000'000,
                                    time_ns_ % 1'000'000'000 / 1'000'000, seconds_));
        for (const CpuStats& cpu : change_) {
            put_text(output, cpu);
        }
        for (const CounterMeaning& meaning : meanings_here(change_.front())) {
            const std::uint64_t sum = total(change_, meaning.counter);
            if (sum > 0) {
                output.put_line(fmt::format("{:<15} {:>10} {:>12.1f}/s  {}", meaning.counter,
                                            fmt::format("+{}", sum), rate(sum),
                                            meaning.text.empty() ? meaning.unknown : meaning.text));
            }
        }
    }

    void show_json(Output& output) const {
        const auto put_line = [&](json line) {
            line["time_ns"] = time_ns_;
            line["interval_s"] = seconds_;
            put_json(output, line);
        };
        json totals = json::object();
        for (const auto& [counter, value] : change_.front().counters) {
            const std::uint64_t sum = total(change_, counter);
            totals[counter] = {{"change", sum}, {"per_second", rate(sum)}};
        }
        put_line({{"totals", totals}});
        for (const CpuStats& cpu : change_) {
            json line(cpu);
            for (const auto& [counter, value] : cpu.counters) {
                line["per_second"][counter] = rate(value);
            }
            put_line(std::move(line));
        }
    }

  private:
    double rate(std::uint64_t count) const {
        return seconds_ > 0 ? static_cast<double>(count) / seconds_ : 0;
    }

    std::vector<CpuStats> change_;
    double seconds_;
    std::int64_t time_ns_ = realtime_ns();
};

// Changes over each interval, until interrupted or --count or --duration is reached.
Result<int> follow_stats(const StatsOptions& options, std::vector<CpuStats> before,
                         Output& output) {
    const auto start = Clock::now();
    const auto deadline = options.limits.deadline();
    auto sampled = start;
    for (std::uint64_t round = 1; !options.limits.count || round <= *options.limits.count;
         ++round) {
        const auto next = start + nanoseconds_of(*options.interval_s * static_cast<double>(round));
        process::sleep_until(std::min(next, deadline));
        const auto after = cpu_stats(options.common.netns);
        if (!after) {
            return fail(ErrorCode::kUnavailable, "{}", after.error().message);
        }
        const auto now = Clock::now();
        const Changes changes(delta(before, *after),
                              std::chrono::duration<double>(now - sampled).count());
        options.common.json ? changes.show_json(output) : changes.show(output);
        output.flush();
        if (process::stopping() || now >= deadline || !output.open()) {
            break;
        }
        before = *after;
        sampled = now;
    }
    return kDone;
}

Result<int> run_stats(const StatsOptions& options) {
    process::stop_on_signals();
    const auto stats = TRY(cpu_stats(options.common.netns));
    const auto table = TRY(table_size(options.common.netns));
    const auto limits = TRY(limits_of(options.common.netns));
    Output output;
    for (const CpuStats& cpu : stats) {
        options.common.json ? put_json(output, cpu) : put_text(output, cpu);
    }
    put_meanings(output, stats, table, limits, options);
    output.flush();
    return options.interval_s ? follow_stats(options, stats, output) : kDone;
}

}  // namespace

void add_stats(CLI::App& inspect, Command& chosen) {
    CLI::App* app =
        inspect.add_subcommand("stats", "Counters of each CPU and what they mean on this kernel");
    const auto options = options_for<StatsOptions>(*app, chosen, run_stats);
    add_common(*app, options->common);
    add_limits(*app, options->limits, "intervals");
    CLI::Option* interval = app->add_option("--interval", options->interval_s,
                                            "then print the changes every so many seconds")
                                ->check(number_in(kShortestSample, kLongestInterval));
    app->get_option("--duration")->needs(interval);
    app->get_option("--count")->needs(interval);
    app->footer(
        "Changes nothing: it reads counters. What insert_failed, drop and invalid count is "
        "measured "
        "with two packets in a network namespace made for it.");
}

}  // namespace pathproof::cli::inspect
