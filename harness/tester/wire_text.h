// A wire's report for people and for scripts.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "dataplane/port/port.h"
#include "dataplane/softnic/wire.h"

namespace pathproof::tester {

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
