// Following a namespace's connection tracking: events, counters, clashes, backends and drops, kept
// up to date by a thread of its own.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "dataplane/base/result.h"
#include "harness/monitor/snapshot.h"
#include "harness/netfilter/filter.h"

namespace pathproof::monitor {

enum class Part { kLeave, kFollow };

// The way in which packets of backends are counted: flows alone do not tell a backend that has fallen
// silent within one of them.
enum class Packets {
    kEntries,  // by conntrack's counters, where they are on (nf_conntrack_acct)
    kDevices,  // by a packet socket, which costs the kernel a copy of each packet's head
};

struct MonitorOptions {
    std::string netns;  // empty: the caller's
    // Flows that count as events, services and clashes; counters and drops are the namespace's.
    netfilter::Filter filter;
    std::chrono::milliseconds counters_every{1000};
    Part drops = Part::kLeave;  // the tracepoint costs the machine something for each drop
    // Also destinations that nothing translates, as services with themselves as backend.
    Part untranslated = Part::kLeave;
    Packets packets = Packets::kEntries;
    BackendRules rules;
};

class Monitor {
  public:
    // Reads the table once, for the backends of flows that are there already. Errors: those of
    // netfilter::EventListener::start(). Refusals and drops that cannot be followed are no error:
    // the snapshot says why.
    static Result<std::unique_ptr<Monitor>> start(const MonitorOptions& options);
    virtual ~Monitor() = default;

    // Sets the pods whose flows are counted from now on (PodTable::know). May be called from any
    // thread.
    virtual void know_pods(KnownPods known) = 0;

    // May be called from any thread; waits for at most a batch of events to be taken in.
    virtual Snapshot snapshot() = 0;
};

}  // namespace pathproof::monitor
