// dns-tcp-limit: dnsmasq serves DNS over TCP with a process for each connection, 20 at a time, and a
// cache before it opens more. Measuring and concluding are apart: dns_tcp_limit.cc runs cells,
// dns_tcp_limit_conclude.cc makes verdicts of plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/agent/dns_load_report.h"
#include "harness/agent/forwarder_report.h"
#include "harness/agent/tcp_queue_report.h"
#include "harness/scenario/concluded.h"
#include "harness/scenario/model/figure.h"

namespace pathproof::scenario {

enum class TcpLimitLoad : std::uint8_t {
    kBurst,    // names at once through the cache
    kIdle,     // the same; then another client asks by TCP while the cache's connections are idle
    kForward,  // names at once by UDP, straight to dnsmasq: --dns-forward-max
};

struct TcpLimitCell {
    std::string id;
    std::string label;  // in charts
    verdict::Cell::Role role = verdict::Cell::Role::kMatrix;
    TcpLimitLoad load = TcpLimitLoad::kBurst;
    std::uint32_t names = 0;
    // Settings of the cures; 0: the program's default.
    std::uint32_t max_tcp_connections = 0;
    std::uint32_t dns_forward_max = 0;
    bool prefer_udp = false;
    std::uint32_t max_idle = 0;
    bool again = false;  // after the cure was taken away
};

// A lookup that failed or came late, by what its tries met.
// Longer than the first two retransmissions of an answer take (RTO 200 ms at least, doubled): the path
// loses it.
inline constexpr std::int64_t kLongUnacknowledgedNs = 500'000'000;

struct TcpLimitHarm {
    std::uint64_t by_queue = 0;    // each waited in the listening socket's queue, or found it full
    std::uint64_t by_server = 0;   // accepted, and not answered in time
    std::uint64_t by_loss = 0;     // accepted and answered, and the answer was not acknowledged
    std::uint64_t by_rubbish = 0;  // answered with what is no DNS message
    std::uint64_t by_answer = 0;   // answered with an error
    std::uint64_t by_refusal = 0;  // connections refused, reset or closed
    std::uint64_t not_connected = 0;  // and the queue was not full
    std::uint64_t unexplained = 0;

    std::uint64_t all() const {
        return by_queue + by_server + by_loss + by_rubbish + by_answer + by_refusal +
               not_connected + unexplained;
    }
};

struct TcpLimitValues {
    std::vector<std::string> objections;  // why it is no result; empty when it is one
    std::string skipped;                  // why it was not run; empty when it was
    // Counts at the clients; for kIdle, at the other client.
    std::uint64_t lookups = 0;
    std::uint64_t answered = 0;  // in time, without an error
    std::uint64_t late = 0;
    std::uint64_t servfail = 0;
    std::uint64_t refused = 0;  // REFUSED
    std::uint64_t unanswered = 0;
    double slowest_ms = 0;
    TcpLimitHarm harm;
    // Counts at the cache.
    std::uint64_t dials = 0;
    std::uint64_t most_open = 0;
    std::uint64_t idle = 0;  // in the end
    // Counts at dnsmasq, while the connections were held.
    std::uint64_t workers = 0;            // its child processes
    std::optional<std::uint64_t> in_use;  // that it says itself
    std::uint64_t most_workers = 0;       // that it starts; 0: it does not say
    std::uint64_t most_waiting = 0;       // Recv-Q of its listening socket
    std::uint64_t overflows = 0;          // TcpExt.ListenOverflows of its host
    bool udp_answered = false;            // a lookup by UDP meanwhile
    double udp_ms = 0;
    // For kIdle: a lookup waits, and the connections end meanwhile.
    bool freed = false;  // it was tried
    bool freed_answered = false;
    double freed_ms = 0;  // from that end to its answer
    // For kForward: values from dnsmasq's log.
    std::uint64_t forward_max = 0;
    std::string forward_line;

    std::uint64_t harmed() const { return late + servfail + refused + unanswered; }
};

using MeasuredTcpLimitCell = Measurement<TcpLimitCell, TcpLimitValues>;

// Returns the cells in the order in which they run.
std::vector<TcpLimitCell> dns_tcp_limit_plan();
Scenario dns_tcp_limit_scenario();

using TcpLimitConclusions = model::Conclusions<TcpLimitCell, TcpLimitValues>;
const TcpLimitConclusions& dns_tcp_limit_conclusions();

inline verdict::Cell conclude(const TcpLimitCell& what, const TcpLimitValues& seen) {
    return dns_tcp_limit_conclusions().conclude(what, seen);
}
inline verdict::ScenarioResult conclude(const std::vector<MeasuredTcpLimitCell>& cells) {
    return dns_tcp_limit_conclusions().conclude(cells);
}

// Counts by cause the lookups of a load that were late or not answered well. `from`: the cache's
// address. `overflows`: number of times that the queue was full.
TcpLimitHarm tell_harm(const agent::DnsLoadReport& load, const agent::ForwarderReport& forwarder,
                       const agent::TcpQueue& queue, const frame::IpAddress& from,
                       std::uint64_t overflows);
// Later than that is late: a try of the cache that fails takes 2 s. A SYN that is sent again after 1 s,
// where a burst is larger than the backlog of dnsmasq's socket, is none of it.
inline constexpr double kLateMs = 1900;

// Failed, or answered later than that.
inline bool is_harmed(const agent::DnsLoadReport::Lookup& each) {
    return each.answered == 0 || each.rcode != 0 || each.milliseconds > kLateMs;
}

}  // namespace pathproof::scenario
