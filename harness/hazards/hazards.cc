#include "harness/hazards/hazards.h"

#include <utility>

#include "harness/hazards/kinds.h"

namespace pathproof::hazards {
namespace {

struct Kind {
    const char* id;
    Hazard (*look)(Host& host);
};

// One that changes nothing.
template <Hazard (*kLook)(const Host&)>
Hazard look(Host& host) {
    return kLook(host);
}

constexpr Kind kKnownHazards[] = {
    {"snat-race", look<plain_masquerade>},
    {"snat-timestamps", look<random_masquerade>},
    {"invalid-rst", look<invalid_forwarded>},
    {"bridge-unnat", look<bridge_passes_by>},
    {"pmtu-blackhole", look<tunnel_mtu>},
    {"rp-filter", look<strict_reverse_path>},
    {"vxlan-checksum", outer_nat},
    {"hairpin-accept", look<accept_before_kube>},
    {"hairpin-mode", look<hairpin_mode>},
    {"dns-race", look<drawn_udp>},
    {"notrack-accept", look<untracked_dropped>},
};

}  // namespace

Findings find_hazards(const Facts& facts) {
    Host host(facts);
    Findings findings;
    for (const Kind& kind : kKnownHazards) {
        Hazard hazard = kind.look(host);
        if (!hazard.evidence.empty()) {
            hazard.id = kind.id;
            findings.hazards.push_back(std::move(hazard));
        }
    }
    findings.unread = std::move(host.unread);
    return findings;
}

std::vector<std::string> known_hazards() {
    std::vector<std::string> ids;
    for (const Kind& kind : kKnownHazards) {
        ids.emplace_back(kind.id);
    }
    return ids;
}

}  // namespace pathproof::hazards
