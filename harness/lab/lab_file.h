// A lab of real hardware, described in a TOML file: which ports are the tester's, which devices of
// which host are tested, and which addresses may be used. Whatever is not in the file is left
// alone.
//
//   name = "rack 3, 25G"
//   hugepages_mib = 1024                       # optional
//
//   [[tester.port]]                            # one or more
//   name    = "client0"
//   pci     = "0000:3b:00.0"                   # or:  vdev = "net_af_packet0,iface=ens1f0"
//   address = ["198.18.0.2/24"]                # what the tester answers for; may be empty
//
//   [dut]
//   ssh     = "root@dut1"                      # or:  netns = "dut"   (a named namespace of this
//   machine) program = "/usr/local/bin/pathproof"       # optional, with ssh
//
//   [[dut.device]]                             # one or more
//   name     = "ens1f0"
//   port     = "client0"                       # the tester port on the other end of its cable
//   address  = ["198.18.0.1/24"]
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"

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
    enum class Kind { kPci, kVdev };
    std::string name;
    Kind kind = Kind::kPci;
    std::string device;  // "0000:3b:00.0", or the whole vdev text for EAL
    std::vector<Prefix> addresses;
    // The kernel device that a vdev is bound to (its iface=...), or nothing.
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
    enum class Kind { kSsh, kNetns };
    Kind kind = Kind::kNetns;
    std::string where;  // "root@dut1", or a namespace's name
    std::string program = "pathproof";
    std::vector<DutDevice> devices;
    bool operator==(const Dut&) const = default;
};

struct LabFile {
    std::string name;
    std::uint32_t hugepages_mib = 0;  // 0: none are reserved
    std::vector<TesterPort> ports;
    Dut dut;
    bool operator==(const LabFile&) const = default;
};

// Reads a description. The error lists all that is wrong, one line each, "FILE:LINE:COLUMN: what,
// and what is allowed". `file` is used in these only.
Result<LabFile> parse_lab_file(std::string_view text, const std::string& file);
Result<LabFile> load_lab_file(const std::string& path);

}  // namespace pathproof::lab
