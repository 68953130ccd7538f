// The way of each DNS query of a resolver: as it left the client, as the server took it, and as its
// answer came back. Plain values: resolver_bench.h measures them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/agent/dns_server.h"
#include "harness/agent/offload_frames.h"

namespace pathproof::scenario {

// A DNS message in a captured UDP datagram from or to port 53.
struct DnsOnWire {
    std::int64_t time_ns = 0;
    frame::Endpoint client, server;
    bool response = false;
    std::uint16_t id = 0;
    std::string name;
    std::uint16_t type = 0;
    std::uint8_t rcode = 0;
    unsigned addresses = 0;  // records of an address in a response
    bool rubbish =
        false;  // of what comes from port 53 and is no response; then nothing else is known
};
std::optional<DnsOnWire> dns_on_wire(const agent::CapturedFrame& frame);

// One sending of a query.
struct QueryTrail {
    std::string name;
    std::uint16_t type = 0;
    std::uint16_t id = 0;
    frame::Endpoint client;
    bool elsewhere = false;  // sent to another server than ours
    bool tcp = false;        // of these only the server tells, and its answer counts as come
    std::int64_t sent_ns = 0;
    bool taken = false;  // by the server
    bool answered = false;
    std::uint8_t rcode = 0;        // that the server said
    std::uint16_t edns_bytes = 0;  // that the query takes by UDP; 0: it says nothing, and takes 512
    std::uint32_t answer_bytes = 0;  // of the server's answer
    bool truncated = false;          // TC in it
    bool came = false;               // an answer at the client
    double came_after_ms = 0;
    std::uint8_t came_rcode = 0;
    unsigned addresses = 0;  // in it
    bool strayed = false;    // something came to its port that answers no query
};

enum class QueryFate : std::uint8_t {
    kAnswered,
    kWithheld,    // the server took it and left it unanswered, as it was told
    kQueryLost,   // it left the client and the server did not take it
    kAnswerLost,  // the server answered, and no answer came
    kLate,        // the answer came when the resolver did not wait any more
    kForeign,     // an answer came that the server did not give
    kElsewhere,   // the client asked another server, whatever came of it
    kRubbish,     // the server did not take it, and what came in its place is no answer
};
QueryFate fate_of(const QueryTrail& query, double patience_ms);
// "query-lost", "answer-lost", "late-answer", "foreign-answer", "other-server", "rubbish-answer": of the first query whose
// fate is neither of the first two; empty: of none.
std::string strange_fate(const std::vector<QueryTrail>& queries, double patience_ms);
// "the server did not take a query that left the client".
std::string fate_text(const std::string& strange_fate);

// Joins by client's port, id, name and type, each record to the latest sending before it that has none
// yet. In the order of sending. `server` is ours.
std::vector<QueryTrail> join_queries(const frame::IpAddress& server,
                                     const std::vector<DnsOnWire>& queries,
                                     const std::vector<agent::DnsQueryRecord>& log,
                                     const std::vector<DnsOnWire>& answers);

// Returns the part before the first dot.
std::string first_label(const std::string& name);

}  // namespace pathproof::scenario
