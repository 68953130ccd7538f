// The responder on its own: what `pathproof respond` runs.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/port/port.h"
#include "dataplane/traffic/responder.h"

namespace pathproof::port {
class Eal;
}

namespace pathproof::traffic {

struct RespondReport {
    ResponderCounts queries;
    std::uint64_t waiting = 0;  // answers whose time had not come when it ended
    judge::ReceiveTally received;
    judge::ChecksumCounts checksums{};
    std::vector<judge::KeptFrame> bad_frames;
    port::PortCounters port;  // over the run
    double seconds = 0;
    std::vector<std::string> objections;  // not empty: why these figures are not to be relied on
};

// Occupies worker 0 of `eal` and queue 0 of `port` until `stop` becomes true or, if it is not 0,
// `duration` has passed. Errors, before anything is answered: what Responder::make says.
Result<RespondReport> run_responder(port::Eal& eal, port::Port& port,
                                    const ResponderOptions& options, Nanoseconds duration,
                                    const std::atomic<bool>& stop);

}  // namespace pathproof::traffic
