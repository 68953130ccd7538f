#include "harness/netfilter/watcher.h"

#include <optional>
#include <thread>
#include <utility>

#include "dataplane/base/clock.h"
#include "harness/netfilter/dump.h"
#include "harness/netfilter/reconcile.h"
#include "harness/netfilter/unheard_flows.h"

namespace pathproof::netfilter {
namespace {

using namespace std::chrono_literals;

// A table that changes its size under the reader is read again, so many times at most.
constexpr int kReadings = 3;
// An entry can be seen in the table shortly before its event is sent (__nf_conntrack_confirm
// inserts first).
constexpr auto kEventsLag = 20ms;
// The mark behind the events that came while the table was read first; those of gaps are 1, 2, ...
constexpr std::uint64_t kInitialMark = 0;
// Time that catch_up() and finish() wait for the reader's mark.
constexpr auto kLastMark = 5s;

class TableWatcher final : public Watcher {
  public:
    TableWatcher(const WatchOptions& options, std::unique_ptr<EventListener> listener)
        : options_(options), listener_(std::move(listener)) {}

    Status read_initial() {
        if (options_.state == WatchOptions::State::kKeep) {
            TRY(dump(options_.netns, stable_, [&](const Entry& entry) {
                reconciler_.initial(entry);
                return Next::kContinue;
            }));
            listener_->request_mark(kInitialMark);
        }
        unheard_ = unheard_flows(events_of(options_.netns), flows());
        return {};
    }

    Status poll(std::chrono::milliseconds timeout, const WatchSink& sink) override {
        auto delivered = listener_->deliver(timeout, sink_for(sink));
        if (delivered && table_wanted_) {
            read_table(sink);
        }
        take_counters();
        return delivered;
    }

    Status catch_up(const WatchSink& sink) override {
        listener_->request_mark(++wanted_mark_);
        return poll_while([this] { return seen_mark_ < wanted_mark_; }, 10ms, sink);
    }

    Status finish(const WatchSink& sink) override {
        const Status polled = poll_while([this] { return gap_.has_value(); }, 50ms, sink);
        EventSink last = sink_for(sink);
        last.overrun = [&](const Overrun& overrun) {
            place_gap(overrun);
            leave_open("watching ended", sink);
        };
        const Status stopped = listener_->stop(last);
        if (gap_) {
            leave_open("watching ended", sink);
        }
        take_counters();
        return polled ? stopped : polled;
    }

    const WatchTotals& totals() const override { return totals_; }
    std::size_t receive_buffer_bytes() const override { return listener_->receive_buffer_bytes(); }
    std::uint64_t flows() const override { return reconciler_.flows().size(); }
    const std::string& unheard() const override { return unheard_; }
    void each_flow(const std::function<void(const Entry&)>& visit) const override {
        const FlowTable& flows = reconciler_.flows();
        flows.each([&](const Flow& flow) { visit(flows.entry(flow)); });
    }

  private:
    // Polls while the condition holds, at most for the time that a mark is waited for.
    template <typename Condition>
    Status poll_while(Condition holds, std::chrono::milliseconds step, const WatchSink& sink) {
        const auto until = std::chrono::steady_clock::now() + kLastMark;
        Status polled = poll(0ms, sink);
        while (polled && holds() && std::chrono::steady_clock::now() < until) {
            polled = poll(step, sink);
        }
        return polled;
    }

    EventSink sink_for(const WatchSink& sink) {
        return {.event = [this, &sink](const Event& event) { on_event(event, sink); },
                .overrun = [this, &sink](const Overrun& overrun) { on_overrun(overrun, sink); },
                .mark = [this, &sink](std::uint64_t number) { on_mark(number, sink); }};
    }

    Reconciler::MissedSink missed_sink(const WatchSink& sink) {
        return [this, &sink](const Reconciler::Missed& missed) { on_missed(missed, sink); };
    }

    void on_event(const Event& event, const WatchSink& sink) {
        // The end of a flow takes it out of the state, a change brings what it changed into it.
        const bool ends = event.kind == EventKind::kDestroy;
        const bool wanted_before = ends && wanted(event);
        if (options_.state == WatchOptions::State::kKeep) {
            note_overruns();
            reconciler_.event(event, missed_sink(sink));
        }
        if (ends ? wanted_before : wanted(event)) {
            totals_.shown.count(event.kind);
            sink.event(event);
        }
    }

    // The place of a gap comes a few events later than its beginning may be.
    void note_overruns() {
        if (listener_->overruns() != told_overruns_) {
            reconciler_.gap();
        }
    }

    bool wanted(const Event& event) {
        if (!options_.kinds.has(event.kind)) {
            return false;
        }
        return matches(options_.filter, event.entry) || (by_details_ && matches_state(event.entry));
    }

    // An event has the protocol's state, helper and labels only when they have changed
    // (ctnetlink_conntrack_event): the state of the table has them.
    bool matches_state(const Entry& entry) {
        const Flow* flow = reconciler_.flows().find(entry);
        if (flow == nullptr) {
            return false;
        }
        Entry known = reconciler_.flows().entry(*flow);
        known.mark = entry.mark;
        known.status = entry.status;
        return matches(options_.filter, known);
    }

    void on_missed(const Reconciler::Missed& missed, const WatchSink& sink) {
        if (!options_.kinds.has(missed.kind) || !matches(options_.filter, missed.entry)) {
            return;
        }
        totals_.missed.count(missed.kind);
        if (gap_) {
            gap_->missed.count(missed.kind);
            gap_->missed_unannounced += missed.unannounced ? 1 : 0;
        }
        Event event;
        event.kind = missed.kind;
        event.time_ns = realtime_ns();
        event.entry = missed.entry;
        event.missed = true;
        sink.event(event);
    }

    void on_overrun(const Overrun& overrun, const WatchSink& sink) {
        told_overruns_ = overrun.total;
        reconciler_.gap();
        const bool follows = gap_.has_value();
        place_gap(overrun);
        if (options_.state == WatchOptions::State::kNone) {
            leave_open("no state of the table is kept", sink);
            return;
        }
        if (!follows) {
            sink.gap(*gap_);
        }
        table_wanted_ = true;
    }

    // A gap that follows closely is one with the gap before.
    void place_gap(const Overrun& overrun) {
        if (!gap_) {
            gap_ = Gap{.number = ++totals_.gaps, .from_ns = overrun.from_ns};
        }
        gap_->until_ns = overrun.until_ns;
    }

    // Behind all that has come, for it may have more gaps: one reading closes them all. What comes
    // later and has a gap of its own needs a reading of its own, be the gap older than this
    // reading: an event between the two may be about a flow whose end was lost, and which this
    // reading never saw.
    void read_table(const WatchSink& sink) {
        table_wanted_ = false;
        for (int reading = 1; reading <= kReadings; ++reading) {
            reconciler_.begin_table();
            const auto read = dump(options_.netns, stable_, [&](const Entry& entry) {
                reconciler_.in_table(entry);
                return Next::kContinue;
            });
            if (!read) {
                leave_open(read.error().message, sink);
                return;
            }
            if (!read->interrupted) {
                reconciler_.end_table(Reconciler::Table::kWhole);
                break;
            }
            if (reading == kReadings) {
                reconciler_.end_table(Reconciler::Table::kMayLackEntries);
                gap_->problem = "the table changed its size while it was read";
            }
        }
        std::this_thread::sleep_for(kEventsLag);
        listener_->request_mark(++wanted_mark_);
    }

    void on_mark(std::uint64_t number, const WatchSink& sink) {
        reconciler_.begin();  // a later mark may have taken the first one's place
        seen_mark_ = number;
        if (!gap_ || table_wanted_ || number != wanted_mark_) {
            return;
        }
        reconciler_.settle(missed_sink(sink));
        note_overruns();
        gap_->stage = gap_->problem.empty() ? Gap::Stage::kReconciled : Gap::Stage::kOpen;
        end_gap(sink);
    }

    void leave_open(const std::string& problem, const WatchSink& sink) {
        gap_->stage = Gap::Stage::kOpen;
        gap_->problem = problem;
        end_gap(sink);
    }

    void end_gap(const WatchSink& sink) {
        totals_.gaps_open += gap_->stage == Gap::Stage::kOpen ? 1 : 0;
        const Gap ended = *std::exchange(gap_, std::nullopt);
        sink.gap(ended);
    }

    void take_counters() {
        totals_.overruns = listener_->overruns();
        totals_.unreadable = listener_->unreadable();
    }

    const WatchOptions options_;
    const Filter stable_ = stable_part(options_.filter);
    const bool by_details_ = !options_.filter.state.empty() || !options_.filter.helper.empty() ||
                             !options_.filter.labels.empty();
    const std::unique_ptr<EventListener> listener_;
    Reconciler reconciler_;
    WatchTotals totals_;
    std::string unheard_;
    std::optional<Gap> gap_;           // the one that is being reconciled
    bool table_wanted_ = false;        // to be read for it
    std::uint64_t told_overruns_ = 0;  // those whose place has come
    std::uint64_t wanted_mark_ = kInitialMark;
    std::uint64_t seen_mark_ = kInitialMark;
};

}  // namespace

void EventCounts::count(EventKind kind) {
    switch (kind) {
        case EventKind::kNew: ++created; return;
        case EventKind::kUpdate: ++updated; return;
        case EventKind::kDestroy: ++destroyed; return;
    }
}

bool EventKinds::has(EventKind kind) const {
    switch (kind) {
        case EventKind::kNew: return created;
        case EventKind::kUpdate: return updated;
        case EventKind::kDestroy: return destroyed;
    }
    return true;
}

Result<std::unique_ptr<Watcher>> Watcher::start(const WatchOptions& options) {
    auto listener = TRY(EventListener::start({.netns = options.netns,
                                              .filter = stable_part(options.filter),
                                              .receive_buffer_bytes = options.receive_buffer_bytes,
                                              .backlog_bytes = options.backlog_bytes}));
    auto watcher = std::make_unique<TableWatcher>(options, std::move(listener));
    TRY(watcher->read_initial());
    return watcher;
}

}  // namespace pathproof::netfilter
