// pathproof inspect watch: events as they happen.
#include <CLI/CLI.hpp>
#include <algorithm>

#include "harness/cli/inspect/commands.h"
#include "harness/cli/inspect/output.h"
#include "harness/cli/inspect/printer.h"
#include "harness/netfilter/filter.h"
#include "harness/netfilter/watcher.h"
#include "harness/process/log.h"

namespace pathproof::cli::inspect {
namespace {

using namespace netfilter;
using Clock = std::chrono::steady_clock;

struct WatchCommand {
    CommonOptions common;
    std::vector<std::string> words;
    PrintOptions print;
    Limits limits;
    std::vector<std::string> kinds;
    std::size_t buffer_bytes = WatchOptions{}.receive_buffer_bytes;
    bool no_state = false;
};

Result<EventKinds> parse_kinds(const std::vector<std::string>& words) {
    if (words.empty()) {
        return EventKinds{};
    }
    EventKinds kinds{.created = false, .updated = false, .destroyed = false};
    for (const std::string& word : words) {
        if (word == "new") {
            kinds.created = true;
        } else if (word == "update") {
            kinds.updated = true;
        } else if (word == "destroy") {
            kinds.destroyed = true;
        } else {
            return fail(ErrorCode::kBadInput, "--events '{}': allowed are new, update, destroy",
                        word);
        }
    }
    return kinds;
}

// Prints events until it has been enough.
class Watch {
  public:
    Watch(const WatchCommand& command, const Printer& printer)
        : command_(command), printer_(printer) {}

    Result<int> run(Watcher& watcher) {
        printer_.put_header(output_);
        while (!finished()) {
            const auto polled = watcher.poll(wait(), sink_);
            output_.flush();
            TRY(polled);
        }
        return end(watcher);
    }

  private:
    bool enough() const { return command_.limits.count && shown_ >= *command_.limits.count; }

    bool finished() const {
        return process::stopping() || !output_.open() || enough() || Clock::now() >= deadline_;
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
        printer_.put(output_, event);
        ++shown_;
    }

    void show(const Gap& gap) {
        printer_.put(output_, gap);
        output_.flush();
        if (gap.stage == Gap::Stage::kNoticed) {
            fmt::print(stderr,
                       "pathproof: events were lost here: the receive buffer overran (ENOBUFS); "
                       "the table is read again\n");
        } else if (gap.stage == Gap::Stage::kOpen) {
            fmt::print(stderr, "pathproof: gap {} could not be closed: {}\n", gap.number,
                       gap.problem);
        }
    }

    // Shows also the events that had come in before the end.
    Result<int> end(Watcher& watcher) {
        const auto finished = watcher.finish(sink_);
        const WatchTotals& totals = watcher.totals();
        printer_.put_summary(output_, totals);
        output_.flush();
        TRY(finished);
        fmt::print(stderr,
                   "pathproof: {} events shown, {} overruns: {} NEW, {} UPDATE, {} DESTROY\n",
                   shown_, totals.overruns, totals.shown.created, totals.shown.updated,
                   totals.shown.destroyed);
        if (totals.gaps > 0) {
            fmt::print(stderr,
                       "pathproof: {} gaps, {} of them not closed; missed events found: {} NEW, {} "
                       "UPDATE, {} DESTROY\n",
                       totals.gaps, totals.gaps_open, totals.missed.created, totals.missed.updated,
                       totals.missed.destroyed);
        }
        if (totals.unreadable > 0) {
            fmt::print(stderr, "pathproof: {} messages of the kernel could not be read as events\n",
                       totals.unreadable);
        }
        return totals.overruns + totals.unreadable > 0 ? kIncomplete : kDone;
    }

    const WatchCommand& command_;
    const Printer& printer_;
    const Clock::time_point deadline_ = command_.limits.deadline();
    const WatchSink sink_{.event = [this](const Event& event) { show(event); },
                          .gap = [this](const Gap& gap) { show(gap); }};
    Output output_;
    std::uint64_t shown_ = 0;
};

Result<int> run_watch(const WatchCommand& command) {
    const auto filter = TRY(parse_filter(command.words));
    const auto kinds = TRY(parse_kinds(command.kinds));
    const auto printer =
        TRY(Printer::make(CsvFormat::Rows::kEvents, command.common, command.print));
    process::stop_on_signals();
    auto watcher = TRY(Watcher::start(
        {.netns = command.common.netns,
         .filter = filter,
         .kinds = kinds,
         .receive_buffer_bytes = command.buffer_bytes,
         .state = command.no_state ? WatchOptions::State::kNone : WatchOptions::State::kKeep}));
    fmt::print(stderr, "pathproof: listening with a receive buffer of {} KiB\n",
               watcher->receive_buffer_bytes() / 1024);
    if (const std::string& unheard = watcher->unheard(); !unheard.empty()) {
        process::log(unheard);
    }
    return Watch(command, printer).run(*watcher);
}

}  // namespace

void add_watch(CLI::App& inspect, Command& chosen) {
    CLI::App* app = inspect.add_subcommand(
        "watch", "Events as they happen, as 'conntrack -E'; lost ones are found again");
    const auto command = options_for<WatchCommand>(*app, chosen, run_watch);
    add_common(*app, command->common);
    add_filter_words(*app, command->words);
    add_print_options(*app, command->print);
    add_limits(*app, command->limits, "events");
    app->add_option("--events", command->kinds, "only these: new, update, destroy")
        ->delimiter(',')
        ->allow_extra_args(false);
    app->add_option(
           "--buffer-size", command->buffer_bytes,
           "bytes of the kernel's receive buffer (default 64 MiB; the kernel takes twice as much)")
        ->check(CLI::Range(std::size_t{2048}, std::size_t{1} << 30));
    app->add_flag(
        "--no-state", command->no_state,
        "keep no state of the table: gaps are marked, what was lost in them is not found");
}

}  // namespace pathproof::cli::inspect
