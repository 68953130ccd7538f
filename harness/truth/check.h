// `pathproof offload check` of a DPDK port: the qualification matrix sent from it and to it, judged
// in software at the far end, and what is wrong with it as cells, truth table and findings.
#pragma once

#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/tester/client.h"
#include "harness/truth/port_table.h"
#include "harness/verdict/result.h"

namespace pathproof::truth {

struct CheckSettings {
    RowSettings rows;
    TruthSettings truth;
    std::vector<profile::Erratum> errata;
    std::vector<std::string> planted;  // faults of a software NIC
    std::string out_dir;               // evidence/ below it; empty: none is kept
    RowProgress progress;
};

// Judges the first of the tester's two ports. DEFECT FOUND, NO DEFECT FOUND, or INCONCLUSIVE where
// the tester lost frames itself. A software NIC is stopped.
Result<verdict::ScenarioResult> check_ports(tester::Client& tester, const CheckSettings& settings);

}  // namespace pathproof::truth
