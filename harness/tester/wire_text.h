// A wire's report for people and for scripts.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "dataplane/judge/intake.h"
#include "dataplane/port/port.h"
#include "dataplane/softnic/wire.h"

namespace pathproof::tester {

// Frames by what their checksum of one layer was.
using LayerCounts = judge::ChecksumCounts::value_type;
// A row for people, with `more` at its end, and an object for scripts; empty and null where no
// frame had the layer.
std::string checksum_row(std::size_t layer, const LayerCounts& frames,
                         const std::string& more = "");
nlohmann::json checksum_states(const LayerCounts& frames);

// `ports` are the wire's two, port A first.
//
// Several lines: counts by direction, then the checksums of each layer that was seen, with the name
// of the wrong ones where the kept frames allow just one, then the objections.
std::string wire_table(const softnic::WireReport& report, const std::vector<port::PortInfo>& ports);

// One object: {"wire": "software", "mode", "seconds", "ports", "directions": [{"from", "to",
// "received", ..., "checksums": {"outer.udp": {"good", "bad", "disabled", "unverifiable",
// "name"}}}], "tester_lost", "objections", "partial"}
nlohmann::json wire_summary(const softnic::WireReport& report,
                            const std::vector<port::PortInfo>& ports);

}  // namespace pathproof::tester
