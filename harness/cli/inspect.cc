// pathproof inspect: what netfilter's connection tracking holds, does and counts in a namespace.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/cli/commands.h"
#include "harness/netfilter/dump.h"
#include "harness/netfilter/events.h"
#include "harness/netfilter/stats.h"
#include "harness/netfilter/text.h"

namespace pathproof::cli {
namespace {

using namespace netfilter;
using nlohmann::json;
using Clock = std::chrono::steady_clock;
using Column = TextOptions::Column;

constexpr int kDone = 0;
constexpr int kIncomplete = 3;
constexpr std::size_t kFlushBytes = 64 * 1024;

struct Options {
    std::string netns;
    std::vector<std::string> words;
    std::vector<std::string> columns;
    bool json = false;
    std::optional<double> duration_s;
    std::optional<double> interval_s;
    std::optional<std::uint64_t> count;
};

volatile std::sig_atomic_t interrupted = 0;

void catch_signals() {
    struct sigaction on_signal {};
    on_signal.sa_handler = [](int) { interrupted = 1; };
    sigaction(SIGINT, &on_signal, nullptr);
    sigaction(SIGTERM, &on_signal, nullptr);
    // A reader that went away ("| head") shows as EPIPE instead.
    signal(SIGPIPE, SIG_IGN);
}

// Lines to standard output; they go out when flushed or when enough have gathered.
class Output {
  public:
    std::string& line() { return buffer_; }

    void end_line() {
        buffer_ += '\n';
        if (buffer_.size() >= kFlushBytes) {
            flush();
        }
    }

    void flush() {
        std::size_t done = 0;
        while (open() && done < buffer_.size()) {
            const ssize_t written =
                write(STDOUT_FILENO, buffer_.data() + done, buffer_.size() - done);
            if (written >= 0) {
                done += static_cast<std::size_t>(written);
            } else if (errno != EINTR) {
                problem_ = errno;
            }
        }
        buffer_.clear();
    }

    // False when nobody reads any more or the output failed.
    bool open() const { return problem_ == 0; }

    // The exit code `otherwise`, unless the output failed; a reader that went away is no failure.
    int exit_code(int otherwise) const {
        if (problem_ == 0 || problem_ == EPIPE) {
            return otherwise;
        }
        return complain({ErrorCode::kFailed,
                         fmt::format("write to standard output: {}", std::strerror(problem_))});
    }

  private:
    std::string buffer_;
    int problem_ = 0;
};

// The columns asked for with -o, and the label names that one of them needs.
struct Columns {
    TextOptions text{.nat_clash = Column::kShow};
    std::unique_ptr<LabelNames> labels;
};

Status add_column(const std::string& name, Columns& columns) {
    if (name == "id") {
        columns.text.id = Column::kShow;
    } else if (name == "extended") {
        columns.text.layer3 = Column::kShow;
    } else if (name == "ktimestamp") {
        columns.text.kernel_times = Column::kShow;
    } else if (name == "timestamp") {
        columns.text.event_time = Column::kShow;
    } else if (name == "labels") {
        auto labels = LabelNames::load();
        if (!labels) {
            return pass_on(labels.error());
        }
        columns.labels = std::make_unique<LabelNames>(std::move(*labels));
        columns.text.labels = columns.labels.get();
    } else {
        return fail(ErrorCode::kBadInput,
                    "-o '{}': allowed are id, extended, ktimestamp, timestamp, labels", name);
    }
    return {};
}

Result<Columns> parse_columns(const std::vector<std::string>& names) {
    Columns columns;
    for (const std::string& name : names) {
        if (auto added = add_column(name, columns); !added) {
            return pass_on(added.error());
        }
    }
    return columns;
}

template <typename T>
void put(Output& output, const T& value, const TextOptions& text, const Options& options) {
    if (options.json) {
        output.line() += json(value).dump(-1, ' ', false, json::error_handler_t::replace);
    } else {
        append_text(output.line(), value, text);
    }
    output.end_line();
}

int run_dump(const Options& options) {
    const auto filter = parse_filter(options.words);
    if (!filter) {
        return complain(filter.error());
    }
    const auto columns = parse_columns(options.columns);
    if (!columns) {
        return complain(columns.error());
    }
    catch_signals();
    Output output;
    const auto summary = dump(options.netns, *filter, [&](const Entry& entry) {
        put(output, entry, columns->text, options);
        return output.open() && interrupted == 0 ? Next::kContinue : Next::kStop;
    });
    output.flush();
    if (!summary) {
        return complain(summary.error());
    }
    fmt::print(stderr, "pathproof: {} entries shown{}\n", summary->entries,
               interrupted != 0 ? ", then interrupted: the table was not read to its end" : "");
    if (summary->unreadable > 0) {
        fmt::print(stderr, "pathproof: {} messages of the kernel could not be read as entries\n",
                   summary->unreadable);
    }
    return output.exit_code(summary->unreadable > 0 || interrupted != 0 ? kIncomplete : kDone);
}

// Prints events until it has been enough.
class Watch {
  public:
    Watch(const Options& options, const TextOptions& text) : options_(options), text_(text) {}

    int run(EventListener& listener) {
        const EventSink sink{.event = [this](const Event& event) { show(event); },
                             .overrun = [this](const Overrun& overrun) { show(overrun); }};
        while (!finished()) {
            const auto delivered = listener.deliver(wait(), sink);
            output_.flush();
            if (!delivered) {
                return complain(delivered.error());
            }
        }
        return end(listener);
    }

  private:
    bool enough() const { return options_.count && shown_ >= *options_.count; }

    bool finished() const {
        return interrupted != 0 || !output_.open() || enough() || Clock::now() >= deadline_;
    }

    // Short, so that a signal that comes between the check and the wait is seen soon.
    std::chrono::milliseconds wait() const {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
        return std::clamp(left, std::chrono::milliseconds(1), std::chrono::milliseconds(100));
    }

    void show(const Event& event) {
        if (enough()) {
            return;
        }
        put(output_, event, text_, options_);
        ++shown_;
    }

    void show(const Overrun& overrun) {
        output_.flush();
        fmt::print(
            stderr,
            "pathproof: events were lost here: the receive buffer overran (ENOBUFS), {} so far\n",
            overrun.total);
        if (options_.json) {
            output_.line() +=
                json{{"overrun", {{"time_ns", overrun.time_ns}, {"total", overrun.total}}}}.dump();
            output_.end_line();
        }
    }

    // What had come in before the end is shown too.
    int end(EventListener& listener) {
        const auto rest = listener.stop();
        if (!rest) {
            return complain(rest.error());
        }
        for (const Event& event : rest->events) {
            show(event);
        }
        output_.flush();
        fmt::print(stderr, "pathproof: {} events shown, {} overruns\n", shown_, rest->overruns);
        if (rest->unreadable > 0) {
            fmt::print(stderr, "pathproof: {} messages of the kernel could not be read as events\n",
                       rest->unreadable);
        }
        return output_.exit_code(rest->overruns + rest->unreadable > 0 ? kIncomplete : kDone);
    }

    Clock::time_point deadline() const {
        if (!options_.duration_s) {
            return Clock::time_point::max();
        }
        return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                  std::chrono::duration<double>(*options_.duration_s));
    }

    const Options& options_;
    const TextOptions& text_;
    const Clock::time_point deadline_ = deadline();
    Output output_;
    std::uint64_t shown_ = 0;
};

int run_watch(const Options& options) {
    const auto filter = parse_filter(options.words);
    if (!filter) {
        return complain(filter.error());
    }
    const auto columns = parse_columns(options.columns);
    if (!columns) {
        return complain(columns.error());
    }
    catch_signals();
    auto listener = EventListener::start({.netns = options.netns, .filter = *filter});
    if (!listener) {
        return complain(listener.error());
    }
    fmt::print(stderr, "pathproof: listening with a receive buffer of {} KiB\n",
               (*listener)->receive_buffer_bytes() / 1024);
    return Watch(options, columns->text).run(**listener);
}

// What each counter means here; null in JSON and a plain word in text where that is not known.
std::string meaning_here(const std::string& counter) {
    const auto kernel = parse_kernel_release(running_kernel_release());
    return kernel ? counter_meaning(counter, *kernel) : std::string();
}

void put_meanings(Output& output, const std::vector<CpuStats>& stats, const TableSize& table,
                  const Options& options) {
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
    if (options.json) {
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
                const Options& options) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto time_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
    if (!options.json) {
        output.line() += fmt::format("[{}.{:03}] change in {:.3f} s", time_ns / 1'000'000'000,
                                     time_ns % 1'000'000'000 / 1'000'000, seconds);
        output.end_line();
    }
    for (const CpuStats& cpu : change) {
        if (options.json) {
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

void sleep_until(Clock::time_point wake) {
    while (interrupted == 0 && Clock::now() < wake) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(wake - Clock::now());
        usleep(static_cast<useconds_t>(std::min<std::int64_t>(left.count(), 100) * 1000));
    }
}

// Changes over each interval, until interrupted or --count or --duration is reached.
int follow_stats(const Options& options, std::vector<CpuStats> before, Output& output) {
    const auto start = Clock::now();
    auto sampled = start;
    for (std::uint64_t round = 1; !options.count || round <= *options.count; ++round) {
        const std::chrono::duration<double> offset(*options.interval_s *
                                                   static_cast<double>(round));
        sleep_until(start + std::chrono::duration_cast<Clock::duration>(offset));
        const auto after = cpu_stats(options.netns);
        if (!after) {
            return complain(after.error());
        }
        const auto now = Clock::now();
        put_deltas(output, delta(before, *after),
                   std::chrono::duration<double>(now - sampled).count(), options);
        const bool over = options.duration_s &&
                          std::chrono::duration<double>(now - start).count() >= *options.duration_s;
        if (interrupted != 0 || over || !output.open()) {
            break;
        }
        before = *after;
        sampled = now;
    }
    return output.exit_code(kDone);
}

int run_stats(const Options& options) {
    catch_signals();
    const auto stats = cpu_stats(options.netns);
    if (!stats) {
        return complain(stats.error());
    }
    const auto table = table_size(options.netns);
    if (!table) {
        return complain(table.error());
    }
    Output output;
    for (const CpuStats& cpu : *stats) {
        if (options.json) {
            output.line() += json(cpu).dump();
        } else {
            append_text(output.line(), cpu);
        }
        output.end_line();
    }
    put_meanings(output, *stats, *table, options);
    output.flush();
    return options.interval_s ? follow_stats(options, *stats, output) : output.exit_code(kDone);
}

void add_common(CLI::App& app, Options& options) {
    app.add_option("--netns", options.netns,
                   "network namespace by its name in 'ip netns' (default: this one)");
    app.add_flag("--json", options.json, "one JSON object a line");
}

void add_filtering(CLI::App& app, Options& options) {
    app.add_option("filter", options.words, "filter words, see below");
    app.add_option("-o,--output", options.columns,
                   "more columns: id, extended, ktimestamp, timestamp, labels")
        ->delimiter(',')
        ->allow_extra_args(false);
    app.footer(filter_help());
}

void add_limits(CLI::App& app, Options& options, const std::string& counted) {
    app.add_option("--duration", options.duration_s, "end after so many seconds")
        ->check(CLI::PositiveNumber);
    app.add_option("--count", options.count, "end after so many " + counted)
        ->check(CLI::PositiveNumber);
}

}  // namespace

void add_inspect(CLI::App& app, Command& chosen) {
    const auto options = std::make_shared<Options>();
    CLI::App* inspect = app.add_subcommand(
        "inspect", "conntrack entries, events and counters of a network namespace");
    inspect->require_subcommand(1);

    CLI::App* dump_app =
        inspect->add_subcommand("dump", "every entry of the table, as 'conntrack -L'");
    add_common(*dump_app, *options);
    add_filtering(*dump_app, *options);
    dump_app->callback([&chosen, options] { chosen = [options] { return run_dump(*options); }; });

    CLI::App* watch_app =
        inspect->add_subcommand("watch", "events as they happen, as 'conntrack -E'");
    add_common(*watch_app, *options);
    add_filtering(*watch_app, *options);
    add_limits(*watch_app, *options, "events");
    watch_app->callback([&chosen, options] { chosen = [options] { return run_watch(*options); }; });

    CLI::App* stats_app =
        inspect->add_subcommand("stats", "counters of each CPU and what they mean on this kernel");
    add_common(*stats_app, *options);
    add_limits(*stats_app, *options, "intervals");
    CLI::Option* interval = stats_app
                                ->add_option("--interval", options->interval_s,
                                             "then print the changes every so many seconds")
                                ->check(CLI::PositiveNumber);
    stats_app->get_option("--duration")->needs(interval);
    stats_app->get_option("--count")->needs(interval);
    stats_app->callback([&chosen, options] { chosen = [options] { return run_stats(*options); }; });
}

}  // namespace pathproof::cli
