// split-answer: A and AAAA of one name of the search list are answered differently, and the resolver's
// search ends there. Measuring and concluding are apart: split_answer.cc runs cells,
// split_answer_conclude.cc makes verdicts of plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/resolver/resolver.h"
#include "harness/scenario/concluded.h"
#include "harness/scenario/model/figure.h"

namespace pathproof::scenario {

// The server's reply to one of the two queries.
enum class PairReply : std::uint8_t {
    kData,       // an address
    kNx,         // NXDOMAIN
    kEmpty,      // NOERROR without a record: NODATA
    kCname,      // NOERROR with a CNAME alone
    kCnameData,  // NOERROR with a CNAME and an address, as autopath makes it
    kServFail,
    kRefused,
    kNone,     // no answer
    kRubbish,  // a message that breaks off
};
const char* name(PairReply reply);  // "data", "nx", "empty", "cname", "cname+data", "servfail", ...

struct SplitAnswerCell {
    std::string id;
    std::string label;  // in charts
    verdict::Cell::Role role = verdict::Cell::Role::kMatrix;
    resolver::Kind who = resolver::Kind::kGlibc;
    // Replies for the first name of the search list. The others are NXDOMAIN, and the name itself
    // has addresses.
    PairReply a = PairReply::kNx, aaaa = PairReply::kCname;
    std::string options = "ndots:5";
    bool dot = false;  // behind the name
    resolver::Family family = resolver::Family::kAny;
    bool addrconfig = false;
    enum class Kind : std::uint8_t {
        kPair,
        kExpiry,  // the answers of a cache: first both from autopath, then A's has expired, then both
        kTable,  // all pairs, a lookup each
    } kind = Kind::kPair;
    bool again = false;  // a cell of before, after its cure was taken away
};

// Outcome of one lookup of the table.
struct PairOutcome {
    PairReply a{}, aaaa{};
    std::string outcome;
    double seconds = 0;
    std::uint64_t queries = 0;
};

struct SplitAnswerValues {
    std::vector<std::string> objections;  // why it is no result; empty when it is one
    std::string lacking;                  // what this machine lacks for it
    std::uint64_t lookups = 0, resolved = 0;
    std::uint64_t fewest_queries = 0, most_queries = 0;
    double longest_ms = 0;
    std::string outcome;  // of the first that failed: "EAI_NONAME"
    // Lookups that failed: the search ended at a name of which one answer was NXDOMAIN and the other
    // NOERROR without an address; of which both were NOERROR without an address; something else; nothing
    // tells why.
    std::uint64_t by_split = 0, by_nodata = 0, by_other = 0, unexplained = 0;
    std::string other;    // a cause in a word, of by_other
    std::string ends_at;  // the name where the first search ended, with both answers
    // Durations in a cell with a cache: from the first to the last lookup that failed; between the
    // two expiries.
    double failed_for_ms = 0, split_for_ms = 0;
    std::vector<PairOutcome> table;

    std::uint64_t failed() const { return by_split + by_nodata + by_other + unexplained; }
};

using MeasuredSplitAnswerCell = Measurement<SplitAnswerCell, SplitAnswerValues>;

// Returns the cells in the order in which they run.
std::vector<SplitAnswerCell> split_answer_plan();
Scenario split_answer_scenario();

using SplitAnswerConclusions = model::Conclusions<SplitAnswerCell, SplitAnswerValues>;
const SplitAnswerConclusions& split_answer_conclusions();

inline verdict::Cell conclude(const SplitAnswerCell& what, const SplitAnswerValues& seen) {
    return split_answer_conclusions().conclude(what, seen);
}
inline verdict::ScenarioResult conclude(const std::vector<MeasuredSplitAnswerCell>& cells) {
    return split_answer_conclusions().conclude(cells);
}

}  // namespace pathproof::scenario
