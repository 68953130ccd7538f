// pathproof inspect why: how the entry of one flow came and went, or why there is none.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "dataplane/base/clock.h"
#include "harness/cli/generate/number_checks.h"
#include "harness/cli/inspect/commands.h"
#include "harness/cli/inspect/output.h"
#include "harness/drops/tracer.h"
#include "harness/monitor/flow_story.h"
#include "harness/monitor/flow_tap.h"
#include "harness/netfilter/lookup.h"
#include "harness/netfilter/planted.h"
#include "harness/netfilter/stats.h"
#include "harness/netfilter/text.h"
#include "harness/netfilter/unheard_flows.h"
#include "harness/netfilter/watcher.h"

namespace pathproof::cli::inspect {
namespace {

using namespace netfilter;
using namespace std::chrono_literals;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr auto kLookEvery = 100ms;

struct WhyOptions {
    CommonOptions common;
    std::vector<std::string> words;
    std::optional<double> duration_s;
    std::uint16_t zone = 0;
};

class Why {
  public:
    Why(const WhyOptions& options, const Tuple& tuple) : options_(options), tuple_(tuple) {}

    Result<int> run() {
        const Status watched = watch();
        output_.flush();
        TRY(watched);
        const bool counted = tracer_ != nullptr;
        const std::vector<drops::DropCount> dropped =
            counted ? tracer_->stop().counts : std::vector<drops::DropCount>{};
        const auto conclusion = story_->conclude(counted ? &dropped : nullptr, [] {
            const auto& planted = planted_packets();
            return planted && counts_as_known(*planted);
        });
        if (options_.common.json) {
            put_json(output_, {{"answer", monitor::name(conclusion.answer)},
                               {"text", conclusion.text},
                               {"began_then", conclusion.by_one_of}});
        } else {
            output_.put_line(conclusion.text);
        }
        output_.flush();
        return conclusion.answer == monitor::FlowAnswer::kNothingSeen ? kIncomplete : kDone;
    }

  private:
    Status watch() {
        const std::string& netns = options_.common.netns;
        lookup_.emplace(TRY(Lookup::open(netns)));
        auto tap = TRY(monitor::FlowTap::start(netns, tuple_));
        // Of all that is read here only this may be missing: the answer then says so.
        if (auto tracer = drops::DropTracer::start({.netns = netns});
            tracer && (*tracer)->poll().scope == drops::Scope::kNamespace) {
            tracer_ = std::move(*tracer);
        }
        auto watcher = TRY(Watcher::start({.netns = netns, .state = WatchOptions::State::kNone}));
        story_.emplace(tuple_, events_of(netns),
                       [this](const monitor::FlowStep& step) { show(step); });
        TRY(look());
        fmt::print(stderr, "pathproof: watching {} until its entry ends\n", flow_text(tuple_));
        // A packet passes before the event that it causes.
        std::vector<Event> events;
        const WatchSink sink{.event = [&](const Event& event) { events.push_back(event); },
                             .gap = [this](const Gap&) { story_->lost_events(); }};
        const auto deadline = Limits{.duration_s = options_.duration_s, .count = {}}.deadline();
        auto next_look = Clock::now() + kLookEvery;
        while (!process::stopping() && output_.open() && !story_->over() &&
               Clock::now() < deadline) {
            TRY(watcher->poll(10ms, sink));
            tap.drain([this](const monitor::FlowPacket& packet) { story_->take(packet); });
            for (const Event& event : std::exchange(events, {})) {
                story_->take(event);
            }
            if (Clock::now() >= next_look) {
                TRY(look());
                next_look = Clock::now() + kLookEvery;
            }
            output_.flush();
        }
        return look();
    }

    // By the tuple as a packet of either direction has it, before and after translation.
    Status look() {
        monitor::FlowLook look{.time_ns = realtime_ns()};
        look.entry = TRY(lookup_->find(tuple_, options_.zone));
        if (!look.entry) {
            look.entry = TRY(lookup_->find(turned(tuple_), options_.zone));
        }
        const auto stats = TRY(cpu_stats(options_.common.netns));
        look.counters = summed(stats);
        look.table = TRY(table_size(options_.common.netns));
        story_->take(look);
        return {};
    }

    void show(const monitor::FlowStep& step) {
        if (options_.common.json) {
            json line{{"time_ns", step.time_ns}, {"step", step.text}};
            line["entry"] = step.entry ? json(*step.entry) : json();
            put_json(output_, line);
            return;
        }
        output_.line() += time_text(step.time_ns) + " " + step.text;
        if (step.entry) {
            output_.line() += ": ";
            append_text(output_.line(), *step.entry);
        }
        output_.end_line();
    }

    const WhyOptions& options_;
    const Tuple tuple_;
    Output output_;
    std::optional<Lookup> lookup_;
    std::unique_ptr<drops::DropTracer> tracer_;
    std::optional<monitor::FlowStory> story_;
};

Result<int> run_why(const WhyOptions& options) {
    const auto tuple = TRY(parse_flow(options.words));
    process::stop_on_signals();
    return Why(options, tuple).run();
}

}  // namespace

void add_why(CLI::App& inspect, Command& chosen) {
    CLI::App* app = inspect.add_subcommand(
        "why", "How the entry of one flow came and went, or why there is none");
    const auto options = options_for<WhyOptions>(*app, chosen, run_why);
    add_common(*app, options->common);
    app->add_option("flow", options->words,
                    "as one of its packets has it: 'udp 10.0.0.5:40000 10.96.0.10:53', "
                    "'icmp 10.0.0.5 10.0.0.9 id=7'")
        ->required();
    app->add_option("--zone", options->zone, "conntrack zone of the flow (default: none)")
        ->check(CLI::Range(0, 65'535));
    app->add_option("--duration", options->duration_s,
                    "end after so many seconds, although the entry is there, or none came")
        ->check(kAboveZero);
    app->footer("Changes nothing: it listens, asks for one entry, and reads counters.");
}

}  // namespace pathproof::cli::inspect
