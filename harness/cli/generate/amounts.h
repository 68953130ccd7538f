// Options for the amount of traffic, its rate and its duration.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "dataplane/base/result.h"
#include "dataplane/load/load_run.h"
#include "harness/cli/generate/rate_text.h"

namespace CLI {
class App;
}

namespace pathproof::cli {

// Options as typed; zeros were not given.
struct AmountOptions {
    std::uint64_t count = 0;  // queries, or pairs
    std::optional<std::string> rate;
    std::uint64_t outstanding = 0;  // queries, or pairs
    double seconds = 0;
    std::optional<double> drain_s;

    // A sender that waits for answers before it asks again is not held back by a rate that nobody
    // asked for.
    std::string rate_text() const { return rate.value_or(outstanding > 0 ? "max" : "1000"); }
};

void add_amount_options(CLI::App& command, AmountOptions& options);

// One unit of --count and --rate, and the link that carries it.
struct UnitFacts {
    unsigned frames = 1;  // 2: pairs
    double mean_frame_bytes = 0;
    std::uint32_t link_mbps = 0;  // of the sending port; 0: not known
    std::string port;
    double timeout_s = 0;  // answers may take so long; 0: nothing is waited for
};

// Errors: a rate that is no share of a known line.
Result<load::TrialOrder> order_of(const AmountOptions& options, const Rate& rate,
                                  const UnitFacts& unit);

// Units that will be sent, as far as that is known; 0: nobody knows.
std::uint64_t units_expected(const AmountOptions& options, const Rate& rate);

}  // namespace pathproof::cli
