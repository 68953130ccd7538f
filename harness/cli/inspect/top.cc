// pathproof inspect top: a terminal view of a namespace's connection tracking, to leave running.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>

#include "harness/cli/generate/number_checks.h"
#include "harness/cli/inspect/commands.h"
#include "harness/cli/inspect/findings.h"
#include "harness/cli/inspect/output.h"
#include "harness/cli/inspect/place.h"
#include "harness/cli/seconds.h"
#include "harness/monitor/monitor.h"
#include "harness/netfilter/filter.h"
#include "harness/screen/terminal.h"
#include "harness/screen/view.h"

namespace pathproof::cli::inspect {
namespace {

using Clock = std::chrono::steady_clock;
using Input = screen::Terminal::Input;

// Longest time until a key or a signal is noticed.
constexpr std::chrono::milliseconds kLook{100};

struct TopOptions {
    std::string netns;
    std::vector<std::string> words;
    double interval_s = 1;
    monitor::Part drops = monitor::Part::kFollow;
    monitor::Part untranslated = monitor::Part::kLeave;
    double findings_s = 0;
};

// A terminal that is quit by hand ends us as Ctrl-C does: with the terminal put back.
void catch_terminal_signals() {
    process::stop_on_signals();
    struct sigaction as_interrupt {};
    sigaction(SIGINT, nullptr, &as_interrupt);
    sigaction(SIGQUIT, &as_interrupt, nullptr);
}

// The monitor's threads take no signals: they are for the thread that holds the terminal.
Result<std::unique_ptr<monitor::Monitor>> start_monitor(const monitor::MonitorOptions& options) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    auto monitor = monitor::Monitor::start(options);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return monitor;
}

class Top {
  public:
    Top(monitor::Monitor& monitor, const FindingsWatch& findings, screen::Terminal& terminal,
        Clock::duration interval)
        : monitor_(monitor), findings_(findings), terminal_(terminal), interval_(interval) {}

    void run() {
        while (!process::stopping()) {
            refresh();
            terminal_.draw(screen::view(snapshot_, state_, terminal_.size()));
            if (await_input() == screen::Then::kQuit) {
                return;
            }
        }
    }

  private:
    void refresh() {
        if (is_due()) {
            snapshot_ = monitor_.snapshot();
            snapshot_.findings = findings_.of(snapshot_.netns);
            next_ = Clock::now() + interval_;
        }
    }

    bool is_due() const {
        return state_.refresh == screen::ViewState::Refresh::kLive && Clock::now() >= next_;
    }

    // Until something has to be drawn anew, or the end.
    screen::Then await_input() {
        while (!process::stopping() && !is_due()) {
            const Input input = terminal_.read(wait());
            switch (input.kind) {
                case Input::Kind::kKey: return screen::press(state_, input.key);
                case Input::Kind::kResized: return screen::Then::kGoOn;
                case Input::Kind::kClosed: return screen::Then::kQuit;
                case Input::Kind::kNothing: break;
            }
        }
        return screen::Then::kGoOn;
    }

    std::chrono::milliseconds wait() const {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_ - Clock::now());
        return std::clamp(left, std::chrono::milliseconds(1), kLook);
    }

    monitor::Monitor& monitor_;
    const FindingsWatch& findings_;
    screen::Terminal& terminal_;
    const Clock::duration interval_;
    Clock::time_point next_;
    monitor::Snapshot snapshot_;
    screen::ViewState state_;
};

Result<int> run_top(const TopOptions& options) {
    TRY(screen::Terminal::available());
    const auto filter = TRY(netfilter::parse_filter(options.words));
    const auto interval = std::chrono::duration<double>(options.interval_s);
    catch_terminal_signals();
    const auto monitor =
        TRY(start_monitor({.netns = options.netns,
                           .filter = filter,
                           .counters_every = std::chrono::ceil<std::chrono::milliseconds>(interval),
                           .drops = options.drops,
                           .untranslated = options.untranslated}));
    const FindingsWatch findings({.netns = {options.netns},
                                  .every = nanoseconds_of(options.findings_s),
                                  .drops = options.drops == monitor::Part::kFollow});
    const auto terminal = TRY(screen::Terminal::open());
    Top(*monitor, findings, *terminal, std::chrono::duration_cast<Clock::duration>(interval)).run();
    return kDone;
}

}  // namespace

void add_top(CLI::App& inspect, Command& chosen) {
    CLI::App* app = inspect.add_subcommand(
        "top", "A view of it all for a terminal: table, rates, services, clashes, drops");
    const auto options = options_for<TopOptions>(*app, chosen, run_top);
    app->add_option("--netns", options->netns, fmt::format("network namespace: {}", kPlaceHelp))
        ->transform(named_place());
    app->add_option("--interval", options->interval_s, "seconds between updates (default 1)")
        ->check(number_in(0.1, 3600));
    app->add_flag_callback(
        "--no-drops", [options] { options->drops = monitor::Part::kLeave; },
        "do not follow the kernel's drop tracepoint");
    app->add_flag_callback(
        "--untranslated", [options] { options->untranslated = monitor::Part::kFollow; },
        "also show destinations that no rule translates, as services of their own");
    app->add_option("--findings", options->findings_s,
                    "show the conclusions of 'inspect doctor', asked for every so many seconds "
                    "(default: not)")
        ->check(number_in(5, 86'400));
    add_filter_words(*app, options->words);
}

}  // namespace pathproof::cli::inspect
