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
// How long catch_up() and finish() wait for the reader's mark.
constexpr auto kLastMark = 5s;

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

struct Watcher::Impl {
    Impl(const WatchOptions& wanted, std::unique_ptr<EventListener> started)
        : options(wanted), stable(stable_part(wanted.filter)), listener(std::move(started)) {}

    Status read_initial() {
        if (options.state == WatchOptions::State::kNone) {
            return {};
        }
        TRY(dump(options.netns, stable, [&](const Entry& entry) {
            reconciler.initial(entry);
            return Next::kContinue;
        }));
        listener->request_mark(kInitialMark);
        return {};
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
        if (options.state == WatchOptions::State::kKeep) {
            note_overruns();
            reconciler.event(event, missed_sink(sink));
        }
        if (ends ? wanted_before : wanted(event)) {
            totals.shown.count(event.kind);
            sink.event(event);
        }
    }

    // The place of a gap comes a few events later than its beginning may be.
    void note_overruns() {
        if (listener->overruns() != told_overruns) {
            reconciler.gap();
        }
    }

    bool wanted(const Event& event) {
        if (!options.kinds.has(event.kind)) {
            return false;
        }
        return matches(options.filter, event.entry) || (by_details && matches_state(event.entry));
    }

    // An event has the protocol's state, helper and labels only when they have changed
    // (ctnetlink_conntrack_event): the state of the table has them.
    bool matches_state(const Entry& entry) {
        const Flow* flow = reconciler.flows().find(entry);
        if (flow == nullptr) {
            return false;
        }
        Entry known = reconciler.flows().entry(*flow);
        known.mark = entry.mark;
        known.status = entry.status;
        return matches(options.filter, known);
    }

    void on_missed(const Reconciler::Missed& missed, const WatchSink& sink) {
        if (!options.kinds.has(missed.kind) || !matches(options.filter, missed.entry)) {
            return;
        }
        totals.missed.count(missed.kind);
        if (gap) {
            gap->missed.count(missed.kind);
            gap->missed_unannounced += missed.unannounced ? 1 : 0;
        }
        Event event;
        event.kind = missed.kind;
        event.time_ns = realtime_ns();
        event.entry = missed.entry;
        event.missed = true;
        sink.event(event);
    }

    void on_overrun(const Overrun& overrun, const WatchSink& sink) {
        told_overruns = overrun.total;
        reconciler.gap();
        const bool follows = gap.has_value();
        if (!follows) {
            gap = Gap{.number = ++totals.gaps, .from_ns = overrun.from_ns};
        }
        gap->until_ns = overrun.until_ns;
        if (options.state == WatchOptions::State::kNone) {
            leave_open("no state of the table is kept", sink);
            return;
        }
        if (!follows) {
            sink.gap(*gap);
        }
        table_wanted = true;
    }

    // Behind all that has come, for it may have more gaps: one reading closes them all. What comes
    // later and has a gap of its own needs a reading of its own, be the gap older than this
    // reading: an event between the two may be about a flow whose end was lost, and which this
    // reading never saw.
    void read_table(const WatchSink& sink) {
        table_wanted = false;
        for (int reading = 1; reading <= kReadings; ++reading) {
            reconciler.begin_table();
            const auto read = dump(options.netns, stable, [&](const Entry& entry) {
                reconciler.in_table(entry);
                return Next::kContinue;
            });
            if (!read) {
                leave_open(read.error().message, sink);
                return;
            }
            if (!read->interrupted) {
                reconciler.end_table(Reconciler::Table::kWhole);
                break;
            }
            if (reading == kReadings) {
                reconciler.end_table(Reconciler::Table::kMayLackEntries);
                gap->problem = "the table changed its size while it was read";
            }
        }
        std::this_thread::sleep_for(kEventsLag);
        listener->request_mark(++wanted_mark);
    }

    void on_mark(std::uint64_t number, const WatchSink& sink) {
        reconciler.begin();  // a later mark may have taken the first one's place
        seen_mark = number;
        if (!gap || table_wanted || number != wanted_mark) {
            return;
        }
        reconciler.settle(missed_sink(sink));
        note_overruns();
        gap->stage = gap->problem.empty() ? Gap::Stage::kReconciled : Gap::Stage::kOpen;
        end_gap(sink);
    }

    void leave_open(const std::string& problem, const WatchSink& sink) {
        gap->stage = Gap::Stage::kOpen;
        gap->problem = problem;
        end_gap(sink);
    }

    void end_gap(const WatchSink& sink) {
        totals.gaps_open += gap->stage == Gap::Stage::kOpen ? 1 : 0;
        const Gap ended = *std::exchange(gap, std::nullopt);
        sink.gap(ended);
    }

    void take_counters() {
        totals.overruns = listener->overruns();
        totals.unreadable = listener->unreadable();
    }

    Status poll(std::chrono::milliseconds timeout, const WatchSink& sink) {
        auto delivered = listener->deliver(timeout, sink_for(sink));
        if (delivered && table_wanted) {
            read_table(sink);
        }
        take_counters();
        return delivered;
    }

    Status catch_up(const WatchSink& sink) {
        listener->request_mark(++wanted_mark);
        const auto until = std::chrono::steady_clock::now() + kLastMark;
        Status polled = poll(0ms, sink);
        while (polled && seen_mark < wanted_mark && std::chrono::steady_clock::now() < until) {
            polled = poll(10ms, sink);
        }
        return polled;
    }

    Status finish(const WatchSink& sink) {
        const auto until = std::chrono::steady_clock::now() + kLastMark;
        Status polled = poll(0ms, sink);
        while (polled && gap && std::chrono::steady_clock::now() < until) {
            polled = poll(50ms, sink);
        }
        EventSink last = sink_for(sink);
        last.overrun = [&](const Overrun& overrun) { on_last_overrun(overrun, sink); };
        const Status stopped = listener->stop(last);
        if (gap) {
            leave_open("watching ended", sink);
        }
        take_counters();
        return polled ? stopped : polled;
    }

    void on_last_overrun(const Overrun& overrun, const WatchSink& sink) {
        if (!gap) {
            gap = Gap{.number = ++totals.gaps, .from_ns = overrun.from_ns};
        }
        gap->until_ns = overrun.until_ns;
        leave_open("watching ended", sink);
    }

    const WatchOptions options;
    const Filter stable;
    const bool by_details = !options.filter.state.empty() || !options.filter.helper.empty() ||
                            !options.filter.labels.empty();
    const std::unique_ptr<EventListener> listener;
    Reconciler reconciler;
    WatchTotals totals;
    std::string unheard;
    std::optional<Gap> gap;           // the one that is being reconciled
    bool table_wanted = false;        // to be read for it
    std::uint64_t told_overruns = 0;  // those whose place has come
    std::uint64_t wanted_mark = kInitialMark;
    std::uint64_t seen_mark = kInitialMark;
};

Watcher::Watcher() = default;
Watcher::~Watcher() = default;

Result<std::unique_ptr<Watcher>> Watcher::start(const WatchOptions& options) {
    auto listener = TRY(EventListener::start({.netns = options.netns,
                                              .filter = stable_part(options.filter),
                                              .receive_buffer_bytes = options.receive_buffer_bytes,
                                              .backlog_bytes = options.backlog_bytes}));
    std::unique_ptr<Watcher> watcher(new Watcher());
    watcher->impl_ = std::make_unique<Impl>(options, std::move(listener));
    TRY(watcher->impl_->read_initial());
    watcher->impl_->unheard = unheard_flows(events_of(options.netns), watcher->flows());
    return watcher;
}

Status Watcher::poll(std::chrono::milliseconds timeout, const WatchSink& sink) {
    return impl_->poll(timeout, sink);
}

Status Watcher::catch_up(const WatchSink& sink) {
    return impl_->catch_up(sink);
}

Status Watcher::finish(const WatchSink& sink) {
    return impl_->finish(sink);
}

const WatchTotals& Watcher::totals() const {
    return impl_->totals;
}

std::size_t Watcher::receive_buffer_bytes() const {
    return impl_->listener->receive_buffer_bytes();
}

std::uint64_t Watcher::flows() const {
    return impl_->reconciler.flows().size();
}

const std::string& Watcher::unheard() const {
    return impl_->unheard;
}

void Watcher::each_flow(const std::function<void(const Entry&)>& visit) const {
    FlowTable& flows = impl_->reconciler.flows();
    flows.each([&](const Flow& flow) { visit(flows.entry(flow)); });
}

}  // namespace pathproof::netfilter
