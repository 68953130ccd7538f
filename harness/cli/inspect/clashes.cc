// pathproof inspect clashes: the hidden entries of resolved clashes, what became of them, and the
// answers that came too late.
#include "harness/netfilter/clashes.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "dataplane/base/clock.h"
#include "harness/cli/inspect/commands.h"
#include "harness/cli/inspect/output.h"
#include "harness/message/archive.h"
#include "harness/message/fields.h"
#include "harness/monitor/clash_balance.h"
#include "harness/netfilter/dump.h"
#include "harness/netfilter/filter.h"
#include "harness/netfilter/names.h"
#include "harness/netfilter/watcher.h"

namespace pathproof::netfilter {

FIELDS(ClashCounts, hidden, answered, unanswered, open, without_winner, late_answers,
       late_after_a_clash)

}  // namespace pathproof::netfilter

namespace pathproof::cli::inspect {
namespace {

using namespace netfilter;
using namespace std::chrono_literals;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

// A hidden entry lives for one second; then reading the table makes the kernel let go of it.
constexpr auto kHiddenLife = 1100ms;

struct ClashOptions {
    CommonOptions common;
    std::vector<std::string> words;
    Limits limits;
};

std::string tuple_text(const Tuple& tuple) {
    return fmt::format("{} > {}", frame::to_string(tuple.source),
                       frame::to_string(tuple.destination));
}

const char* fate_text(Clash::Fate fate) {
    switch (fate) {
        case Clash::Fate::kAnswered: return "answered in time";
        case Clash::Fate::kUnanswered: return "expired unanswered";
        case Clash::Fate::kOpen: return "open";
    }
    return "open";
}

std::string clash_text(const Clash& clash, std::int64_t time_ns) {
    std::string text =
        fmt::format("{} clash {} {}: {} {}, hidden {}", time_text(time_ns), clash.number,
                    fate_text(clash.fate), protocol_name(clash.hidden.original.protocol),
                    tuple_text(clash.hidden.original), tuple_text(clash.hidden.reply));
    text += clash.winner ? ", winner " + tuple_text(clash.winner->reply) : ", winner not seen";
    return text;
}

std::string late_text(const LateAnswer& late) {
    std::string text = fmt::format("{} late answer {}: {} {}, ", time_text(late.event.time_ns),
                                   late.number, protocol_name(late.event.entry.original.protocol),
                                   tuple_text(late.event.entry.original));
    return text + (late.clash ? fmt::format("to clash {}", *late.clash)
                              : "to the flow " + tuple_text(late.known->original));
}

json to_json(const Clash& clash) {
    json line{{"number", clash.number},
              {"fate", name(clash.fate)},
              {"hidden", clash.hidden},
              {"found_ns", clash.found_ns}};
    line["winner"] = clash.winner ? json(*clash.winner) : json();
    line["winner_ns"] = clash.winner_ns ? json(*clash.winner_ns) : json();
    line["answered_ns"] = clash.answered_ns ? json(*clash.answered_ns) : json();
    line["destroyed_ns"] = clash.destroyed_ns ? json(*clash.destroyed_ns) : json();
    return line;
}

json to_json(const LateAnswer& late) {
    json line{{"number", late.number}, {"time_ns", late.event.time_ns}, {"flow", late.event.entry}};
    line["clash"] = late.clash ? json(*late.clash) : json();
    line["known"] = late.known ? json(*late.known) : json();
    return line;
}

json to_json(const monitor::ClashBalance& balance) {
    return {{"clash_resolve", balance.resolved_known ? json(balance.resolved) : json()},
            {"hidden", balance.hidden},
            {"hidden_before", balance.hidden_before},
            {"merged",
             balance.resolved_known && balance.overruns == 0 ? json(balance.merged()) : json()},
            {"agree", balance.agree()},
            {"entries", balance.entries},
            {"listed", balance.listed},
            {"hidden_gone_later", balance.hidden_gone_later}};
}

// Listens, shows what the tracker tells, and compares with the kernel's counters at the end. They
// know no filter: what is compared with them is tracked beside what is shown.
class ClashWatch {
  public:
    ClashWatch(const ClashOptions& options, const Filter& filter)
        : options_(options),
          shown_(sink(), {}, filter),
          all_({.found = [this](const Clash& clash) { counter_.found(clash); },
                .settled = {},
                .destroyed = [this](const Clash& clash) { counter_.destroyed(clash); },
                .late_answer = {}}),
          counter_(realtime_ns()) {}

    Result<int> run() {
        // The counters are read before listening begins and after the time has ended: no clash
        // that is found can be missing in them.
        const auto before = TRY(cpu_stats(options_.common.netns));
        watcher_ = TRY(netfilter::Watcher::start({.netns = options_.common.netns}));
        fmt::print(stderr, "pathproof: listening for clashes\n");
        TRY(watch(options_.limits.deadline()));
        auto ended = balance_at_end(before);
        output_.flush();
        const auto balance = TRY(std::move(ended));
        show_summary(balance);
        output_.flush();
        const bool incomplete = balance.overruns > 0 || watcher_->totals().unreadable > 0;
        return incomplete ? kIncomplete : kDone;
    }

  private:
    ClashSink sink() {
        return {.found = [this](const Clash& clash) { fresh_ = clash; },
                .settled =
                    [this](const Clash& clash) {
                        fresh_.reset();
                        show(clash, clash.answered_ns.value_or(clash.found_ns));
                    },
                .destroyed = {},
                .late_answer = [this](const LateAnswer& late) { show(late); }};
    }

    WatchSink watch_sink() {
        return {.event = [this](const Event& event) { take(event); },
                .gap = [this](const netfilter::Gap& gap) { show(gap); }};
    }

    void take(const Event& event) {
        all_.take(event);
        shown_.take(event);
        // Most clashes are settled by the first event about them: then one line says all.
        if (fresh_) {
            show(*fresh_, event.time_ns);
            fresh_.reset();
        }
    }

    bool enough() const {
        return options_.limits.count && shown_.counts().hidden >= *options_.limits.count;
    }

    Status watch(Clock::time_point deadline) {
        const WatchSink sink = watch_sink();
        while (!process::stopping() && output_.open() && !enough() && Clock::now() < deadline) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
            const auto polled = watcher_->poll(std::clamp(left, 1ms, 100ms), sink);
            output_.flush();
            if (!polled) {
                return polled;
            }
        }
        return {};
    }

    Result<monitor::ClashBalance> balance_at_end(const std::vector<CpuStats>& before) {
        // An entry that goes after this is counted as gone later, and must be among the table's
        // entries.
        TRY(watcher_->catch_up(watch_sink()));
        const auto after = cpu_stats(options_.common.netns);
        counter_.end(realtime_ns());
        if (!after) {
            return pass_on(after.error());
        }
        const auto size = TRY(table_size(options_.common.netns));
        monitor::ClashBalance& balance = counter_.balance;
        balance.resolved = total(delta(before, *after), "clash_resolve");
        balance.resolved_known = after->front().has("clash_resolve");
        balance.entries = size.entries;
        balance.listed = TRY(read_table());
        TRY(let_hidden_ones_go());
        balance.overruns = watcher_->totals().overruns;
        return balance;
    }

    // Returns the number of entries that a dump lists. The kernel lets go of the expired ones on
    // the way (ctnetlink_dump_table), which gives their DESTROY events.
    Result<std::uint64_t> read_table() const {
        const auto read =
            TRY(dump(options_.common.netns, {}, [](const Entry&) { return Next::kContinue; }));
        return read.entries;
    }

    // Unanswered hidden entries are not heard of before they are destroyed.
    Status let_hidden_ones_go() {
        const auto deadline = Clock::now() + kHiddenLife;
        const WatchSink sink = watch_sink();
        while (Clock::now() < deadline && output_.open()) {
            TRY(watcher_->poll(50ms, sink));
        }
        TRY(read_table());
        return watcher_->finish(sink);
    }

    void show(const Clash& clash, std::int64_t time_ns) {
        if (options_.common.json) {
            put_json(output_, {{"clash", to_json(clash)}});
        } else {
            output_.put_line(clash_text(clash, time_ns));
        }
    }

    void show(const LateAnswer& late) {
        if (options_.common.json) {
            put_json(output_, {{"late_answer", to_json(late)}});
        } else {
            output_.put_line(late_text(late));
        }
    }

    void show(const netfilter::Gap& gap) {
        if (gap.stage != netfilter::Gap::Stage::kNoticed) {
            return;
        }
        if (options_.common.json) {
            put_json(output_, {{"gap", {{"from_ns", gap.from_ns}, {"until_ns", gap.until_ns}}}});
        } else {
            output_.put_line(fmt::format(
                "{} events were lost since {}: clash counts are lower bounds from here on",
                time_text(gap.until_ns), time_text(gap.from_ns)));
        }
    }

    void show_summary(const monitor::ClashBalance& balance) {
        const ClashCounts& counts = shown_.counts();
        if (options_.common.json) {
            put_json(output_, {{"summary",
                                {{"counts", message::encode(counts)},
                                 {"balance", to_json(balance)},
                                 {"overruns", balance.overruns},
                                 {"lower_bounds", balance.overruns > 0}}}});
            return;
        }
        output_.put_line(
            fmt::format("{} hidden entries{}: {} answered in time, {} expired unanswered, {} open",
                        counts.hidden, options_.words.empty() ? "" : " matched", counts.answered,
                        counts.unanswered, counts.open));
        output_.put_line(fmt::format("{} late answers, {} of them to these hidden entries",
                                     counts.late_answers, counts.late_after_a_clash));
        for (const std::string& line : explain(balance)) {
            output_.put_line(line);
        }
    }

    const ClashOptions& options_;
    Output output_;
    ClashTracker shown_;
    ClashTracker all_;
    monitor::BalanceCounter counter_;
    std::unique_ptr<netfilter::Watcher> watcher_;
    std::optional<Clash> fresh_;
};

Result<int> run_clashes(const ClashOptions& options) {
    const auto filter = TRY(parse_filter(options.words));
    process::stop_on_signals();
    return ClashWatch(options, filter).run();
}

}  // namespace

void add_clashes(CLI::App& inspect, Command& chosen) {
    CLI::App* app = inspect.add_subcommand(
        "clashes", "Hidden entries of resolved clashes, what became of them, and late answers");
    const auto options = options_for<ClashOptions>(*app, chosen, run_clashes);
    add_common(*app, options->common);
    add_filter_words(*app, options->words);
    add_limits(*app, options->limits, "clashes");
}

}  // namespace pathproof::cli::inspect
