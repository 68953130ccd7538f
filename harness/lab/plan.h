// The built-in labs as data: names, addresses, topologies, and the settings that they have. Pure functions: nothing here
// touches the machine.
//
// Addresses: 198.18.0.0/15 (benchmarking, RFC 2544) and the documentation ranges of RFC 5737. MAC
// addresses are locally administered and fixed, so that captures of two runs compare.
#pragma once

#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/lab/nat_box.h"
#include "harness/lab/nat_path.h"
#include "harness/lab/overlay.h"
#include "harness/lab/topology.h"
#include "harness/setting/setting.h"

namespace pathproof::lab {

inline constexpr unsigned kUnderlayMtu = 1500;
// VXLAN over IPv4 adds 50 bytes: 14 inner Ethernet, 8 VXLAN, 8 UDP, 20 IPv4 (RFC 7348, section 5).
inline constexpr unsigned kOverlayMtu = kUnderlayMtu - 50;
// Clients that come in VXLAN, and by way of whom.
inline constexpr const char* kCarriedClients = "198.19.0.0/16";
inline constexpr const char* kCarriedDut = "198.19.0.1";
inline constexpr const char* kCarriedRouter = "198.19.0.2";
inline constexpr unsigned kMostBackends = 253;  // 203.0.113.2 to .254

OverlayNames overlay_names(const std::string& run_id);
setting::Names place_names(const OverlayNames& names);  // "$TUNNEL", "$UNDERLAY"
Topology overlay_topology(const OverlayNames& names);
// See Overlay.
Settings overlay_tunnel(const OverlayNames& names, bool udp_checksum);
setting::Setting overlay_snat(const OverlayNames& names);

NatBoxNames nat_box_names(const std::string& run_id);
setting::Names place_names(const NatBoxNames& names);  // "$TO_SERVER"
Topology nat_box_topology(const NatBoxNames& names);
// See NatBox.
setting::Setting nat_box_service(const NatBoxNames& names, unsigned backends);
setting::Setting nat_box_snat(const NatBoxNames& names, Snat snat);
// 203.0.113.2 and the ones after it.
std::vector<frame::IpAddress> backend_addresses(unsigned count);

NatPathNames nat_path_names(const std::string& run_id, frame::Family family = frame::Family::kIpv4);
Topology nat_path_topology(const NatPathNames& names);
// Addresses and routes of the three hosts beside those of IPv4.
Settings nat_path_ipv6(const NatPathNames& names6);
// The neighbour, its link with the DUT, and what the DUT does for both to be on one bridge.
Topology nat_path_neighbour(const NatPathNames& names);
Link nat_path_shortcut(const NatPathNames& names);

}  // namespace pathproof::lab
