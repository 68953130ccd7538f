// Runs sources and intakes on lcores: paced sending, receiving, and what can be said of the run
// itself. The workers are started once and serve any number of trials, so that a search loses a few
// milliseconds between two of them and not a second.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/load/load_plan.h"
#include "dataplane/load/tracked_intake.h"
#include "dataplane/port/port.h"

namespace pathproof::port {
class Eal;
}

namespace pathproof::load {

// Who sends and who listens. Each sender has a transmit queue of its own; receivers share out the
// receive queues. A worker may do both (one core, closed loop).
struct Roles {
    struct Sender {
        unsigned worker = 0;
        port::Port* port = nullptr;
        std::uint16_t queue = 0;
    };
    struct Receiver {
        unsigned worker = 0;
        port::Port* port = nullptr;
        std::uint16_t queue = 0;
    };
    std::vector<Sender> senders;
    std::vector<Receiver> receivers;
};

struct LoadPlan {
    SourcePlan source;  // of all senders: stream and share of the flows are set for each
    IntakePlan intake;
    std::uint16_t burst = 32;
    // Behind a member of a pair the other leaves this much later, to the time-stamp counter's tick;
    // 0: in one burst.
    Nanoseconds pair_skew{0};
};

// One trial. Exactly `frames` are sent when it is not 0, whatever the rate did.
struct TrialOrder {
    double frames_per_second = 0;  // of all senders together; 0: as fast as it goes
    Nanoseconds duration{0};       // 0: until `frames` have left
    std::uint64_t frames = 0;      // 0: until `duration` has passed
    Nanoseconds drain = std::chrono::milliseconds(100);
};

struct InterDeparture {  // gaps between bursts that left one after the other, one sender
    judge::LatencyHistogram gaps;
    std::uint64_t late = 0;  // bursts more than 10 us behind their deadline
    std::int64_t worst_late_ns = 0;
};

// How much of its time a worker had its CPU, as far as it can be known.
struct WorkerHealth {
    unsigned worker = 0;
    std::uint64_t ran_ns = 0;     // /proc/thread-self/schedstat
    std::uint64_t waited_ns = 0;  // ready to run while another ran
    std::uint64_t stalls = 0;     // loop turns that took longer than 100 us without a nap
    std::uint64_t longest_stall_ns = 0;
    double cycles_per_frame = 0;  // time-stamp counter, of the turns that moved frames
};

struct TrialReport {
    TrialOrder order;
    std::uint64_t sent = 0;
    ClassCounts sent_by_class{};
    double sending_seconds = 0;  // first departure to last deadline
    double achieved_pps = 0;
    double mean_frame_bytes = 0;
    IntakeTotals intake;
    InterDeparture departures;
    std::vector<WorkerHealth> workers;
    port::PortCounters sender_port;  // over the trial; sums over the ports involved
    port::PortCounters receiver_port;
    std::int64_t own_bias_ns = 0;  // what the tester adds to a latency: measured before the run
    bool partial = false;          // stopped before its end
    // Not empty: the figures are not to be relied on (INCONCLUSIVE), and why.
    std::vector<std::string> objections;
    // Not empty: the tester, not the DUT, was the limit (rate not reached, own drops).
    std::string tester_limit;
    // Loss of unique frames: sent - unique arrivals.
    std::uint64_t missing() const;
};

// What a progress line says; read from other threads while a trial runs.
struct Live {
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    std::uint64_t bad_checksums = 0;
};

class LoadRun {
  public:
    // Errors before anything is sent: impossible rates, frames above the MTU or too long for the
    // pool's buffers, offloads that a port lacks, lcores that do not exist, more than 16 senders.
    static Result<std::unique_ptr<LoadRun>> start(port::Eal& eal, const Roles& roles,
                                                  const LoadPlan& plan);
    virtual ~LoadRun() = default;  // ends the workers

    // Returns when the trial and its drain are over, or soon after `stop` became true.
    virtual Result<TrialReport> run(const TrialOrder& order, const std::atomic<bool>& stop) = 0;
    virtual Live live() const = 0;
    virtual std::vector<judge::KeptFrame> take_bad_frames() = 0;
    virtual std::vector<Anomaly> take_anomalies() = 0;
};

}  // namespace pathproof::load
