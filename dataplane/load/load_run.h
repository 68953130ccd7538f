// Runs sources, intakes and responders on lcores: paced sending, receiving, answering, and what can
// be said of the run itself. The workers are started once and serve any number of trials, so that a
// search loses a few milliseconds between two of them and not a second.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/frame/template.h"
#include "dataplane/load/clock_check.h"
#include "dataplane/load/load_plan.h"
#include "dataplane/load/source.h"
#include "dataplane/load/tracked_intake.h"
#include "dataplane/neighbour/desk.h"
#include "dataplane/port/port.h"
#include "dataplane/traffic/respond_worker.h"

namespace pathproof::port {
class Eal;
}

namespace pathproof::load {

// Assignment of workers to sending, listening and answering. Each sender has a transmit queue of
// its own; receivers share out the receive queues. A worker may do all of it (one core, closed
// loop).
struct Roles {
    struct Queue {
        unsigned worker = 0;
        port::Port* port = nullptr;
        std::uint16_t queue = 0;
    };
    std::vector<Queue> senders;
    std::vector<Queue> receivers;
    // Queues of ports at which nothing comes back, of workers that receive: ICMP errors are read there.
    std::vector<Queue> listeners;
    // A responder, at most one a worker. It answers until the last receiver has heard enough, and
    // its counts are read afterwards.
    struct Responder {
        unsigned worker = 0;
        traffic::RespondWorker* responder = nullptr;
    };
    std::vector<Responder> responders;
};

// Two senders on workers of their own, each with one member of every pair: neither leaves before
// both stand ready.
struct Together {
    // The second sender's behind the first's; may be negative.
    Nanoseconds skew{0};
    // Sent shortly before each pair by each of the two, and not counted as sent.
    std::array<std::optional<frame::FrameTemplate>, 2> warm_up;
};

struct LoadPlan {
    SourcePlan source;  // of all senders: stream and share of the flows are set for each
    IntakePlan intake;
    std::uint16_t burst = 32;
    // Behind a member of a pair the other leaves this much later, to the time-stamp counter's tick;
    // 0: in one burst.
    Nanoseconds pair_skew{0};
    // Precise departures, for measurements frame by frame: frames are made before they are due and
    // leave to the counter's tick, one unit at a time. A lcore reads and answers less the nearer it
    // is to a departure. A late unit leaves late, but is never left out.
    bool punctual = false;
    // Frames that a punctual lcore reads and answers at one look, whatever is due: at high rates something always is.
    std::uint16_t least_read = 1;
    std::optional<Together> together;  // punctual, with pairs
    // Makes the source of frames: called once for each sender, with its stream and its share of the
    // flows. Null: FrameSource::make.
    std::function<Result<std::unique_ptr<Source>>(const SourcePlan&)> make_source;
    // Stations for which ARP and neighbour discovery are answered, on the lcores that receive at
    // their ports.
    std::vector<neighbour::Place> stations;
    // Takes the received frames in place of a TrackedIntake of each lcore; all receivers are then
    // one worker's, and a report's `intake` stays empty.
    Intake* intake_instead = nullptr;
    // A link that is lost ends a trial, as frames would only be thrown away; or what was under way
    // is followed to its end.
    enum class LinkLoss : std::uint8_t { kEnds, kIsOutlasted } link_loss = LinkLoss::kEnds;

    // Returns the number of frames that leave at one deadline: one, or both members of a pair.
    unsigned frames_in_unit() const {
        return source.pairing == SourcePlan::Pairing::kPairs ? 2 : 1;
    }
};

// One trial. Exactly `frames` are sent when it is not 0, whatever the rate did.
struct TrialOrder {
    double frames_per_second = 0;  // of all senders together; 0: as fast as it goes
    Nanoseconds duration{0};       // 0: until `frames` have left
    std::uint64_t frames = 0;      // 0: until `duration` has passed
    // Largest number of frames under way at one time in a closed loop, of all senders together; a
    // frame that does not come back within IntakePlan::late_after is given up. 0: no limit.
    std::uint64_t outstanding = 0;
    Nanoseconds drain = std::chrono::milliseconds(100);
    // Listening on after everything sent has arrived only shows duplicates that come late: `settle`
    // is for them.
    enum class DrainEnd : std::uint8_t {
        kWhenAllArrived,
        kFull
    } drain_end = DrainEnd::kWhenAllArrived;
    Nanoseconds settle{0};
    // Puts the end of a drain off while tracked frames still come, or answers that the run's
    // responders sent are missing: what is late is then seen to be late.
    struct PutOff {
        Nanoseconds by{0};    // 0: it is not put off
        Nanoseconds most{0};  // behind the last departure
    } put_off;
};

struct InterDeparture {  // gaps between bursts that left one after the other, one sender
    judge::LatencyHistogram gaps;
    std::uint64_t late = 0;  // bursts more than 10 us behind their deadline
    std::int64_t worst_late_ns = 0;
    // Whole seconds of sending, and by how much the worst of them missed its share of the rate.
    std::uint64_t windows = 0;
    double worst_window = 0;
};

// Time from one member of a pair to the other, when the plan sets them apart: read from the counter
// right before each is handed to the driver.
struct PairSkew {
    std::uint64_t pairs = 0;
    double min_ns = 0;
    double mean_ns = 0;
    double max_ns = 0;
};

// The tester's own share of a latency. `floor`, `single` and `burst` are measured before the first
// trial in a loop of the tester's own without a driver: from a frame's stamp over making it and two
// steps of a ring to the clock that a receiver reads. No frame can be quicker than `floor`, which
// therefore may be subtracted. What else the tester adds depends on the trial and is only reported.
struct OwnBias {
    std::int64_t floor_ns = 0;   // the quickest single frame
    std::int64_t single_ns = 0;  // median of single frames
    std::int64_t burst_ns = 0;   // median of whole bursts, whose frames have one stamp
    // The rest is measured in the trial itself.
    std::int64_t hand_over_ns = 0;  // median from a burst's stamp until the driver had it
    // Mean time between the two looks at a receive queue that a frame arrives between: half of it
    // is what it waits.
    std::int64_t poll_ns = 0;
};

// Account of the frames on the way to the driver.
struct HandOver {
    std::uint64_t left_out = 0;    // due, and given up behind a stall: the rate was missed by them
    std::uint64_t refused = 0;     // not taken at the first attempt, but stamped and offered again
    std::uint64_t taken_back = 0;  // made, and never taken: not counted as sent
    std::uint64_t no_buffer = 0;   // times that the pool had no buffers for a burst
    std::uint64_t stuck = 0;       // senders whose driver took nothing for 100 ms
    std::uint64_t warm_ups = 0;    // Together::warm_up
    std::uint64_t answers = 0;     // to ARP and neighbour discovery, at ports that send
};

// Share of its time in which a worker had its CPU, as far as it can be known.
struct WorkerHealth {
    unsigned worker = 0;
    bool sends = false;
    std::uint64_t ran_ns = 0;     // /proc/thread-self/schedstat
    std::uint64_t waited_ns = 0;  // ready to run while another ran
    // Loop turns without a nap that took longer than 100 us; 1 ms where they moved frames, as a
    // virtual port's driver enters the kernel.
    std::uint64_t stalls = 0;
    std::uint64_t stalled_ns = 0;  // all of them together
    std::uint64_t longest_stall_ns = 0;
    double cycles_per_frame = 0;  // time-stamp counter, of the turns that moved frames
};

struct TrialReport {
    TrialOrder order;
    std::int64_t began_ns = 0;  // in the run's clock: the first deadline
    std::int64_t ended_ns = 0;  // the end of the drain
    std::uint64_t sent = 0;
    ClassCounts sent_by_class{};
    double sending_seconds = 0;  // first departure to last deadline
    double achieved_pps = 0;
    double mean_frame_bytes = 0;
    IntakeTotals intake;
    InterDeparture departures;
    PairSkew skew;
    HandOver handed;
    std::uint64_t emptied = 0;  // frames from before the trial that its receivers threw away
    neighbour::AnswerCounts neighbours;  // to ARP and neighbour discovery, at all ports
    std::vector<WorkerHealth> workers;
    port::PortCounters sender_port;  // over the trial; sums over the ports involved
    port::PortCounters receiver_port;
    OwnBias bias;
    // The rate of the time-stamp counter that all times stand on, against CLOCK_MONOTONIC since the
    // workers started; nothing below a second.
    std::optional<double> clock_ppm;
    CounterWatch counter;  // of this trial
    // Not empty: the counter is not invariant by the CPU's word, and why times may be judged all the same.
    std::string clock_proof;
    std::int64_t overhead_ns = 0;  // from order to report, beyond sending and drain
    bool partial = false;          // stopped before its end
    // Not empty: the figures are not to be relied on (INCONCLUSIVE), and why.
    std::vector<std::string> objections;
    // Objections about workers that waited for their CPU or stood still.
    std::vector<std::string> disturbances;
    // Not empty: the tester, not the DUT, was the limit, in one way or both: it did not offer the
    // load, or lost frames of its own on the way out or in. Objections too.
    std::string missed_rate;
    std::string own_drops;
    std::string tester_limit;  // both
    std::uint64_t unique() const { return all_classes(intake).unique; }
    std::uint64_t wrong() const { return all_classes(intake).wrong; }      // of them
    std::uint64_t damaged() const { return all_classes(intake).damaged; }  // see ClassTotals
    // Returns the number of frames that did not arrive, not even damaged, as far as can be told.
    std::uint64_t missing() const {
        const std::uint64_t arrived = all_classes(intake).arrived();
        return sent > arrived ? sent - arrived : 0;
    }
};

// Figures of a progress line, read from other threads while a trial runs.
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

    // Returns the mean length without FCS, over the mix or the capture file.
    virtual double mean_frame_bytes() const = 0;
    // Validates an order without sending; run() makes the same checks.
    virtual Status check(const TrialOrder& order) const = 0;
    // Returns when the trial and its drain are over, or soon after `stop` became true.
    virtual Result<TrialReport> run(const TrialOrder& order, const std::atomic<bool>& stop) = 0;
    virtual Live live() const = 0;
    // Returns the instant, in nanoseconds since 1970 UTC, at which the run's clock stood at 0. Kept
    // frames carry times of that clock.
    virtual std::int64_t unix_start_ns() const = 0;
    virtual std::vector<judge::KeptFrame> take_bad_frames() = 0;
    virtual std::vector<Anomaly> take_anomalies() = 0;
    virtual std::vector<WrongFrame> take_wrong_frames() = 0;
    virtual std::vector<WrongFrame> take_damaged_frames() = 0;
};

}  // namespace pathproof::load
