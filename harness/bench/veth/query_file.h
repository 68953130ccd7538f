// The queries that all programs are given: as names for those that make frames of them, and as
// finished frames. They are as long as ours, whose names are made as they are sent.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/bench/load/load_job.h"
#include "harness/bench/veth/veth_rig.h"

namespace pathproof::bench {

// A name and a type a line, A and AAAA in turn.
std::string query_lines(unsigned queries);

// Makes the same queries as frames from one end of a pair to the other.
Result<std::vector<std::vector<std::uint8_t>>> query_frames(const VethPair& pair, unsigned queries,
                                                            LoadJob::UdpChecksum checksum);

}  // namespace pathproof::bench
