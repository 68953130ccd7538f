// What a run was asked to do: what its repeat command is made of, what report.json holds of it, and
// what `pathproof rerun` reads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pathproof::verdict {

struct RunOptions {
    std::string command;  // "qualify", "repro", "offload check"; empty: it was not kept
    std::string lab = {};
    std::string profile = {};
    std::vector<std::string> scenarios = {};  // ids; empty: all
    std::vector<std::string> cells = {};      // patterns of cells; empty: all
    std::uint64_t pairs = 0;                  // 0: each experiment's own number
    std::uint32_t repeat = 1;                 // how often each scenario is run
    bool full = false;
    bool no_hugepages = false;
    // Of `offload check DEV`. No device: DPDK ports.
    std::string device = {};
    std::string netns = {};
    std::string tester = {};
    std::string tester_netns = {};
    bool quick = false;
};

// The command line that asks for it, without the seed.
std::string repeat_command(const RunOptions& options);

}  // namespace pathproof::verdict
