// Listening to conntrack's NEW, UPDATE and DESTROY events.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "dataplane/base/result.h"
#include "harness/netfilter/entry.h"
#include "harness/netfilter/filter.h"

namespace pathproof::netfilter {

struct ListenOptions {
    std::string netns;  // empty: the caller's
    Filter filter;      // protocol and IPv4 addresses are filtered in the kernel too
    // Without them the kernel makes no UPDATE: at high rates half of all events.
    bool updates = true;
    // Asked of the kernel with SO_RCVBUFFORCE; events wait here while the reader is not scheduled.
    std::size_t receive_buffer_bytes = 64u << 20;
    // Size of the backlog that the reader keeps for the consumer. When it is full the reader waits,
    // and the kernel's buffer may overrun: counted, never hidden.
    std::size_t backlog_bytes = 1u << 30;
};

// The socket's buffer overran (ENOBUFS): an unknown number of events is missing at this place of
// the stream. From the first event that does not fit the kernel drops all of them until its queue
// has been read empty (NETLINK_S_CONGESTED), and it tells of it before it gives what it had queued:
// the place is where the reader found the queue empty. Times are CLOCK_REALTIME.
struct Overrun {
    std::int64_t time_ns = 0;   // when we were told
    std::uint64_t total = 0;    // overruns since the start, this one included
    std::int64_t from_ns = 0;   // the last time before that nothing was missing
    std::int64_t until_ns = 0;  // the queue was empty again
};

struct EventSink {
    std::function<void(const Event&)> event;
    std::function<void(const Overrun&)> overrun;
    std::function<void(std::uint64_t)> mark;  // see request_mark()
};

// Listens from the return of start() on. A thread of its own does nothing but drain the socket;
// events are parsed on the thread that asks for them.
class EventListener {
  public:
    static Result<std::unique_ptr<EventListener>> start(const ListenOptions& options);
    virtual ~EventListener() = default;

    // Waits until something has come in or `timeout` has passed, then gives all of it to the sink
    // in order. An error means that the socket failed: nothing more will come.
    virtual Status deliver(std::chrono::milliseconds timeout, const EventSink& sink) = 0;

    // Asks the reader to empty the socket once more and then to put a mark behind everything that
    // it has read: what happened before this call lies before the mark.
    virtual void request_mark(std::uint64_t number) = 0;

    // Takes out of the kernel what is still queued, ends the thread, and gives everything that was
    // not delivered before, filtered.
    virtual Result<EventLog> stop() = 0;
    // As above, but gives the rest to the sink.
    virtual Status stop(const EventSink& sink) = 0;

    virtual std::uint64_t overruns() const = 0;
    virtual std::uint64_t unreadable() const = 0;
    // Buffer size that the kernel granted, as getsockopt(SO_RCVBUF) reports it.
    virtual std::size_t receive_buffer_bytes() const = 0;
};

}  // namespace pathproof::netfilter
