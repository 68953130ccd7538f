// Watching a conntrack table: its events, and the state of the table as they leave it. Where events
// were lost the table is read again, and what the lost events must have said is found by comparing
// it with the state.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "dataplane/base/result.h"
#include "harness/netfilter/entry.h"
#include "harness/netfilter/events.h"
#include "harness/netfilter/filter.h"

namespace pathproof::netfilter {

struct EventCounts {
    std::uint64_t created = 0;    // NEW
    std::uint64_t updated = 0;    // UPDATE
    std::uint64_t destroyed = 0;  // DESTROY
    std::uint64_t total() const { return created + updated + destroyed; }
    void count(EventKind kind);
    bool operator==(const EventCounts&) const = default;
};

// A place of the stream where events are missing: the receive buffer overran (ENOBUFS).
struct Gap {
    enum class Stage {
        kNoticed,     // here events are missing; the table is being read again
        kReconciled,  // the missing events that left a trace have been given; the state is right
                      // again
        kOpen,        // it could not be: `problem` says why
    };
    Stage stage = Stage::kNoticed;
    // 1, 2, ...; the same in both stages. Gaps that follow closely are one.
    std::uint64_t number = 0;
    std::int64_t from_ns = 0;   // CLOCK_REALTIME: nothing is missing before...
    std::int64_t until_ns = 0;  // ...and after
    EventCounts missed;         // given as events with Event::missed; in kReconciled only
    // Number of missed ends whose flows were there before watching began: the kernel sends no
    // events about such flows unless nf_conntrack_events is 1, so they may have ended outside the
    // gap as well.
    std::uint64_t missed_unannounced = 0;
    std::string problem;
};

// Missed events come between the two stages of their gap. An entry that came and went inside a gap
// left no trace.
struct WatchSink {
    std::function<void(const Event&)> event;
    std::function<void(const Gap&)> gap;
};

// Kinds of events that the sink is given and the totals count.
struct EventKinds {
    bool created = true;
    bool updated = true;
    bool destroyed = true;
    bool has(EventKind kind) const;
};

struct WatchOptions {
    std::string netns;  // empty: the caller's
    Filter filter;
    EventKinds kinds;
    std::size_t receive_buffer_bytes = 64u << 20;  // as in ListenOptions
    std::size_t backlog_bytes = 1u << 30;
    enum class State {
        kKeep,  // 52 bytes a flow (100 with IPv6) and an index of 4 to 8: gaps are reconciled
        kNone,  // gaps are only marked
    } state = State::kKeep;
};

struct WatchTotals {
    EventCounts shown;   // events given to the sink that came as such
    EventCounts missed;  // events given to the sink that were found by reconciliation
    std::uint64_t gaps = 0;
    std::uint64_t gaps_open = 0;   // not reconciled
    std::uint64_t overruns = 0;    // ENOBUFS
    std::uint64_t unreadable = 0;  // messages that are no conntrack event of a form known to us
};

// Not safe for use by several threads at once; its own threads are inside.
class Watcher {
  public:
    // Listens from its return on; has read the table once unless no state is kept.
    static Result<std::unique_ptr<Watcher>> start(const WatchOptions& options);
    virtual ~Watcher() = default;

    // Waits until something has come in or `timeout` has passed, then gives all of it to the sink
    // in order. Reads the table on this thread after a gap. An error means that the socket failed:
    // nothing more will come.
    virtual Status poll(std::chrono::milliseconds timeout, const WatchSink& sink) = 0;

    // Gives the sink all that happened before this call: the reader lets events gather for some
    // milliseconds, and stamps them when it reads them.
    virtual Status catch_up(const WatchSink& sink) = 0;

    // Reconciles what is open, ends listening, and gives the sink all that came in before.
    virtual Status finish(const WatchSink& sink) = 0;

    virtual const WatchTotals& totals() const = 0;
    // Buffer size that the kernel granted, as getsockopt(SO_RCVBUF) reports it.
    virtual std::size_t receive_buffer_bytes() const = 0;

    // The flows that exist now as far as events and reconciliations say; filtered by what cannot
    // change about a flow (stable_part()). Counters, timestamps and time-outs are not kept.
    virtual std::uint64_t flows() const = 0;
    virtual void each_flow(const std::function<void(const Entry&)>& visit) const = 0;
    // Reports in one sentence which flows cause no event; empty: all cause events.
    virtual const std::string& unheard() const = 0;
};

}  // namespace pathproof::netfilter
