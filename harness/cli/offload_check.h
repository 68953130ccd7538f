// `offload check`: its options, and the check of a device of the kernel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/run/history.h"
#include "harness/run/views.h"
#include "harness/verdict/options.h"

namespace CLI {
class App;
}

namespace pathproof::cli {

// RunOptions' device, repeat, tester and tester_netns are of a device of the kernel alone.
struct OffloadCheckOptions : verdict::RunOptions {
    OffloadCheckOptions() : RunOptions{.command = "offload check"} {}
    // Options of DPDK ports alone.
    std::string dpdk;                 // --dpdk; the port under test
    std::string far;                  // --far; the other end of its cable
    bool software_nic = false;        // --software-nic, in place of both
    std::vector<std::string> faults;  // --fault, of the software NIC
    std::uint32_t mtu = 0;            // --mtu; 0: 1500, the software NIC 9216
    std::uint32_t frames = 8;         // of each row of the matrix
    // Options of every check, as are netns, profile and quick (all pairs in place of all triples).
    std::string out;
    std::string baseline;  // file of expected failures; empty: none
    run::HistoryChoice history;
    run::Views views;
    std::uint32_t wait_s = 0;  // of DEV alone
    std::uint64_t seed = 1;
};

// DEV, --tester, --tester-netns, --repeat and --wait.
void declare_device_check(CLI::App& check, OffloadCheckOptions& options);
// Gives the exit code: 0 nothing wrong, 1 a defect, 3 not measured; or what went wrong.
Result<int> run_device_check(const OffloadCheckOptions& options);

}  // namespace pathproof::cli
