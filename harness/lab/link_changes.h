// Changes of links, addresses, neighbours and routes with the commands that undo them, and of sysctls that a kernel may
// not have: what a lab has a DUT's agent change (agent/host_change.h).
#pragma once

#include <array>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"
#include "harness/agent/client.h"
#include "harness/agent/host_change.h"
#include "harness/lab/topology.h"
#include "harness/setting/setting.h"

namespace pathproof::lab {

// A command of ip(8) and the one that undoes it. Both name the device by "dev".
agent::HostChange ip_change(
    const std::string& device, std::string command, std::string undo,
    agent::HostChange::Allowed allowed = agent::HostChange::Allowed::kNothing);
// `prefix`: "198.18.0.1/24". One that the device has already stays.
agent::HostChange address_change(const std::string& device, const std::string& prefix);
// A permanent one.
agent::HostChange neighbour_change(const std::string& device, const frame::IpAddress& who,
                                   const frame::MacAddress& mac);
// `options`: "onlink".
agent::HostChange route_change(const std::string& device, const std::string& network,
                               const frame::IpAddress& by, const std::string& options = "");
agent::HostChange sysctl_change(std::string name, std::string value);

// The commands of a plan (topology.h) as changes, each with the one that undoes it; `device` is there before them. Knows
// "link add", "link set", "address add", "neigh replace" and "route add" or "replace".
std::vector<agent::HostChange> as_changes(const std::string& commands, const std::string& device);

// All commands of a host's part of a topology, its loopback first, as one change that one `ip -batch -` carries out: for
// a host of the lab's own. Undone is the loopback's address alone, which is seen to be gone; the rest goes with the namespace.
setting::Setting links_of(const TopologyHost& host);

// A tester in the place of a NIC takes frames, not super-frames: without these, TCP hands veth up
// to 64 KiB at once. They are switched off by their own names because "tx off" takes TSO with it
// and "tx on" brings it back, unless it was itself asked to be off (netdev_fix_features keeps what
// was asked for in wanted_features): so a scenario may toggle "tx" freely, and TSO stays off.
// Tunnelled TCP is a super-frame of type TCPv4 too, and needs TSO as well as
// tx-udp_tnl-segmentation (net_gso_ok compares all bits of the type).
inline constexpr std::array kSuperFrameWords{"tso", "gso", "tx-udp-segmentation"};
Settings no_super_frames(HostRole host, const std::string& device);

// Lists the changes that switch off what a virtual device would leave to its receiver: a DPDK port, or a wire
// behind it, takes frames as they are. Empty for hardware, which does it. `features`: parts of the features'
// names.
Result<std::vector<agent::HostChange>> off_for_virtual(agent::Client& host,
                                                       const std::string& device,
                                                       const std::vector<std::string>& features);

}  // namespace pathproof::lab
