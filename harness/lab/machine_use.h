// Tells what a machine uses its network devices for, and refuses to touch one that is needed for
// something else.
#pragma once

#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/lab/lab_file.h"
#include "harness/process/ssh.h"

namespace pathproof::lab {

// Use of a device and of each other device in its stack. A stack is a bridge, bond, team or VRF
// with its ports, or a VLAN, macvlan, ipvlan, vxlan, ... device with the one that it sits on. The
// two ends of a veth pair are no stack.
struct DeviceUse {
    std::string name;
    std::string pci;                 // "0000:3b:00.0"; empty: not a PCI device
    std::vector<std::string> stack;  // the other devices of its stack
    std::vector<Prefix> addresses;   // without link-local ones
    bool default_route = false;
    std::vector<std::string> ssh_peers;      // far ends of SSH sessions that run over its addresses
    std::vector<std::string> storage_peers;  // servers of mounted file systems and block devices
    bool operator==(const DeviceUse&) const = default;
};
using MachineUse = std::vector<DeviceUse>;

// Reads how this machine, (netns) one of its namespaces or (ssh) another host uses its devices:
// addresses, routes, established SSH sessions, mounts and block devices over a network (NFS, iSCSI,
// NVMe, nbd), with ip(8), ss(8), /proc and sysfs. Changes nothing.
Result<MachineUse> local_use(const std::string& netns);
Result<MachineUse> remote_use(const process::SshHost& host);

// Returns why a device may not be touched, as "carries the default route"; empty: it may. Its
// addresses must be those of `plan` or, without one, of the networks that are set apart for tests
// (RFC 2544, 3849, 5180, 5737).
std::vector<std::string> objections(const DeviceUse& use, const std::vector<Prefix>* plan);

// Checks that a network interface of `netns` (empty: the caller's) may be touched, or a PCI device
// by its address, for which the caller's namespace is looked at too. kBadInput: it may not;
// kNotFound: there is no such interface. A PCI device without an interface there belongs to no one
// and is free. `plan`: see objections().
Status check_touchable(const std::string& device, const std::string& netns,
                       const std::vector<Prefix>* plan = nullptr);

// Refuses (kBadInput) ports and devices of a lab file that may not be touched, with one line for
// each; a DUT device that is not there is kNotFound.
Status check_tester_ports(const LabFile& lab, const MachineUse& tester);
Status check_dut_devices(const LabFile& lab, const MachineUse& dut);

// Both, for the machines that the file names.
Status check_machines(const LabFile& lab);

// The parts of `local_use`, from what the programs print; `storage_routes` has one line of
// 'ip -json route get' for each server.
Result<MachineUse> parse_use(const std::string& addresses_json, const std::string& routes_json,
                             const std::string& routes6_json, const std::string& ssh_sessions,
                             const std::string& pci_links, const std::string& storage_routes = "");

}  // namespace pathproof::lab
