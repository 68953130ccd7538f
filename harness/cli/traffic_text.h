// The figures of the generator and of the responder, for people and for scripts.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "dataplane/port/port.h"
#include "dataplane/traffic/respond_run.h"
#include "dataplane/traffic/stream_run.h"

namespace pathproof::cli {

std::string stream_table(const traffic::StreamReport& report, const port::PortInfo& port);
// {"port", "driver", "evidence", "partial", "planned", "sent", "refused", "late", "seconds",
//  "queries_per_second", "answers": {"answered", "late", "wrong_source", "wrong", "none",
//  "further"}, "latency_us": {"min", "p50", "p99", "max"}, "received": {...}, "checksums":
//  {"plain.udp": {...}}, "objections"}
nlohmann::json stream_json(const traffic::StreamReport& report, const port::PortInfo& port);

std::string respond_table(const traffic::RespondReport& report, const port::PortInfo& port);
// {"port", "driver", "evidence", "seconds", "queries": {"received", "answered", "in_place",
// "lost_on_purpose", "no_room", "not_sent", "waiting"}, "reflected": {"sent", "not_sent"},
// "received": {...}, "received_by_lcore": [...], "checksums": {...}, "objections"}
nlohmann::json respond_json(const traffic::RespondReport& report, const port::PortInfo& port);

}  // namespace pathproof::cli
