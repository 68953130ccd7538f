// The fate of every query of a pair plan. Totals are recomputed from the records, and must balance
// with the frames that the ports counted; if they do not, the run is an ERROR, not a result.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/frame/address.h"
#include "dataplane/judge/verifier.h"
#include "dataplane/port/port.h"

namespace pathproof::judge {

enum class QueryState : std::uint8_t {
    kAnswered,     // in time, from the service address, with the expected content
    kLate,         // right, but after the timeout
    kWrongSource,  // answers came, but only from another address: a client socket throws them away
    kWrong,        // id, question or records differ from what the responder was told to say
    kNever,        // no answer at all
};
inline constexpr std::size_t kQueryStates = 5;
const char* name(QueryState state);

struct QueryRecord {
    std::uint32_t pair = 0;
    std::uint8_t member = 0;
    QueryState state = QueryState::kNever;
    std::uint8_t duplicates = 0;    // further answers beyond the first (saturates)
    std::uint8_t server_saw = 0;    // copies of the query that reached the responder (saturates)
    frame::Endpoint server;         // where the responder saw it arrive: the DNAT backend
    frame::Endpoint seen_client;    // from where, as the responder saw it: after SNAT
    frame::Endpoint answer_source;  // who the (first, else wrong) answer said it came from
    std::int64_t sent_ns = -1;      // since the run's start; -1: never left
    std::int64_t answered_ns = -1;
};

// Frames that the client ports received, each counted once: received = answers + the named others.
struct ReceiveTally {
    std::uint64_t received = 0;
    std::uint64_t answers = 0;  // frames that the ledger took as an answer to one of our queries
    std::uint64_t bad_checksum = 0;  // not given to the ledger
    std::uint64_t malformed = 0;
    std::uint64_t other_traffic = 0;  // ARP, ICMP, and whatever else is no DNS answer of ours
    std::uint64_t icmp_errors = 0;    // of other_traffic: ICMP destination unreachable and the like
    bool balances() const { return received == answers + bad_checksum + malformed + other_traffic; }
};

struct Departures {
    std::uint64_t sent = 0;
    std::uint64_t late = 0;  // left more than 10 us after their deadline
    std::int64_t worst_late_ns = 0;
    std::int64_t skew_p50_ns = 0;  // between the two members of a pair, as the lcores' TSC saw it
    std::int64_t skew_p99_ns = 0;
    std::uint64_t refused = 0;  // never taken by the driver: counted as not sent
};

struct LatencySummary {
    std::uint64_t count = 0;
    std::int64_t min_ns = 0;
    std::int64_t p50_ns = 0;
    std::int64_t p99_ns = 0;
    std::int64_t max_ns = 0;
};

// Counts by layer and ChecksumState.
using ChecksumCounts = std::array<std::array<std::uint64_t, 4>, kLayerCount>;

struct KeptFrame {
    std::size_t port = 0;      // received on
    std::int64_t time_ns = 0;  // since the run's start
    std::vector<std::uint8_t> bytes;
    ChecksumFinding finding;  // the first bad one
};

struct PairReport {
    std::vector<QueryRecord> records;  // 2 x pairs, pair-major
    Departures departures;
    ReceiveTally client;
    ReceiveTally server;
    ChecksumCounts checksums{};  // client side
    std::vector<KeptFrame> bad_frames;
    std::vector<KeptFrame> misdelivered_frames;  // answers from another source address; no finding
    LatencySummary latency;
    std::vector<port::PortCounters> ports;  // deltas over the run, one a port of the tester
    std::uint64_t tester_lost = 0;  // frames that the tester's own ports dropped (missed, no mbuf)
    double seconds = 0;
    // Reasons why this run is no result ("late departures 12 %", "port s0 lost 31 frames itself").
    // Empty: it is one.
    std::vector<std::string> objections;
    // Workers that waited for their CPU or stood still; no objection by themselves.
    std::vector<std::string> disturbances;

    std::uint64_t count(QueryState state) const;
};

// Recounts the records and compares every total with every other that must agree with it; one
// sentence for each that does not. A run whose audit finds something is an ERROR, whatever its
// other figures say.
std::vector<std::string> audit(const PairReport& report);

}  // namespace pathproof::judge
