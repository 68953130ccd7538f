// The programs that stand at the far end of a veth pair and send something back: the server that
// all clients ask, and the cheapest one that there can be.
#pragma once

#include <functional>

#include "harness/bench/cores.h"
#include "harness/bench/measured_program.h"
#include "harness/bench/veth/veth_rig.h"

namespace pathproof::bench {

struct Answerer {
    // Once it has started it answers.
    std::function<Result<MeasuredProgram>(const VethPair& pair)> start;
    // Errors: it did not do its work to the end.
    std::function<Status(MeasuredProgram& program)> stop;
};

// `pathproof respond` on net_af_xdp, one lcore on the control CPU; A and AAAA of any name.
Answerer responder(const std::string& binary, const Cores& cores);

// `dpdk-testpmd` in its mode io on net_af_xdp, on the control CPU: sends each frame back as it came
// and looks at none.
Answerer mirror(const Cores& cores);

}  // namespace pathproof::bench
