// pathproof offload check --dpdk A --far B, and --software-nic: DPDK ports as the device under
// test.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/cli/views.h"

namespace CLI {
class App;
}

namespace pathproof::cli {

struct PortCheckOptions {
    // Of these ports alone.
    std::string device;               // --dpdk; the port under test
    std::string far;                  // --far; the other end of its cable
    bool software_nic = false;        // --software-nic, in place of both
    std::vector<std::string> faults;  // --fault, of the software NIC
    std::uint32_t mtu = 0;            // --mtu; 0: 1500, the software NIC 9216
    // Of every check.
    std::string netns;
    std::string profile;
    std::string out;
    std::string baseline;  // file of expected failures; empty: none
    Views views;
    std::uint64_t seed = 1;
    std::uint32_t frames = 8;  // of each row of the matrix
    bool quick = false;        // all pairs in place of all triples
    bool json = false;
};

// Declares --dpdk, --far, --software-nic, --fault and --mtu.
void declare_port_check(CLI::App& check, PortCheckOptions& options);

// Whether one of them was given.
bool is_port_check(const PortCheckOptions& options);

// Gives the exit code: 0 no defect, 1 defects, 3 incomplete; or what went wrong.
Result<int> run_port_check(const PortCheckOptions& options);

}  // namespace pathproof::cli
