// What a machine uses its network devices for, and the refusal to touch one that is needed for
// something else.
#pragma once

#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/lab/lab_file.h"

namespace pathproof::lab {

struct DeviceUse {
    std::string name;
    std::string pci;                // "0000:3b:00.0"; empty: not a PCI device
    std::vector<Prefix> addresses;  // without link-local ones
    bool default_route = false;
    std::vector<std::string> ssh_peers;  // far ends of SSH sessions that run over its addresses
    bool operator==(const DeviceUse&) const = default;
};
using MachineUse = std::vector<DeviceUse>;

// Of this machine, or (netns) one of its namespaces, or (ssh) another host: reads addresses,
// routes, established SSH sessions with ip(8), ss(8) and sysfs, and changes nothing.
Result<MachineUse> local_use(const std::string& netns);
Result<MachineUse> remote_use(const std::string& ssh_host);

// Refuses (kBadInput) ports and devices that carry a default route, an SSH session or an address
// which is not in the file, with one line for each; a DUT device that is not there is kNotFound. A
// tester's PCI port without a kernel device belongs to no one and is free.
Status check_tester_ports(const LabFile& lab, const MachineUse& tester);
Status check_dut_devices(const LabFile& lab, const MachineUse& dut);

// The parts of `local_use`, from what the programs print.
Result<MachineUse> parse_use(const std::string& addresses_json, const std::string& routes_json,
                             const std::string& routes6_json, const std::string& ssh_sessions,
                             const std::string& pci_links);

}  // namespace pathproof::lab
