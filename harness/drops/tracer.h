// Listening to the kernel's drops: the tracepoint skb:kfree_skb, read through perf_event_open(2).
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "dataplane/base/result.h"
#include "harness/drops/summary.h"

namespace pathproof::drops {

struct TraceOptions {
    // The namespace whose drops are wanted (empty: the caller's). The tracepoint does not carry it:
    // a small BPF program reads it from the packet's device, socket or route. Where that cannot be
    // loaded all drops of the machine are counted and the summary says why.
    std::string netns;
    Scope scope = Scope::kNamespace;  // kMachine: all namespaces, whatever `netns` says
    // Depth of reading. kPacket also reads what only the packet itself tells: namespace, IP
    // protocol, conntrack entry.
    enum class Detail { kPacket, kEvent } detail = Detail::kPacket;
    // Size of each CPU's buffer, in which events wait for us; rounded up to a power of two.
    std::size_t buffer_bytes = std::size_t{1} << 20;
};

// Counts from the return of start() on. A thread of its own drains the buffers, so that nothing has
// to be called in time.
class DropTracer {
  public:
    // Needs CAP_PERFMON or root (kNotPermitted), a kernel of 5.17 or later with perf events and
    // tracefs (kKernelLacks): each error is one sentence that says what is missing.
    static Result<std::unique_ptr<DropTracer>> start(const TraceOptions& options);
    virtual ~DropTracer() = default;

    // Returns the counts up to now, with all that the kernel has handed over. From any thread.
    virtual DropSummary poll() = 0;
    // Ends the tracing, counts what was still waiting, and gives the final figures.
    virtual DropSummary stop() = 0;
};

}  // namespace pathproof::drops
