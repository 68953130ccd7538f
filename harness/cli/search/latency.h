// Latencies at loads, for tables and scripts.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "dataplane/search/latency_at_load.h"

namespace pathproof::cli {

std::string latency_table(const search::LatencyResult& result);
// [{"at", "load_pps", "offered_pps", "trials", "frames", "loss_ratio", "doubtful", "latency_us":
// {...}}]
nlohmann::json latency_json(const search::LatencyResult& result);

}  // namespace pathproof::cli
