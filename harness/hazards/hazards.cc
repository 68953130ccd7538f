#include "harness/hazards/hazards.h"

#include <algorithm>
#include <utility>

#include "harness/hazards/kinds.h"

namespace pathproof::hazards {
namespace {

struct Kind {
    const char* id;
    Hazard (*look)(Host& host);
};

constexpr Kind kKnownHazards[] = {
    {"snat-race", plain_masquerade},
    {"snat-timestamps", random_masquerade},
    {"invalid-rst", invalid_forwarded},
    {"bridge-unnat", bridge_passes_by},
    {"pmtu-blackhole", tunnel_mtu},
    {"rp-filter", strict_reverse_path},
    {"vxlan-checksum", outer_nat},
    {"hairpin-accept", accept_before_kube},
    {"hairpin-mode", hairpin_mode},
    {"dns-race", drawn_udp},
    {"notrack-accept", untracked_dropped},
    {"forward-drop", forward_dropped},
    {"two-forms", two_forms},
    {"shadowed-dnat", shadowed_dnat},
    {"dead-dnat", dead_dnat},
    {"bridge-mac", bridge_mac},
    {"ra-route", lost_ra_route},
    {"no-helper", missing_helper},
    {"zone-mirror", unmirrored_zone},
    {"whole-mark", whole_mark},
    {"gone-neighbour", gone_neighbour},
    {"lease-leak", leaked_lease},
};

int rank(const Hazard& hazard) {
    if (!hazard.harm.empty()) {
        return 0;
    }
    return hazard.severe ? 1 : 2;
}

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
    std::ranges::stable_sort(findings.hazards, {}, rank);
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
