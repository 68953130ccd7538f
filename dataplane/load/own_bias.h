// Measurement of the latency that the tester's own code adds to every frame, in a loop without
// driver and DUT.
#pragma once

#include "dataplane/load/load_run.h"
#include "dataplane/load/source.h"
#include "dataplane/traffic/pace.h"

struct rte_mempool;

namespace pathproof::load {

// Measures the time from the stamp over making the frames and handing them through a ring to the
// clock that a receiver reads; fills in floor_ns, single_ns and burst_ns. The frames come from
// `source` and buffers from `pool`. Takes some milliseconds of the calling lcore. Errors: no memory
// for the ring or no buffers.
Result<OwnBias> measure_own_bias(Source& source, rte_mempool* pool, std::uint16_t burst,
                                 const traffic::TscClock& clock);

}  // namespace pathproof::load
