// The device that `profile check` and `profile probe` look at: one of the kernel, or a DPDK port.
#pragma once

#include <string>

#include "dataplane/base/result.h"
#include "harness/profile/live.h"

namespace CLI {
class App;
}

namespace pathproof::cli::profiles {

struct TargetOptions {
    std::string device;  // of the kernel
    std::string dpdk;    // virtual device with its arguments, PCI address, or interface
    std::string netns;
};

// DEV, --dpdk and --netns; exactly one of the first two has to be given.
void add_target(CLI::App& command, TargetOptions& options);

// Reads it in its namespace; a DPDK port is opened by a tester process of its own and closed again.
Result<profile::LiveDevice> read_target(const TargetOptions& options);

}  // namespace pathproof::cli::profiles
