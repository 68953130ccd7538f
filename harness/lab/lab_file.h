// A lab of real hardware, described in a TOML file: which ports are the tester's, which devices of
// which host are tested, and which addresses may be used. Whatever is not in the file is left
// alone.
//
//   name = "rack 3, 25G"
//   hugepages_mib = 1024                       # optional
//   modules = ["vfio-pci"]                     # optional: what may be loaded on the tester's machine
//
//   service = "198.51.100.10:53"               # optional: the Service that clients ask
//
//   [report]                                   # optional: who had what tested, for the report; options of
//   laboratory = "Lab 7"                       # the command line of the same names go before it. Also: place,
//   operator = "A. Operator"                   # customer, plan_id, plan_revision, received, condition
//
//   [tester]
//   netns = "tester"                           # optional: where its kernel devices are
//
//   [[tester.port]]                            # one or more
//   name    = "client0"
//   pci     = "0000:3b:00.0"                   # or:  vdev = "net_af_packet0,iface=ens1f0"
//                                              # or:  device = "ens1f0"   (of the kernel)
//   driver  = "vfio-pci"                       # optional, with pci: what it is bound to for a run;
//                                              # "vfio-noiommu", "uio_pci_generic": without IOMMU
//   queues  = 4                                # optional: of each direction, 1 to 16; else 1
//   lcores  = [2, 3]                           # optional: CPUs of the lcores that serve it, one or two
//   numa    = 1                                # optional: its node, where the lcores come from without
//                                              # 'lcores'; 'lab check' holds it against the kernel's
//   address = ["198.18.0.2/24"]                # the tester's own; may be empty
//   clients = "198.18.0.0/17"                  # optional: it plays clients of this network, behind
//                                              # its first address
//   [[tester.port]]
//   name    = "server0"
//   device  = "ens1f2"
//   servers = ["203.0.113.2", "203.0.113.3"]   # optional: it plays these servers
//
//   [dut]
//   ssh     = "root@dut1"                      # or:  netns = "dut"   (a named one of this machine)
//   ssh_config = "ssh_config"                  # optional, for its -F: found from this file's folder
//   program = "/usr/local/bin/pathproof"       # optional, there: else "pathproof"; where none runs,
//                                              # or another build, ours is copied for a run
//   in_place = true                            # optional: the devices stay where they are, so that the
//                                              # host's own rules are tested; without it they are in a
//                                              # network namespace of the run meanwhile
//   dedicated = true                           # goes with in_place: nobody else needs the host
//
//   [[dut.device]]                             # one or more
//   name     = "ens1f0"
//   port     = "client0"                       # the tester port on the other end of its cable
//   address  = ["198.18.0.1/24"]               # which it has, or is given for a run
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"
#include "harness/lab/user_driver.h"
#include "harness/process/ssh.h"
#include "harness/verdict/certificate.h"

namespace pathproof::lab {

// An address with the length of its network: 198.18.0.1/24.
struct Prefix {
    frame::IpAddress address;
    unsigned length = 0;
    auto operator<=>(const Prefix&) const = default;
};
Result<Prefix> parse_prefix(std::string_view text);
std::string to_string(const Prefix& prefix);

struct TesterPort {
    enum class Kind { kPci, kVdev, kKernel };
    std::string name;
    Kind kind = Kind::kPci;
    std::string device;  // "0000:3b:00.0", the whole vdev text for EAL, or the name
    UserDriver driver = UserDriver::kVfio;  // of a PCI device
    std::uint16_t queues = 1;
    std::vector<int> lcores;  // CPUs; empty: any
    std::optional<int> numa;
    std::vector<Prefix> addresses;
    std::optional<Prefix> clients;
    std::vector<frame::IpAddress> servers;
    // The kernel device, be it named as one or what a vdev is bound to (its iface=...), or nothing.
    std::string kernel_device() const;
    bool operator==(const TesterPort&) const = default;
};

struct DutDevice {
    std::string name;
    std::string port;
    std::vector<Prefix> addresses;
    bool operator==(const DutDevice&) const = default;
};

struct Dut {
    enum class Kind { kSsh, kNetns, kGuest };  // kGuest: of the lab qemu, never in a file
    Kind kind = Kind::kNetns;
    std::string where;  // "root@dut1", or a namespace's name, empty: ours; or "the guest with ..."
    std::string ssh_config;  // empty: ssh's own
    std::string program = "pathproof";
    // Its devices stay in the host's own network namespace, whose rules and sysctls a run then changes; else they
    // are in a namespace of the run meanwhile. In a file the host is `dedicated` then.
    bool in_place = false;
    bool dedicated = false;  // nobody else needs the host
    std::vector<DutDevice> devices;
    process::SshHost ssh_host() const { return {where, ssh_config}; }
    bool operator==(const Dut&) const = default;
};

// "DUT root@dut1"; of our own namespace "DUT".
std::string to_string(const Dut& dut);

struct LabFile {
    std::string name;
    std::uint32_t hugepages_mib = 0;   // 0: none are reserved
    std::vector<std::string> modules;  // that may be loaded where the tester is
    std::optional<frame::Endpoint> service;
    verdict::Parties report;   // as far as the file says
    std::string tester_netns;  // empty: ours
    std::vector<TesterPort> ports;
    Dut dut;
    bool operator==(const LabFile&) const = default;
};

// Reads a description. The error lists all that is wrong, one line each, "FILE:LINE:COLUMN: what,
// and what is allowed". `file` is used in these only.
Result<LabFile> parse_lab_file(std::string_view text, const std::string& file);
Result<LabFile> load_lab_file(const std::string& path);

// A net.config of the kernel's selftests for network drivers: see make_net_config_lab().
struct NetConfig {
    std::string device;        // of the DUT: NETIF
    std::string remote_netns;  // where the tester's port is: REMOTE_ARGS
    std::vector<Prefix> local;
    std::vector<Prefix> remote;
    bool operator==(const NetConfig&) const = default;
};

// `environment` stands for what the file does not say. Errors are "FILE:LINE: what" or, of a
// variable that lacks or does not fit, "FILE: VARIABLE: what".
Result<NetConfig> parse_net_config(std::string_view text, const std::string& file,
                                   std::map<std::string, std::string> environment);
// With this process's environment; the file may be missing then. Looks for the tester's port in its
// namespace.
Result<LabFile> load_net_config(const std::string& path);

}  // namespace pathproof::lab
