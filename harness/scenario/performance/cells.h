// The cells of the performance scenario, how long its trials are, and its options.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "dataplane/measure/path_load.h"
#include "dataplane/search/mlrsearch.h"
#include "harness/scenario/performance/soak.h"
#include "harness/scenario/scenario.h"

namespace pathproof::scenario::performance {

using Frames = std::vector<measure::FrameShare>;

inline constexpr OptionRow kTrialMs{
    "trial-ms",
    "milliseconds of a trial (1000; 200 where the ports are no hardware): the rest follows from it",
    60'000};
inline constexpr OptionRow kTrials{
    "trials",
    "trials that make a load a bound of the throughput (21; 5 where the ports are no hardware)",
    1'000};
inline constexpr OptionRow kSoak{
    kSoakOption,
    "seconds of a load at 90 % of the rate without loss (0: none): rate, "
    "loss, errors and memory over time",
    30ull * 24 * 3600};

// RFC 2544, 9.1, and a jumbo frame.
inline constexpr std::array<std::uint16_t, 8> kSizes = {64, 128, 256, 512, 1024, 1280, 1518, 9000};
inline constexpr const char* kImix = "imix";
// Its mean is 353.8 bytes: 7 of 64, 4 of 570 and 1 of 1518, as CSIT sends it (IMIX of RFC 6985 has no
// numbers of its own).
inline const Frames kImixFrames = {{64, 7}, {570, 4}, {1518, 1}};

inline constexpr std::array<int, 3> kShares = {10, 50, 90};  // of the PDR
inline constexpr std::array<unsigned, 4> kCpus = {1, 2, 4, 8};

struct Switch {
    const char* feature;  // as `ethtool -k` prints it
    bool is_outgoing;     // of the device by which frames leave
};
inline constexpr std::array<Switch, 12> kSwitches = {{
    {"rx-checksum", false},
    {"rx-gro", false},
    {"rx-gro-hw", false},
    {"rx-gro-list", false},
    {"rx-udp-gro-forwarding", false},
    {"rx-lro", false},
    {"rx-hashing", false},
    {"rx-vlan-hw-parse", false},
    {"tx-checksum-ip-generic", true},
    {"tx-scatter-gather", true},
    {"tx-generic-segmentation", true},
    {"hw-tc-offload", false},
}};
inline constexpr unsigned kRounds = 3;

std::vector<std::string> cell_ids();
// Every figure that a cell may have; a test holds them against the cells.
std::vector<FigureRow> figures();

// Length and number of trials.
struct Pace {
    search::Nanoseconds trial{};
    unsigned trials = 1;
    unsigned repeats = 1;  // of latencies and bursts

    static Pace of(const Options& options, bool is_software);
};

// The search for NDR and PDR at this pace.
search::MlrPlan rates_plan(const Pace& pace, double max_load);

}  // namespace pathproof::scenario::performance
