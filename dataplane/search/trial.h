// The interface between a search and whoever carries its traffic: the trials that it orders, and
// their outcome. Searches know nothing of ports: in tests a function with a known answer stands
// behind it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "dataplane/base/result.h"
#include "dataplane/judge/latency.h"

namespace pathproof::search {

using Nanoseconds = std::chrono::nanoseconds;

inline double seconds(Nanoseconds time) {
    return std::chrono::duration<double>(time).count();
}

struct TrialInput {
    double load_pps = 0;  // intended load; 0: as fast as the tester can
    Nanoseconds duration{};
    std::uint64_t frames = 0;  // not 0: exactly so many in one go, whatever the duration

    // Change of load after `duration`: the stream goes on at another load, without a pause (RFC
    // 2544, 26.5).
    struct Change {
        double load_pps = 0;
        Nanoseconds duration{};
    };
    std::optional<Change> change;

    Nanoseconds whole_duration() const {
        return duration + (change ? change->duration : Nanoseconds(0));
    }
};

struct TrialOutput {
    TrialInput input;
    double offered_pps = 0;  // what really left; over the trial's intended duration if it has one
    std::uint64_t sent = 0;
    std::uint64_t lost = 0;
    std::uint64_t duplicates = 0;
    std::uint64_t reordered = 0;
    std::uint64_t bad_checksums = 0;
    judge::LatencyHistogram latency;
    double trial_seconds = 0;     // from the order to the report: what the trial cost
    double overhead_seconds = 0;  // of these, neither sending nor listening for the last frames
    // Not empty: the load was not offered, or the tester lost frames itself. Load that is short of
    // the intended by no more than the measurer tolerates is no limit: the trial is used at what
    // was sent.
    std::string tester_limit;
    bool limited_by_stalls = false;  // and only by them: another try may do better
    std::string objection;           // not empty: the result is not to be used
    // Not empty: the tester waited for its CPU or stood still. Frames may have been lost for that,
    // and latencies are not the device's alone; what came back in spite of it did come back.
    std::string disturbance;
    bool partial = false;  // ended before its time
    // Departure of the last lost frame, counted from the change of load. Nothing: there was no
    // change, or none of the frames sent after it was lost.
    std::optional<Nanoseconds> last_loss;

    // Frames that were to be sent.
    double intended() const;
    // Share of the frames that did not come back. Where the tester was the limit, frames that it
    // failed to send count as lost, as MLRsearch recommends ("Measurer"): the search goes where the
    // tester keeps up, and `tester_limit` tells whose loss it was.
    double loss_ratio() const;
    bool disturbed() const { return limited_by_stalls || !disturbance.empty(); }
};

// Checks that a search may choose loads in between: above 0, finite and in this order.
Status check_loads(double min_pps, double max_pps);

class Measurer {
  public:
    virtual ~Measurer() = default;
    // An error ends the search; a trial that cannot be relied on is no error but an objection.
    virtual Result<TrialOutput> measure(const TrialInput& input) = 0;
};

}  // namespace pathproof::search
