// The responder on its own: what `pathproof respond` runs.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/port/extended_counters.h"
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
    std::vector<std::uint64_t> received_by_worker;
    port::PortCounters port;                          // over the run
    std::vector<port::NamedCounter> driver_counters;  // what grew of the driver's own
    double seconds = 0;
    std::vector<std::string> objections;  // not empty: why these figures are not to be relied on
    bool partial = false;                 // the link was down or gone for a part of the time
};

struct RespondPlan {
    // Each worker has one of its own; losses are drawn from seed + worker.
    ResponderOptions responder;
    Nanoseconds duration{0};  // 0: until it is stopped
    // Worker w of the EAL reads receive queues w, w + workers, ... and writes to transmit queue w.
    unsigned workers = 1;
};

// Occupies workers 0 .. workers - 1 of `eal` and all queues of `port` until `stop` becomes true,
// the duration has passed or the port no longer exists. Errors, before anything is answered: what
// Responder::make says; fewer queues or lcores than workers.
Result<RespondReport> run_responder(port::Eal& eal, port::Port& port, const RespondPlan& plan,
                                    const std::atomic<bool>& stop);

}  // namespace pathproof::traffic
