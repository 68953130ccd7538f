// pathproof inspect stats: the counters of each CPU and what they mean on this kernel.
#include "harness/netfilter/stats.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/cli/inspect/commands.h"
#include "harness/cli/inspect/output.h"

namespace pathproof::cli::inspect {
namespace {

using namespace netfilter;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

struct StatsOptions {
    CommonOptions common;
    Limits limits;
    std::optional<double> interval_s;
};

// What each counter means here; null in JSON and a plain word in text where that is not known.
std::string meaning_here(const std::string& counter) {
    const auto kernel = parse_kernel_release(running_kernel_release());
    return kernel ? counter_meaning(counter, *kernel) : std::string();
}

void put_meanings(Output& output, const std::vector<CpuStats>& stats, const TableSize& table,
                  const StatsOptions& options) {
    json meanings = json::object();
    json totals = json::object();
    std::string lines = fmt::format("\n{:<15} {:>10}  meaning on Linux {}\n", "counter", "all CPUs",
                                    running_kernel_release());
    for (const auto& [counter, value] : stats.front().counters) {
        const std::string meaning = meaning_here(counter);
        const std::uint64_t sum = total(stats, counter);
        meanings[counter] = meaning.empty() ? json() : json(meaning);
        totals[counter] = sum;
        lines +=
            fmt::format("{:<15} {:>10}  {}\n", counter, sum,
                        meaning.empty() ? "not known for this kernel: raw value only" : meaning);
    }
    lines += fmt::format(
        "entries {}{}: hidden ones of resolved clashes are counted, a dump does not show them",
        table.entries, table.maximum == 0 ? "" : fmt::format(" of at most {}", table.maximum));
    if (options.common.json) {
        lines = json{{"kernel", running_kernel_release()},
                     {"totals", totals},
                     {"meanings", meanings},
                     {"entries", table.entries},
                     {"maximum", table.maximum}}
                    .dump();
    }
    output.line() += lines;
    output.end_line();
}

void put_deltas(Output& output, const std::vector<CpuStats>& change, double seconds,
                const StatsOptions& options) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto time_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
    if (!options.common.json) {
        output.line() += fmt::format("[{}.{:03}] change in {:.3f} s", time_ns / 1'000'000'000,
                                     time_ns % 1'000'000'000 / 1'000'000, seconds);
        output.end_line();
    }
    for (const CpuStats& cpu : change) {
        if (options.common.json) {
            json line(cpu);
            line["time_ns"] = time_ns;
            line["interval_s"] = seconds;
            output.line() += line.dump();
        } else {
            append_text(output.line(), cpu);
        }
        output.end_line();
    }
    output.flush();
}

// Changes over each interval, until interrupted or --count or --duration is reached.
int follow_stats(const StatsOptions& options, std::vector<CpuStats> before, Output& output) {
    const auto start = Clock::now();
    auto sampled = start;
    for (std::uint64_t round = 1; !options.limits.count || round <= *options.limits.count;
         ++round) {
        const std::chrono::duration<double> offset(*options.interval_s *
                                                   static_cast<double>(round));
        sleep_until(start + std::chrono::duration_cast<Clock::duration>(offset));
        const auto after = cpu_stats(options.common.netns);
        if (!after) {
            return complain(after.error());
        }
        const auto now = Clock::now();
        put_deltas(output, delta(before, *after),
                   std::chrono::duration<double>(now - sampled).count(), options);
        const bool over =
            options.limits.duration_s &&
            std::chrono::duration<double>(now - start).count() >= *options.limits.duration_s;
        if (interrupted() || over || !output.open()) {
            break;
        }
        before = *after;
        sampled = now;
    }
    return output.exit_code(kDone);
}

int run_stats(const StatsOptions& options) {
    catch_signals();
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
    return options.interval_s ? follow_stats(options, *stats, output) : output.exit_code(kDone);
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
                                ->check(CLI::PositiveNumber);
    app->get_option("--duration")->needs(interval);
    app->get_option("--count")->needs(interval);
    app->callback([&chosen, options] { chosen = [options] { return run_stats(*options); }; });
}

}  // namespace pathproof::cli::inspect
