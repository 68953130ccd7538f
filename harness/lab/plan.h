// What a built-in lab looks like: names, addresses, and the texts that ip-batch and
// iptables-restore are given. Pure functions: nothing here touches the machine.
//
// Addresses: 198.18.0.0/15 (benchmarking, RFC 2544) and the documentation ranges of RFC 5737. MAC
// addresses are locally administered and fixed, so that captures of two runs compare.
#pragma once

#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/lab/nat_path.h"
#include "harness/lab/veth_lab.h"
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
NatBoxNames nat_box_names(const std::string& run_id);
std::vector<std::string> namespaces_of(const OverlayNames& names);
std::vector<std::string> namespaces_of(const NatBoxNames& names);
NatPathNames nat_path_names(const std::string& run_id, frame::Family family = frame::Family::kIpv4);
std::vector<std::string> namespaces_of(const NatPathNames& names);
// 203.0.113.2 and the ones after it.
std::vector<frame::IpAddress> backend_addresses(unsigned count);
// kBadInput, with the range, for a number of backends or a timeout that cannot be.
Status check(const NatBoxOptions& options, const NatBoxNames& names);

// Commands for `ip -batch -`.
struct Script {
    std::string netns;  // empty: ours, outside of the lab's, where links into them are made
    std::string commands;
};
std::string wire_commands(const std::string& one_port, const std::string& other);  // a bridge
std::vector<Script> overlay_scripts(const OverlayNames& names);
// Both nodes' vxlan devices, without the command that deletes the old ones.
std::vector<Script> overlay_vxlans(const OverlayNames& names, const OverlayOptions& options);
// What belongs to one node alone, for an overlay whose other node is elsewhere: the links with the node's pod (of node B
// with the tester's port too, which is in `tester` or, where that is empty, in ours), the node's commands, the pod's,
// the vxlan device's.
struct OverlayNode {
    std::string links, node, pod, vxlan;
};
OverlayNode overlay_node_a(const OverlayNames& names, const OverlayOptions& options);
OverlayNode overlay_node_b(const OverlayNames& names, const OverlayOptions& options);
std::vector<Script> nat_box_scripts(const NatBoxNames& names);
std::string nat_path_links(const NatPathNames& names);
std::vector<Script> nat_path_neighbour_scripts(const NatPathNames& names);
// For links that are there, with names of IPv6 for those that are up: see add_ipv6().
std::vector<Script> nat_path_scripts(const NatPathNames& names);
std::vector<Script> nat_path_shortcut_scripts(const NatPathNames& names);
// Texts for iptables-restore, which replaces each table as a whole.

using setting::table_head;
std::string overlay_rules(const OverlayNames& names, const OverlayOptions& options);
// The same as settings of a node.
setting::Settings overlay_rule_settings(const OverlayNames& names, const OverlayOptions& options);
std::string nat_box_rules(const NatBoxNames& names, const NatBoxOptions& options);

}  // namespace pathproof::lab
