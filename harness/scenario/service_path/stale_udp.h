// stale-udp: a UDP flow keeps the DNAT of an endpoint that its service has no more. Measuring and
// concluding are apart: stale_udp.cc runs cells, stale_udp_conclude.cc makes verdicts of plain
// values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/scenario/concluded.h"
#include "harness/scenario/model/figure.h"
#include "harness/scenario/settings/service.h"

namespace pathproof::scenario {

// The sender's behaviour after the service's rules have changed.
enum class AfterChange : std::uint8_t {
    kGoesOn,   // sends on, from its port
    kNewFlow,  // sends from another port
    kSilent,   // is silent for longer than the entry lives, then sends on
    kForgets,  // sends on, and the entries of the endpoint that is gone are deleted
};

// The endpoint that the service has then.
enum class ServiceEndpoint : std::uint8_t { kFirst, kSecond, kNone };

struct StaleUdpCell {
    std::string id;
    std::string label;  // in charts
    verdict::Cell::Role role = verdict::Cell::Role::kMatrix;
    ServiceEndpoint changed_to = ServiceEndpoint::kSecond;
    AfterChange then = AfterChange::kGoesOn;
    bool again = false;  // the first cell, after its cure was taken away
    frame::Family family = frame::Family::kIpv4;
    Proxy proxy = Proxy::kIptables;
    bool expires_nodest = false;  // net.ipv4.vs.expire_nodest_conn

    bool by_ipvs() const { return proxy == Proxy::kIpvs; }
    bool has_endpoint() const { return changed_to == ServiceEndpoint::kSecond; }
};

struct StaleUdpValues {
    std::vector<std::string> objections;  // why it is no result; empty when it is one
    std::string lacks;                    // what this machine has not, and the cell takes
    std::uint64_t sent_before = 0, reached_before = 0;  // before the rules were changed
    // Datagrams after it, by where they came out.
    std::uint64_t sent = 0;
    std::uint64_t to_gone = 0;    // the endpoint that the service had
    std::uint64_t to_new = 0;     // the one that it has
    std::uint64_t rejected = 0;   // counted by the service's REJECT
    std::uint64_t rule_hits = 0;  // counted by its rule, whichever it is
    // The entry of the flow at the end: to the service, and out to the endpoint that is gone.
    bool entry = false;
    bool entry_is_new = false;          // not that from before the change
    std::uint64_t entry_packets = 0;    // by which it grew after the change
    std::uint32_t entry_timeout_s = 0;  // that it had left
    std::string entry_text;
    // IPVS's connection of the flow at the end, and whether it goes to the endpoint that is gone.
    std::string ipvs_connection;
    bool ipvs_to_gone = false;
    std::uint64_t deleted = 0;  // entries, by the cure
    bool bystander = false;     // an entry of another flow was there in the end
    std::string cure_command;

    std::uint64_t lost() const {
        const std::uint64_t known = to_gone + to_new + rejected;
        return sent > known ? sent - known : 0;
    }
};

using MeasuredStaleUdpCell = Measurement<StaleUdpCell, StaleUdpValues>;

// Returns the cells in the order in which they run.
std::vector<StaleUdpCell> stale_udp_plan();
Scenario stale_udp_scenario();

using StaleUdpConclusions = model::Conclusions<StaleUdpCell, StaleUdpValues>;
const StaleUdpConclusions& stale_udp_conclusions();

inline verdict::Cell conclude(const StaleUdpCell& what, const StaleUdpValues& seen) {
    return stale_udp_conclusions().conclude(what, seen);
}
inline verdict::ScenarioResult conclude(const std::vector<MeasuredStaleUdpCell>& cells) {
    return stale_udp_conclusions().conclude(cells);
}

}  // namespace pathproof::scenario
