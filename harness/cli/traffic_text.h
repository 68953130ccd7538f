// The figures of the responder, for people and for scripts.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "dataplane/port/port.h"
#include "dataplane/traffic/respond_run.h"

namespace pathproof::cli {

std::string respond_table(const traffic::RespondReport& report, const port::PortInfo& port);
// {"port", "driver", "evidence", "seconds", "queries": {"received", "answered", "in_place",
// "lost_on_purpose", "no_room", "not_sent", "waiting"}, "reflected": {"sent", "not_sent"},
// "received": {...}, "received_by_lcore": [...], "checksums": {...},
// "driver_counters": what grew of the driver's own, by its names, "objections"}
nlohmann::json respond_json(const traffic::RespondReport& report, const port::PortInfo& port);

}  // namespace pathproof::cli
