// Snapshots of namespaces as metrics.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "harness/metrics/exposition.h"
#include "harness/monitor/snapshot.h"

namespace pathproof::metrics {

struct TextOptions {
    Dialect dialect = Dialect::kOpenMetrics;
    // Backends of a namespace that get metrics of their own, those with most flows first; a client
    // of many addresses must not grow the text without end. The others are counted.
    std::size_t most_backends = 200;
    // Pods of a namespace that get metrics of their own, those with most flows first.
    std::size_t most_pods = 500;
};

// The metrics of catalogue.h for one snapshot of each namespace.
std::string to_text(std::span<const monitor::Snapshot> snapshots, const TextOptions& options);

}  // namespace pathproof::metrics
