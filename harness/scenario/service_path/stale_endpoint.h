// stale-endpoint: a service's rules still name endpoints that are dead, and a share of its connections
// fails. Measuring and concluding are apart: stale_endpoint.cc runs cells,
// stale_endpoint_conclude.cc makes verdicts of plain values.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "harness/scenario/concluded.h"
#include "harness/scenario/model/figure.h"
#include "harness/scenario/settings/endpoints.h"
#include "harness/scenario/settings/service.h"

namespace pathproof::scenario {

struct EndpointCell {
    std::string id;
    std::string label;  // in charts
    verdict::Cell::Role role = verdict::Cell::Role::kMatrix;
    // Endpoints that the rules name: those that serve, and what the dead ones are.
    unsigned serving = 6;
    std::vector<EndpointState> dead = std::vector(2, EndpointState::kClosed);
    bool again = false;  // a cell of before, after its cure was taken away
    Proxy proxy = Proxy::kIptables;
    frame::Family family = frame::Family::kIpv4;

    std::size_t named() const { return serving + dead.size(); }
};

// Outcome of one connect.
enum class ConnectEnd : std::uint8_t {
    kServed,
    kRefused,
    kTimedOut,
    kUnreachable,
    kStranger,  // connected, and what answered is not the service
    kOther,     // another error
    kNothing,   // connected, and nothing was said in time: no dead endpoint's doing
};
inline constexpr std::size_t kConnectEnds = 7;

struct EndpointTally {
    std::string address;
    EndpointState state = EndpointState::kServes;
    bool dead() const { return state != EndpointState::kServes; }
    std::uint64_t hits = 0;    // of its DNAT rule
    std::uint64_t flows = 0;   // connects whose entry or event goes to it
    std::uint64_t failed = 0;  // of them
};

struct EndpointValues {
    std::vector<std::string> objections;  // why it is no result; empty when it is one
    std::string lacks;                    // what this machine has not, and the cell takes
    std::vector<EndpointTally> endpoints;
    std::uint64_t ends[kConnectEnds] = {};
    std::uint64_t failed_without_entry = 0;  // that neither an entry nor an event names
    // Failed connects whose SYN the DUT dropped, for something else than the state of its endpoint; the
    // causes, and the words for them.
    std::uint64_t stopped = 0;
    std::uint64_t stopped_to_dead = 0;  // of them, on their way to an endpoint that is dead
    std::string stopped_by, stopped_how;
    std::string not_followed = "packets were not followed";  // why that is not known; empty: it is

    std::uint64_t count(ConnectEnd end) const { return ends[static_cast<std::size_t>(end)]; }
    std::uint64_t connects() const;
    std::uint64_t failed() const { return connects() - count(ConnectEnd::kServed); }
    // Failed connects: by an entry or event to a dead endpoint, or to one that serves; by the count of
    // a dead one's rule beyond its entries; by nothing.
    std::uint64_t by_entry() const;
    std::uint64_t at_serving() const;
    std::uint64_t by_counter() const;
    std::uint64_t unexplained() const { return failed_without_entry - by_counter(); }
    // Failed connects that came to a dead endpoint: what the DUT dropped before is not among them.
    std::uint64_t at_dead() const;
};

using MeasuredEndpointCell = Measurement<EndpointCell, EndpointValues>;

// Returns the cells in the order in which they run.
std::vector<EndpointCell> endpoint_cells();
Scenario stale_endpoint_scenario();

// The smallest and the largest number of hits in the central 99.9 % of a binomial distribution.
std::pair<std::uint64_t, std::uint64_t> binomial_band(std::uint64_t trials, double chance);

using EndpointConclusions = model::Conclusions<EndpointCell, EndpointValues>;
const EndpointConclusions& stale_endpoint_conclusions();

inline verdict::Cell conclude(const EndpointCell& what, const EndpointValues& seen) {
    return stale_endpoint_conclusions().conclude(what, seen);
}
inline verdict::ScenarioResult conclude(const std::vector<MeasuredEndpointCell>& cells) {
    return stale_endpoint_conclusions().conclude(cells);
}

}  // namespace pathproof::scenario
