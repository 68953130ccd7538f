// Super-frames through the kernel's own VXLAN device on top of the device under test: the only way
// to make use of tx-udp_tnl-segmentation and tx-udp_tnl-csum-segmentation.
#pragma once

#include "harness/scenario/offload_truth/cells.h"

namespace pathproof::scenario {

// Steps of progress that judge_tunnel_segments() makes.
std::size_t segment_steps();

// Sends UDP super-frames of an ordinary socket (UDP_SEGMENT) and TCP ones of a packet socket on the
// VXLAN device, with and without outer UDP checksum, the feature on and off, and audits every
// segment. Adds cells, a truth table and what is wrong. A device that cannot bear the VXLAN
// device's address is told of in the table.
Status judge_tunnel_segments(Context& context, TruthBench& bench, truth::TruthRun& run,
                             verdict::ScenarioResult& result);

}  // namespace pathproof::scenario
