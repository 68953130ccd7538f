// Options of `pathproof search`, and the plans made of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/search/goal.h"
#include "harness/cli/generate/lanes.h"
#include "harness/cli/generate/traffic_options.h"
#include "harness/cli/seconds.h"

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace pathproof::cli {

// Options as typed; empty texts and zeros were not given.
struct SearchOptions {
    LaneOptions lanes{.queues = 1};  // one lcore sends, the other receives
    // Devices route as a rule; one that bridges changes less.
    TrafficOptions traffic{.expect = "frames", .allow = "router"};
    std::vector<std::string> sizes;

    double min_load = 0;
    double max_load = 0;
    double throughput = 0;  // known from before
    double max_time_s = 0;
    double trial_s = 0;
    double drain_s = 0.1;
    std::optional<double> offered_tolerance;
    unsigned repeats = 0;
    unsigned retries = 2;
    std::vector<std::string> presets;
    std::vector<std::string> goals;
    double width = 0.005;
    double loss_ratio = 0;
    unsigned attempts = 0;
    double warm_up_s = 0;
    bool no_latency = false;
    double step = 0.1;
    unsigned tests = 50;
    std::uint64_t longest = 0;
    std::uint64_t resolution = 1;
    double overload_s = 60;
    double relief_s = 10;

    bool json = false;
    std::string out;
};

// Ports and frames, loads and budget, output: what every kind of search has.
void add_common_options(CLI::App& command, SearchOptions& options);

// Frames of one size, FCS included. Errors name option and value.
Result<Traffic> traffic_of_size(const SearchOptions& options, std::uint16_t size);
// Sizes with FCS, as typed or, without any, the shortest; 'rfc2544' stands for seven. Errors: one
// that no frame has.
Result<std::vector<std::uint16_t>> frame_sizes(const SearchOptions& options);
// Presets and own goals; without any, NDR and PDR. Errors: what is wrong with which.
Result<std::vector<search::Goal>> search_goals(const SearchOptions& options);

// Share of the intended load that the offered one may lack: as typed, else 0.005 or the finest
// width that is searched for.
double offered_tolerance(const SearchOptions& options);
// Errors: a least load that is not below the greatest, where both were typed.
Status check_loads(const SearchOptions& options);

// Validators of typed loads and of trials' seconds: values that a run can offer, and times that it
// can count.
extern const CLI::Validator kLoad;
extern const CLI::Validator kTypedSeconds;

}  // namespace pathproof::cli
