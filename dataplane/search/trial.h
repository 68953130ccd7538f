// What a search asks of whoever carries the traffic, and what it gets. Searches know nothing of
// ports: in tests a function with a known answer stands behind this.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "dataplane/base/result.h"
#include "dataplane/judge/latency.h"

namespace pathproof::search {

using Nanoseconds = std::chrono::nanoseconds;

struct TrialInput {
    double load_pps = 0;  // intended load
    Nanoseconds duration{};
    std::uint64_t frames = 0;  // not 0: exactly so many in one go, whatever the duration
};

struct TrialOutput {
    TrialInput input;
    double offered_pps = 0;  // what really left
    std::uint64_t sent = 0;
    std::uint64_t lost = 0;
    std::uint64_t duplicates = 0;
    std::uint64_t reordered = 0;
    std::uint64_t bad_checksums = 0;
    judge::LatencyHistogram latency;
    double trial_seconds = 0;  // from the order to the report: what the trial cost
    std::string tester_limit;  // not empty: the tester was the limit, not the DUT
    std::string objection;     // not empty: the result is not to be used

    double loss_ratio() const {
        return sent == 0 ? 0 : static_cast<double>(lost) / static_cast<double>(sent);
    }
};

class Measurer {
  public:
    virtual ~Measurer() = default;
    // An error ends the search; a trial that cannot be relied on is no error but an objection.
    virtual Result<TrialOutput> measure(const TrialInput& input) = 0;
};

}  // namespace pathproof::search
