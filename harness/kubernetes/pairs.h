// Figures of pairs of A and AAAA queries, each pair from one socket.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/agent/dns_load_report.h"
#include "harness/verdict/result.h"

namespace pathproof::kubernetes {

struct PairFigures {
    std::uint64_t asked_for = 0;
    std::uint64_t sent = 0;       // the rest was left out: stopped, or no CPU in time
    std::uint64_t both = 0;       // answered in time and without an error code
    std::uint64_t one = 0;        // one answer of two came
    std::uint64_t none = 0;       // none came, and nothing said why
    std::uint64_t refused = 0;    // an ICMP error came instead of an answer
    std::uint64_t errors = 0;     // both came, one with an error code
    std::uint64_t truncated = 0;  // one came with TC set, the other came too: to be asked over TCP
    std::uint64_t over_tcp = 0;   // of these, answered over TCP then
    std::string tcp_trouble;      // of the last one that was not
    verdict::Interval failed_share;  // of those sent, 95 %, 0 to 1
    // To the second answer, of those with both.
    double median_ms = 0, p99_ms = 0, slowest_ms = 0;
    std::vector<agent::DnsLoadReport::Lookup> failed;
};
PairFigures judge_pairs(const agent::DnsLoadReport& report, std::uint64_t asked_for);
// Returns whether all its answers came, and one of them truncated.
bool is_truncated(const agent::DnsLoadReport::Lookup& lookup);
// Adds a truncated lookup that was made again over TCP; `trouble` where that failed too.
void add_tcp(PairFigures& figures, const agent::DnsLoadReport::Lookup& lookup,
             const std::string& trouble);

// Lines, the verdict in the last one, without its end.
std::string text_of(const PairFigures& figures);
// 0: no lookup failed; 1: some did; 3: none did, but not all were sent.
int exit_code_of(const PairFigures& figures);

}  // namespace pathproof::kubernetes
