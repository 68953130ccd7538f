// The job of a process of ours while it is measured, and its report afterwards: JSON on its command
// line and on its standard output.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"

namespace pathproof::bench {

// One port and one lcore for each of `cpus`; lcore k sends on queue k.
struct LoadJob {
    std::string vdev = "net_null0,no-rx=1";
    int control_cpu = 0;
    std::vector<int> cpus = {0};

    // Work of the sending lcores besides sending.
    enum class Back : std::uint8_t {
        kNothing,  // they send only
        kFrames,   // they receive and judge their own frames: a loop
        kAnswers,  // they receive and judge the answers
    } back = Back::kNothing;
    enum class Envelope : std::uint8_t { kNone, kVxlan } envelope = Envelope::kNone;
    // A 64-byte frame has no room for a stamped query, but for stamped UDP.
    enum class Traffic : std::uint8_t { kDnsPairs, kUdp } traffic = Traffic::kDnsPairs;
    enum class UdpChecksum : std::uint8_t { kValid, kZero } checksum = UdpChecksum::kValid;

    frame::MacAddress source_mac;
    frame::MacAddress destination_mac;
    frame::IpAddress source;
    frame::IpAddress destination;
    std::uint64_t flows = 1'000;
    std::uint16_t frame_bytes = 0;  // without FCS and envelope; 0: as short as can be

    double seconds = 1;
    enum class Rate : std::uint8_t {
        kAsFastAsItGoes,
        kWithoutLoss,  // the highest rate, found by halving, at which all comes back
        kClosedLoop,   // as answers come: `outstanding` frames under way at one time
    } rate = Rate::kAsFastAsItGoes;
    std::uint64_t outstanding = 1'000;

    bool operator==(const LoadJob&) const = default;
};

// Addresses of the benchmarking range on a device where nobody looks at them.
LoadJob load_job();

std::string to_text(const LoadJob& job);
// kBadInput for a text that is none.
Result<LoadJob> parse_load_job(const std::string& text);

struct LoadOutcome {
    std::uint64_t sent = 0;
    std::uint64_t unique = 0;  // came back whole, each once
    std::uint64_t missing = 0;
    std::uint64_t bad_checksums = 0;
    double cycles_per_frame = 0;  // time-stamp counter; mean of the lcores
    double frames_per_second = 0;
    double seconds = 0;
    double frame_bytes = 0;  // mean, without FCS
    double tsc_mhz = 0;
    // Loss that a search without loss had to tolerate; 0: nothing was lost. Nothing: no such
    // search.
    std::optional<double> loss_bound;
    std::vector<std::string> objections;

    bool operator==(const LoadOutcome&) const = default;
};

std::string to_text(const LoadOutcome& outcome);
Result<LoadOutcome> parse_load_outcome(const std::string& text);

}  // namespace pathproof::bench
