// pathproof offload check --dpdk A --far B, and --software-nic: DPDK ports as the device under
// test.
#pragma once

#include "harness/cli/offload_check.h"

namespace pathproof::cli {

// Declares --dpdk, --far, --software-nic, --fault and --mtu, behind DEV.
void declare_port_check(CLI::App& check, OffloadCheckOptions& options);

// Returns whether a port or the software NIC was named.
bool is_port_check(const OffloadCheckOptions& options);

// Gives the exit code: 0 no defect, 1 defects, 3 incomplete; or what went wrong.
Result<int> run_port_check(const OffloadCheckOptions& options);

}  // namespace pathproof::cli
