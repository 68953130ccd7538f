// Everything that arrives at one port, kept whole and in order: what a judge wants to see of a
// device under test.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/port/eal.h"
#include "dataplane/port/port.h"

namespace pathproof::traffic {

struct RecordPlan {
    std::size_t port = 0;              // index into the ports that the tester opened
    std::uint32_t most_frames = 4096;  // more are counted, not kept
    std::uint64_t most_bytes = 32u << 20;
    bool operator==(const RecordPlan&) const = default;
};

// End of a recording: as many frames as expected came, or none for a while.
struct RecordEnd {
    std::uint64_t expected = 0;  // frames; 0: not known
    std::chrono::nanoseconds quiet = std::chrono::milliseconds(100);
    std::chrono::nanoseconds longest = std::chrono::seconds(2);
    bool operator==(const RecordEnd&) const = default;
};

struct Recording {
    std::vector<std::vector<std::uint8_t>> frames;
    std::uint64_t received = 0;     // kept or not
    std::uint64_t left_out = 0;     // beyond the plan's limits
    std::uint64_t cut = 0;          // longer than the port's buffers: only their beginning is kept
    std::uint64_t tester_lost = 0;  // dropped by the port on receipt
};

// A worker lcore that takes frames in. A VLAN tag that the port's driver put aside is put back,
// with TPID 0x8100: a driver does not tell which one it was.
class Recorder {
  public:
    // Errors: a port index that does not exist, a busy worker. `ports` must outlive it.
    static Result<std::unique_ptr<Recorder>> start(port::Eal& eal, unsigned worker,
                                                   std::span<port::Port> ports,
                                                   const RecordPlan& plan);
    virtual ~Recorder() = default;  // ends the recording

    // Waits for the end and gives what came. Once only.
    virtual Recording stop(const RecordEnd& end) = 0;
};

}  // namespace pathproof::traffic
