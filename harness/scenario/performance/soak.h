// A load for hours: samples of it, one a line in a file of the report's folder, so that a run that was ended
// goes on where it was.
#pragma once

#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/verdict/result.h"

namespace pathproof::scenario {
struct Context;
}

namespace pathproof::scenario::performance {

class PathBench;

inline constexpr const char* kSoakOption = "soak";
inline constexpr const char* kSoakFile = "soak.jsonl";

struct SoakSample {
    double at_s = 0;  // end of the sample, of loaded time alone
    double seconds = 0;
    double offered_pps = 0;
    std::uint64_t sent = 0;
    std::uint64_t lost = 0;
    std::uint64_t bad_checksums = 0;
    std::uint64_t reordered = 0;
    std::uint64_t device_errors = 0;  // rx and tx errors and drops of both of the DUT's devices
    std::int64_t memory_available_kib = 0;
    std::int64_t slab_kib = 0;
    bool tester_limited = false;
    bool operator==(const SoakSample&) const = default;
};

// One soak, as its file holds it.
struct Soak {
    std::string lab;
    double planned_s = 0;
    double load_pps = 0;
    std::uint64_t sittings = 1;  // runs that it took
    std::vector<SoakSample> samples;

    double done_s() const { return samples.empty() ? 0 : samples.back().at_s; }
    bool is_complete() const { return done_s() >= planned_s; }
};

// The first line says what it is, each further one is a sample. A last line that was cut short is left out.
// kBadInput: no such file's text.
Result<Soak> parse_soak(const std::string& text);
std::string head_line(const Soak& soak);
std::string sample_line(const SoakSample& sample);

verdict::Cell conclude(const std::string& id, const Soak& soak);
// Rate and loss, and the DUT's memory, over time.
std::vector<verdict::Chart> soak_charts(const Soak& soak);

// Loads the path until the soak's time is over, adding to an unfinished soak of the same lab and length. Adds
// its charts to the result.
Result<verdict::Cell> run_soak(Context& context, PathBench& bench, double load_pps,
                               verdict::ScenarioResult& result);

}  // namespace pathproof::scenario::performance
