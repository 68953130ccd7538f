// `offload check`: what it was asked, and the check of a device of the kernel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/cli/views.h"
#include "harness/lab/lab.h"
#include "harness/scenario/scenario.h"

namespace CLI {
class App;
}

namespace pathproof::cli {

struct SessionOptions;

// RunOptions' device, repeat, tester and tester_netns are of a device of the kernel alone.
struct OffloadCheckOptions : verdict::RunOptions {
    OffloadCheckOptions() : RunOptions{.command = "offload check"} {}
    // Of DPDK ports alone.
    std::string dpdk;                 // --dpdk; the port under test
    std::string far;                  // --far; the other end of its cable
    bool software_nic = false;        // --software-nic, in place of both
    std::vector<std::string> faults;  // --fault, of the software NIC
    std::uint32_t mtu = 0;            // --mtu; 0: 1500, the software NIC 9216
    std::uint32_t frames = 8;         // of each row of the matrix
    // Of every check, as are netns, profile and quick (all pairs in place of all triples).
    std::string out;
    std::string baseline;  // file of expected failures; empty: none
    Views views;
    std::uint64_t seed = 1;
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
void declare_device_check(CLI::App& check, OffloadCheckOptions& options);
// Gives the exit code: 0 nothing wrong, 1 a defect, 3 not measured; or what went wrong.
Result<int> run_device_check(const OffloadCheckOptions& options);

// The device that session.asked names, and the far end of its cable.
Status choose_device(SessionOptions& session);
// 0: nothing wrong; 1: a defect, or driver and profile disagree; 3: not measured.
int device_exit_code(const verdict::RunResult& result);

}  // namespace pathproof::cli
