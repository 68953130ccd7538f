// pathproof inspect watch: events as they happen.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/cli/inspect/columns.h"
#include "harness/cli/inspect/commands.h"
#include "harness/cli/inspect/output.h"
#include "harness/netfilter/events.h"

namespace pathproof::cli::inspect {
namespace {

using namespace netfilter;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

struct WatchOptions {
    CommonOptions common;
    std::vector<std::string> words;
    std::vector<std::string> columns;
    Limits limits;
};

// Prints events until it has been enough.
class Watch {
  public:
    Watch(const WatchOptions& options, const TextOptions& text) : options_(options), text_(text) {}

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
    bool enough() const { return options_.limits.count && shown_ >= *options_.limits.count; }

    bool finished() const {
        return interrupted() || !output_.open() || enough() || Clock::now() >= deadline_;
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
        put(output_, event, text_, options_.common.format());
        ++shown_;
    }

    void show(const Overrun& overrun) {
        output_.flush();
        fmt::print(
            stderr,
            "pathproof: events were lost here: the receive buffer overran (ENOBUFS), {} so far\n",
            overrun.total);
        if (options_.common.json) {
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

    const WatchOptions& options_;
    const TextOptions& text_;
    const Clock::time_point deadline_ = options_.limits.deadline();
    Output output_;
    std::uint64_t shown_ = 0;
};

int run_watch(const WatchOptions& options) {
    const auto filter = parse_filter(options.words);
    if (!filter) {
        return complain(filter.error());
    }
    const auto columns = parse_columns(options.columns);
    if (!columns) {
        return complain(columns.error());
    }
    catch_signals();
    auto listener = EventListener::start({.netns = options.common.netns, .filter = *filter});
    if (!listener) {
        return complain(listener.error());
    }
    fmt::print(stderr, "pathproof: listening with a receive buffer of {} KiB\n",
               (*listener)->receive_buffer_bytes() / 1024);
    return Watch(options, columns->text).run(**listener);
}

}  // namespace

void add_watch(CLI::App& inspect, Command& chosen) {
    const auto options = std::make_shared<WatchOptions>();
    CLI::App* app = inspect.add_subcommand("watch", "events as they happen, as 'conntrack -E'");
    add_common(*app, options->common);
    add_filter_words(*app, options->words);
    add_columns(*app, options->columns);
    add_limits(*app, options->limits, "events");
    app->callback([&chosen, options] { chosen = [options] { return run_watch(*options); }; });
}

}  // namespace pathproof::cli::inspect
