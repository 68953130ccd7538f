// Settings of the NAT path that every cell has, or has in another way.
#pragma once

#include <string>

#include "harness/lab/hosts.h"
#include "harness/lab/nat_path.h"
#include "harness/lab/snat.h"
#include "harness/setting/setting.h"

namespace pathproof::lab {

// Returns the values of "$TO_SERVER" and the like.
setting::Names place_names(const NatPathNames& names);

// Chains of the DUT's table nat for services and for what leaves: PATH-SERVICES, PATH-POSTROUTING. They have
// conntrack track flows whatever the other rules are, as the rules of a node do.
setting::Setting path_chains(frame::Family family);

// Translation by the DUT of the source of packets to the server.
struct PathSnat {
    Snat snat = Snat::kMasqueradeRandomFully;
    std::string protocol = "tcp";  // or "udp"
    PortRange ports = {};          // --to-ports
};
setting::Setting masquerade(const NatPathNames& names, const PathSnat& how);

// net.ipv4.ip_local_port_range of the client.
setting::Setting client_ports(const PortRange& ports);
// nf_conntrack_udp_timeout of the DUT, and that of streams.
setting::Setting udp_timeout(unsigned seconds);

// Chains, no translation, the kernel's own timestamps, timeouts of 30 s.
Settings path_defaults(const NatPathNames& names);

// Has conntrack tell of its entries: packet counts, times of birth, events (1, or 2 since Linux 5.19: as
// long as somebody listens).
Result<Settings> watchable(agent::Client& dut, HostRole role = HostRole::kDut);

}  // namespace pathproof::lab
