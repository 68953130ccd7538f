// large-answer: an answer that is larger than a packet or than the query takes comes in fragments or is
// cut, and the path or the resolver does not carry what has to follow. Measuring and concluding are apart:
// large_answer.cc runs cells, large_answer_conclude.cc makes verdicts of plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/resolver/resolver.h"
#include "harness/scenario/concluded.h"
#include "harness/scenario/model/figure.h"
#include "harness/scenario/resolvers/resolver_bench.h"

namespace pathproof::scenario {

struct LargeAnswerCell {
    std::string id;
    std::string label;  // in charts
    verdict::Cell::Role role = verdict::Cell::Role::kMatrix;
    resolver::Kind who = resolver::Kind::kGlibc;
    unsigned bytes = 4096;  // the whole answer has so many at most, and 16 less at least
    std::string options;    // of resolv.conf
    // The server.
    std::uint16_t largest_udp = 1232;
    bool ignores_query_size = false;
    bool serves_tcp = true;
    // The path.
    unsigned server_mtu = 1500;    // of the server's link
    bool drops_fragments = false;  // on the DUT
    bool filters_tcp = false;      // to port 53, on the DUT
    bool allows_tcp = false;       // before that filter
    bool again = false;            // a cell of before, after its cure was taken away
};

struct LargeAnswerValues {
    std::vector<std::string> objections;  // why it is no result; empty when it is one
    std::string lacking;                  // what this machine lacks for it
    std::uint64_t lookups = 0, whole = 0;
    std::uint64_t addresses = 0;         // of the name
    std::uint64_t fewest_addresses = 0;  // that a lookup came to
    double longest_ms = 0;
    std::string outcome;  // of the first that was harmed: "EAI_AGAIN"
    // Lookups that failed, took 1 s or more or came to fewer addresses than the name has: an answer's
    // fragments came to the DUT, were not joined there, and did not come to the client; the answer was cut, and the resolver's connection to
    // the server did not leave the DUT, was refused by the server, was not tried; something else happened;
    // nothing tells why.
    std::uint64_t by_fragments = 0, by_filter = 0, by_refusal = 0, by_resolver = 0, by_other = 0,
                  unexplained = 0;
    std::string other;                // a cause in a word, of by_other
    std::uint64_t oversized = 0;      // answers over UDP, larger than their query takes
    std::uint64_t cut = 0;            // answers over UDP with TC
    std::uint64_t largest_udp = 0;    // answer over UDP, bytes
    std::uint64_t query_takes = 0;    // bytes over UDP
    std::uint64_t fragments_in = 0;   // from the server, into the DUT
    std::uint64_t fragments_out = 0;  // at the client
    std::uint64_t reassembled = 0;    // datagrams that the DUT joined of fragments
    std::uint64_t syns_in = 0;        // to port 53, into the DUT
    std::uint64_t syns_out = 0;       // at the server
    std::uint64_t refusals = 0;       // RSTs from port 53, at the client

    std::uint64_t harmed() const {
        return by_fragments + by_filter + by_refusal + by_resolver + by_other + unexplained;
    }
};

using MeasuredLargeAnswerCell = Measurement<LargeAnswerCell, LargeAnswerValues>;

// Returns the cells in the order in which they run.
std::vector<LargeAnswerCell> large_answer_plan();
Scenario large_answer_scenario();

// Returns the number of addresses (A) that fit an answer of `bytes` bytes to a question for a name of that
// length.
unsigned addresses_in(unsigned bytes, std::size_t name_length);

// Counts a cell's fragments, cut answers and connections on the wire, and finds what harmed each lookup.
// `server`: its address. `seen.reassembled` is filled in before.
void judge_large_answers(const LargeAnswerCell& what, const std::vector<LookupTrail>& trails,
                         const RoundFrames& frames, const frame::IpAddress& server,
                         LargeAnswerValues& seen);

using LargeAnswerConclusions = model::Conclusions<LargeAnswerCell, LargeAnswerValues>;
const LargeAnswerConclusions& large_answer_conclusions();

inline verdict::Cell conclude(const LargeAnswerCell& what, const LargeAnswerValues& seen) {
    return large_answer_conclusions().conclude(what, seen);
}
inline verdict::ScenarioResult conclude(const std::vector<MeasuredLargeAnswerCell>& cells) {
    return large_answer_conclusions().conclude(cells);
}

}  // namespace pathproof::scenario
