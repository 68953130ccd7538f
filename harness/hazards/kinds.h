// One function for each hazard that is known. Without evidence: the host does not have it.
#pragma once

#include "harness/hazards/host.h"

namespace pathproof::hazards {

// nat_hazards.cc
Hazard plain_masquerade(Host& host);
Hazard random_masquerade(Host& host);
Hazard drawn_udp(Host& host);
// tunnel_hazards.cc
Hazard tunnel_mtu(Host& host);
Hazard outer_nat(Host& host);
// bridge_hazards.cc
Hazard bridge_passes_by(Host& host);
Hazard hairpin_mode(Host& host);
Hazard accept_before_kube(Host& host);
// drop_hazards.cc
Hazard invalid_forwarded(Host& host);
Hazard strict_reverse_path(Host& host);
Hazard untracked_dropped(Host& host);
// plain_hazards.cc
Hazard forward_dropped(Host& host);
Hazard two_forms(Host& host);
Hazard shadowed_dnat(Host& host);
Hazard dead_dnat(Host& host);
Hazard bridge_mac(Host& host);
Hazard lost_ra_route(Host& host);
Hazard missing_helper(Host& host);
Hazard unmirrored_zone(Host& host);
Hazard whole_mark(Host& host);
// address_hazards.cc
Hazard gone_neighbour(Host& host);
Hazard leaked_lease(Host& host);

}  // namespace pathproof::hazards
