// `offload check DEV`: a device of the kernel.
#pragma once

#include <cstdint>
#include <string>

#include "harness/cli/views.h"

namespace CLI {
class App;
}

namespace pathproof::cli {

struct SessionOptions;

struct DeviceCheckOptions : verdict::RunOptions {
    DeviceCheckOptions() : RunOptions{.command = "offload check"} {}
    // Declared by the command itself, as are netns, profile and quick.
    std::string out;
    std::string baseline;  // file of expected failures; empty: none
    Views views;
    std::uint64_t seed = 0;
    bool json = false;
};

// DEV, --tester, --tester-netns and --repeat.
void declare_device_check(CLI::App& check, DeviceCheckOptions& options);
// Gives the exit status: 0 nothing wrong, 1 a defect, 2 refused or bad input, 3 not measured.
int run_device_check(const DeviceCheckOptions& options);

// The device that session.asked names, and the far end of its cable.
Status choose_device(SessionOptions& session);
// 0: nothing wrong; 1: a defect, or driver and profile disagree; 3: not measured.
int device_exit_code(const verdict::RunResult& result);

}  // namespace pathproof::cli
