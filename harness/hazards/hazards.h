// Known hazards in what was read of a host: of each the rule, device or sysctl that has it, the
// scenario that shows it, and the remedy with its side effect. Pure: facts in, hazards out.
#pragma once

#include <string>
#include <vector>

#include "harness/hazards/facts.h"

namespace pathproof::hazards {

struct Evidence {
    std::string where;  // "nat POSTROUTING rule 2, ip, iptables (nf_tables)", "device flannel.1"
    std::string text;   // the rule as its program prints it, or what was read
    bool operator==(const Evidence&) const = default;
};

struct Hazard {
    std::string id;        // "snat-race"
    std::string scenario;  // of `pathproof repro`; empty: none shows it
    std::string what;      // one sentence
    std::vector<Evidence> evidence;
    std::string remedy;
    std::string side_effect;  // of the remedy
    // The harm that the kernel has counted, as a sentence; empty: none is counted.
    std::string harm = "";
    // It fails whenever it is used, not only at times.
    bool severe = false;
};

struct Findings {
    std::vector<Hazard> hazards;
    // Facts that could not be read, and conclusions that could not be drawn without them.
    std::vector<Unread> unread;
};

// Ordered: counted harm first, then what is severe.
Findings find_hazards(const Facts& facts);

// Ids of all that are looked for.
std::vector<std::string> known_hazards();

}  // namespace pathproof::hazards
