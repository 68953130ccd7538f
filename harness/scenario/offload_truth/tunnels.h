// The kernel's own tunnels: datagrams of ordinary sockets through vxlan, geneve, gre and ipip
// devices, with and without NAT of the outer header, judged on the wire.
#pragma once

#include "harness/lab/overlay.h"
#include "harness/scenario/offload_truth/cells.h"

namespace pathproof::scenario {

// Steps of progress that judge_tunnels() makes.
std::size_t tunnel_steps();

// Adds cells, a truth table and what is wrong to those of the device. `overlay`: the bench's device
// is the underlay of its node A. Null: the device is of a host that this run made, whose NAT rules
// it may replace.
Status judge_tunnels(Context& context, TruthBench& bench, lab::Overlay* overlay,
                     truth::TruthRun& run, verdict::ScenarioResult& result);

}  // namespace pathproof::scenario
