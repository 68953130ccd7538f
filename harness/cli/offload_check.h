// `offload check DEV`: a device of the kernel.
#pragma once

#include <cstdint>
#include <string>

#include "harness/cli/views.h"
#include "harness/lab/lab.h"
#include "harness/scenario/scenario.h"

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

// A device of the kernel that may be touched, the tester's port at the other end of its cable, and
// what a report on it may say.
struct DeviceChoice {
    scenario::TruthDevice device;
    port::Evidence evidence = port::Evidence::kVirtual;
    std::string evidence_note;
};
// `tester_port` of the cable empty: the peer of a veth device. kBadInput: one that must not be
// touched, is a tunnel, or has no link; a far end that is not known. `dut`: the agent that tells of
// the device, of a lab that looked whether it may be touched; null: it is on this machine.
Result<DeviceChoice> choose_cabled_device(const lab::CabledDevice& cable,
                                          agent::Client* dut = nullptr);

// DEV, --tester, --tester-netns and --repeat.
void declare_device_check(CLI::App& check, DeviceCheckOptions& options);
// Gives the exit code: 0 nothing wrong, 1 a defect, 3 not measured; or what went wrong.
Result<int> run_device_check(const DeviceCheckOptions& options);

// The device that session.asked names, and the far end of its cable.
Status choose_device(SessionOptions& session);
// 0: nothing wrong; 1: a defect, or driver and profile disagree; 3: not measured.
int device_exit_code(const verdict::RunResult& result);

}  // namespace pathproof::cli
