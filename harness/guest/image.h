// The initramfs of a guest: this program as /init (init.h) and agent, with its libraries and its
// loader, the programs that the agent runs, and the modules to load.
#pragma once

#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/guest/kernel.h"

namespace pathproof::guest {

struct ImagePlan {
    std::string module;  // the driver of its NIC
    // A file that is loaded in the place of the module of its name; empty: none.
    std::string replacement;
};

struct Image {
    std::string archive;               // cpio
    std::vector<std::string> without;  // modules that may be missing, and are
};

// kNotSupported: this kernel has no such driver, and how it was looked for. kBadInput: the replacement
// is no module of this NIC's driver.
Result<Image> make_image(const Kernel& kernel, const ImagePlan& plan);

// Of a guest that runs one command: `program` is what kProgramFile holds (program_init.h).
// kNotSupported: this kernel has no virtio-9p or no overlay file system.
Result<std::string> make_program_image(const Kernel& kernel, const std::string& program);

}  // namespace pathproof::guest
