// The path between a device under test and the tester's port, proven before anything is said of the
// device: plain frames of every kind and length that the truth table uses must arrive byte for
// byte, both ways.
#pragma once

#include <memory>
#include <vector>

#include "harness/drops/tracer.h"
#include "harness/scenario/offload_truth/feature_switch.h"
#include "harness/scenario/offload_truth/truth_bench.h"
#include "harness/truth/conclude.h"
#include "harness/truth/kernel_rows.h"
#include "harness/truth/rows.h"

namespace pathproof::scenario {

// The far end where it is a kernel interface of the tester's own: what joins received frames there
// (GRO, LRO) is off while this lives, through the journal.
class FarEnd {
  public:
    static Result<FarEnd> take(const TruthDevice& device);
    FarEnd(FarEnd&&) = default;
    FarEnd& operator=(FarEnd&&) = delete;
    ~FarEnd();

    const truth::PathEnd& end() const { return end_; }

  private:
    FarEnd() = default;
    truth::PathEnd end_;
    std::unique_ptr<agent::Client> agent_;
    std::unique_ptr<FeatureSwitch> features_;
};

// The longest IP packet, up to `longest` bytes, that passes both ways; 0: none that the matrix
// could use.
Result<std::uint32_t> find_mtu(TruthBench& bench, std::uint32_t longest);

// Sends plain frames of all kinds to the tester's port, and back good ones of `received`. What came
// only after longer waiting, or fewer at a time, sets the bench's pace for the run. With nothing
// left to the device: its offloads are off.
Status prove_path(TruthBench& bench, const truth::ProbeSet& set, const truth::RowSettings& received,
                  truth::PathFacts& path);

// The device's end of the cable, but for what is found out while the path is proven.
truth::PathEnd device_end(const TruthBench& bench);

// Watches drops in the kernels of both ends while it lives, for reasons other than a checksum. The
// device's end is watched by its agent.
class DropWatch {
  public:
    DropWatch(agent::Client& dut, truth::PathEnd device, const truth::PathEnd& far = {});
    DropWatch(const DropWatch&) = delete;
    DropWatch& operator=(const DropWatch&) = delete;
    ~DropWatch();
    // Most packets first. Nothing where the kernel's drops cannot be read: why_not() says why.
    Result<std::vector<truth::PathDrop>> stop();
    const std::string& why_not() const { return why_not_; }
    // Packets that CPUs dropped from full backlogs meanwhile.
    std::uint64_t backlog() const { return backlog_; }

  private:
    agent::Client& dut_;
    truth::PathEnd device_;
    truth::PathEnd far_;
    std::unique_ptr<drops::DropTracer> tracer_;
    bool watched_ = false;
    std::uint64_t backlog_before_ = 0;
    std::uint64_t backlog_ = 0;
    std::string why_not_;
};

}  // namespace pathproof::scenario
