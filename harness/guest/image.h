// The initramfs of a guest: this program as /init (init.h) and agent, with its libraries and its
// loader, the programs that the agent runs, and the modules to load.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/guest/kernel.h"

namespace pathproof::guest {

// Work of the agent in a guest.
enum class Work : std::uint8_t {
    kDevice,  // its NIC's frames and offloads
    kNatBox,  // besides that iptables, conntrack and packet steering
};

struct ImagePlan {
    std::string module;  // the driver of its NIC
    // A file that is loaded in the place of the module of its name; empty: none.
    std::string replacement;
    Work work = Work::kDevice;
};

struct Image {
    std::string archive;               // cpio
    std::vector<std::string> without;  // modules that may be missing, and are
};

// kNotSupported: this kernel has no such driver, and how it was looked for, or lacks modules for the
// work. kBadInput: the replacement
// is no module of this NIC's driver.
Result<Image> make_image(const Kernel& kernel, const ImagePlan& plan);

// The modules that this kernel lacks for the work of a NAT box; empty: none.
Result<std::vector<std::string>> lacking_for_nat(const Kernel& kernel);
// Returns whether this machine has the programs that a NAT box takes along.
bool has_nat_programs();

// Makes the image of a guest that runs one command: `program` is the content of kProgramFile
// (program_init.h). kNotSupported: this kernel has no virtio-9p or no overlay file system.
Result<std::string> make_program_image(const Kernel& kernel, const std::string& program);

}  // namespace pathproof::guest
