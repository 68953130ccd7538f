// The benchmark of the netfilter inspector beside conntrack(8): dumps, events, and what attaching
// costs the DUT. All of it happens in namespaces of its own, made through the journal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/bench/experiment.h"
#include "harness/bench/rounds.h"
#include "harness/lab/journal.h"

namespace pathproof::bench {

struct InspectBench {
    lab::Journal& journal;
    std::string binary;             // of pathproof
    std::string conntrack_version;  // empty: it is not installed
    std::vector<int> cpus;          // that we may use
    RoundPlan plan;
};

// `conntrack --version`'s first line; empty when it cannot be run.
std::string conntrack_version();

// `entries` in as few tables (namespaces) as net.netfilter.nf_conntrack_max allows, dumped whole:
// our text, conntrack -L, our reader with a consumer that does nothing, and a bare recv loop.
Result<Experiment> bench_dump(const InspectBench& bench, std::uint64_t entries);

struct EventLoad {
    std::uint64_t flows_per_second = 100'000;
    double seconds = 10;
};
// Real packets, each the first of a flow, forwarded by a NAT box: `inspect watch` and `conntrack
// -E` take turns in reading its events.
Result<Experiment> bench_events(const InspectBench& bench, const EventLoad& load);

// Sends the packets of bench_events() as fast as they go, with nothing attached and with each of
// the readers, and measures the rate at which the NAT box forwards them.
Result<Experiment> bench_attach(const InspectBench& bench, std::uint64_t flows);

}  // namespace pathproof::bench
