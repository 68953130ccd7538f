// Figures that the performance scenario saw, and the cells and charts that follow from them: plain values, tested
// without ports.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dataplane/load/load_run.h"
#include "dataplane/measure/path_load.h"
#include "dataplane/search/back_to_back.h"
#include "dataplane/search/frame_loss_rate.h"
#include "dataplane/search/latency_at_load.h"
#include "dataplane/search/mlrsearch.h"
#include "harness/agent/cpu_use.h"
#include "harness/verdict/result.h"

namespace pathproof::scenario::performance {

// The link that frames pass. Only one of hardware has a line rate: veth claims one that nothing holds it to.
struct Medium {
    double line_mbps = 0;  // 0: there is none
    bool is_software = true;
    // Frames a second, of a mix; 0: there is no line rate.
    double line_pps(const std::vector<measure::FrameShare>& frames) const;
};

// Layer-1 rate in Gbit/s: with preamble and gap.
double wire_gbit_s(double pps, const std::vector<measure::FrameShare>& frames);

struct ThroughputSeen {
    std::vector<measure::FrameShare> frames;
    double max_load_pps = 0;
    search::MlrResult rates;   // of the goals "ndr" and "pdr"
    std::string tester_limit;  // of the last trial that had one
    std::uint64_t bad_checksums = 0;
    std::size_t trials = 0;
};
// The lower bound of a goal, as offered; 0: it has none.
double rate_of(const ThroughputSeen& seen, const std::string& goal);
verdict::Cell conclude(const std::string& id, const ThroughputSeen& seen, const Medium& medium);

struct LatencySeen {
    search::LatencyPoint point;
    load::OwnBias bias;  // of the tester
    std::string of;      // "PDR of 64-byte frames"
};
verdict::Cell conclude(const std::string& id, const LatencySeen& seen);
// A curve for each load: share of the frames in each part of the axis.
verdict::Chart latency_chart(const std::vector<LatencySeen>& seen);

struct LossSeen {
    search::LossCurve curve;
    std::vector<measure::FrameShare> frames;
};
verdict::Cell conclude(const std::string& id, const LossSeen& seen, const Medium& medium);
verdict::Chart loss_chart(const LossSeen& seen);

verdict::Cell conclude(const std::string& id, const search::BurstResult& seen);

// A load at a steady rate, and what the DUT's host spent on it.
struct CostSeen {
    std::vector<measure::FrameShare> frames;
    double seconds = 0;
    std::uint64_t forwarded = 0;
    std::uint64_t lost = 0;
    agent::CpuUse before, after;
    bool is_shared =
        false;  // the tester runs on the same CPUs: what they spent is not the DUT's alone
};
verdict::Cell conclude(const std::string& id, const CostSeen& seen);

// Frames that a DUT forwarded under more than it carries, with one thing off and on in turn.
struct SwitchSeen {
    struct Round {
        double off_pps = 0, on_pps = 0;
        std::optional<double> off_cycles, on_cycles;  // a frame
        std::uint64_t off_bad = 0, on_bad = 0;        // frames with a wrong checksum
    };
    std::string what;     // "rx-gro of ens1f0"
    std::string command;  // that switches it on
    std::vector<Round> rounds;
    std::string lacks;  // why it was not measured; empty: it was
    std::string tester_limit;
};
verdict::Cell conclude(const std::string& id, const SwitchSeen& seen);

// One load, repeated with the DUT spread over more of its CPUs.
struct ScaleSeen {
    unsigned cpus = 1;
    std::vector<double> forwarded_pps;  // by round
    std::string lacks;
    std::string tester_limit;
};
verdict::Cell conclude(const std::string& id, const ScaleSeen& seen);

// All measured values.
struct Seen {
    Medium medium;
    std::vector<std::pair<std::string, ThroughputSeen>> throughput;  // by cell
    std::vector<LatencySeen> latency;
    std::optional<LossSeen> loss;
};
// Frames/s and Gbit/s by frame size, with the line rate where there is one.
std::vector<verdict::Chart> charts(const Seen& seen);
// "64 bytes: 1,234,567 frames/s without loss (83 % of line rate) ..."
std::string headline(const Seen& seen);
// One sentence for each thing that figures do not say: software path, tester as limit.
std::vector<std::string> explanation(const Seen& seen);

}  // namespace pathproof::scenario::performance
