// A DNS forwarder that stands in for CoreDNS, and what it did.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/frame/address.h"
#include "harness/message/fields.h"

namespace pathproof::agent {

// A forwarder that stands in for CoreDNS (forwarder.h).
struct ForwarderOptions {
    frame::Endpoint listen;  // UDP
    frame::Endpoint upstream;
    bool prefer_udp = false;     // UDP to the upstream, too
    std::uint32_t max_idle = 0;  // connections that are kept when they are idle; 0: all
};
FIELDS(ForwarderOptions, listen, upstream, prefer_udp, max_idle)

struct ForwarderTry {
    enum class Outcome : std::uint8_t {
        kOpen,      // not at its end when the forwarder was stopped
        kAnswered,  //
        kTimedOut,  // sent, and no answer in 2 s
        kGivenUp,   // the whole query's 5 s were over
        kRefused,   // refused, reset or closed
        kRubbish,   // what came is no DNS message
    };
    std::uint32_t query = 0;        // in the order in which they came
    std::uint16_t client_port = 0;  // that it came from
    std::uint16_t port = 0;         // of the connection
    std::int64_t start_ns = 0;      // CLOCK_REALTIME
    std::int64_t end_ns = 0;
    bool connected = false;
    Outcome outcome = Outcome::kOpen;
    bool operator==(const ForwarderTry&) const = default;
};
ENUM_VALUES(ForwarderTry::Outcome, 6)
PACKED_FIELDS(ForwarderTry, query, client_port, port, start_ns, end_ns, connected, outcome)

struct ForwarderReport {
    std::uint32_t queries = 0;
    std::uint32_t answered = 0;
    std::uint32_t servfail = 0;
    std::uint32_t dials = 0;
    std::uint32_t most_open = 0;  // connections at a time
    std::uint32_t idle = 0;       // of them idle in the end
    std::string refusal;          // the last one
    std::vector<ForwarderTry> tries;
};
FIELDS(ForwarderReport, queries, answered, servfail, dials, most_open, idle, refusal, tries)

}  // namespace pathproof::agent
