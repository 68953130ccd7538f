// pathproof inspect stats: the counters of each CPU and what they mean on this kernel.
#include "harness/netfilter/stats.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/cli/generate/number_checks.h"
#include "harness/cli/inspect/commands.h"
#include "harness/cli/inspect/output.h"
#include "harness/cli/seconds.h"

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

void put_meanings(Output& output, const std::vector<CpuStats>& stats, const TableSize& table,
                  const StatsOptions& options) {
    const std::string release = running_kernel_release();
    json meanings = json::object();
    json totals = json::object();
    std::string lines =
        fmt::format("\n{:<15} {:>10}  meaning on Linux {}\n", "counter", "all CPUs", release);
    for (const CounterMeaning& meaning : counter_meanings(stats.front(), release)) {
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
    if (options.common.json) {
        lines = json{{"kernel", release},
                     {"totals", totals},
                     {"meanings", meanings},
                     {"entries", table.entries},
                     {"maximum", table.maximum}}
                    .dump();
    }
    output.line() += lines;
    output.end_line();
}

// The change of each CPU, and of all with its rate and meaning.
class Changes {
  public:
    Changes(std::vector<CpuStats> change, double seconds)
        : change_(std::move(change)),
          seconds_(seconds),
          time_ns_(std::chrono::duration_cast<std::chrono::nanoseconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count()) {}

    void put_text(Output& output) const {
        output.line() += fmt::format("[{}.{:03}] change in {:.3f} s", time_ns_ / 1'000'000'000,
                                     time_ns_ % 1'000'000'000 / 1'000'000, seconds_);
        output.end_line();
        for (const CpuStats& cpu : change_) {
            put(output, cpu, Format::kText);
        }
        for (const CounterMeaning& meaning :
             counter_meanings(change_.front(), running_kernel_release())) {
            const std::uint64_t sum = total(change_, meaning.counter);
            if (sum > 0) {
                output.line() += fmt::format("{:<15} {:>10} {:>12.1f}/s  {}", meaning.counter,
                                             fmt::format("+{}", sum), rate(sum),
                                             meaning.text.empty() ? meaning.unknown : meaning.text);
                output.end_line();
            }
        }
    }

    void put_json(Output& output) const {
        const auto put_line = [&](json line) {
            line["time_ns"] = time_ns_;
            line["interval_s"] = seconds_;
            output.line() += line.dump();
            output.end_line();
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
    std::int64_t time_ns_;
};

// Changes over each interval, until interrupted or --count or --duration is reached.
int follow_stats(const StatsOptions& options, std::vector<CpuStats> before, Output& output) {
    const auto start = Clock::now();
    const auto deadline = options.limits.deadline();
    auto sampled = start;
    for (std::uint64_t round = 1; !options.limits.count || round <= *options.limits.count;
         ++round) {
        const auto next = start + nanoseconds_of(*options.interval_s * static_cast<double>(round));
        process::sleep_until(std::min(next, deadline));
        const auto after = cpu_stats(options.common.netns);
        if (!after) {
            return complain({ErrorCode::kUnavailable, after.error().message});
        }
        const auto now = Clock::now();
        const Changes changes(delta(before, *after),
                              std::chrono::duration<double>(now - sampled).count());
        options.common.json ? changes.put_json(output) : changes.put_text(output);
        output.flush();
        if (process::stopping() || now >= deadline || !output.open()) {
            break;
        }
        before = *after;
        sampled = now;
    }
    return kDone;
}

int run_stats(const StatsOptions& options) {
    process::stop_on_signals();
    const auto stats = cpu_stats(options.common.netns);
    if (!stats) {
        return complain(stats.error());
    }
    const auto table = table_size(options.common.netns);
    if (!table) {
        return complain(table.error());
    }
    Output output;
    for (const CpuStats& cpu : *stats) {
        put(output, cpu, options.common.format());
    }
    put_meanings(output, *stats, *table, options);
    output.flush();
    return options.interval_s ? follow_stats(options, *stats, output) : kDone;
}

}  // namespace

void add_stats(CLI::App& inspect, Command& chosen) {
    const auto options = std::make_shared<StatsOptions>();
    CLI::App* app =
        inspect.add_subcommand("stats", "counters of each CPU and what they mean on this kernel");
    add_common(*app, options->common);
    add_limits(*app, options->limits, "intervals");
    CLI::Option* interval = app->add_option("--interval", options->interval_s,
                                            "then print the changes every so many seconds")
                                ->check(number_in(kShortestSample, kLongestInterval));
    app->get_option("--duration")->needs(interval);
    app->get_option("--count")->needs(interval);
    app->callback([&chosen, options] { chosen = [options] { return run_stats(*options); }; });
}

}  // namespace pathproof::cli::inspect
