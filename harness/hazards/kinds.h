// One function for each hazard that is known. Without evidence: the host does not have it.
#pragma once

#include "harness/hazards/host.h"

namespace pathproof::hazards {

// nat_hazards.cc
Hazard plain_masquerade(const Host& host);
Hazard random_masquerade(const Host& host);
Hazard drawn_udp(const Host& host);
// tunnel_hazards.cc
Hazard tunnel_mtu(const Host& host);
Hazard outer_nat(Host& host);
// bridge_hazards.cc
Hazard bridge_passes_by(const Host& host);
Hazard hairpin_mode(const Host& host);
Hazard accept_before_kube(const Host& host);
// drop_hazards.cc
Hazard invalid_forwarded(const Host& host);
Hazard strict_reverse_path(const Host& host);
Hazard untracked_dropped(const Host& host);

}  // namespace pathproof::hazards
