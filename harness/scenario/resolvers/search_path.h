// search-path: the resolver asks for a name in all of its search list first, and each lost answer of
// these queries delays the lookup. Measuring and concluding are apart: search_path.cc runs cells,
// search_path_conclude.cc makes verdicts of plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/resolver/resolver.h"
#include "harness/scenario/concluded.h"
#include "harness/scenario/model/figure.h"

namespace pathproof::scenario {

// Behaviour that a demonstration must show.
enum class PathShows : std::uint8_t {
    kNothing,
    kNotSearched,  // the name that there is was not asked for
    kNeverEnds,    // the lookups did not end
};

struct SearchPathCell {
    std::string id;
    std::string label;  // in charts
    verdict::Cell::Role role = verdict::Cell::Role::kMatrix;
    resolver::Kind who = resolver::Kind::kGlibc;
    unsigned list = 6;  // names in the search list
    std::string options = "ndots:5";
    // The name behind its first label; a name of the cluster is found below one of the list.
    std::string rest = ".example.com";
    std::string found_below = "";
    unsigned lookups = 30;
    unsigned lost_permille = 20;  // of the queries' first answers
    unsigned lost_copies = 1;     // 2: the second answers of these queries too
    bool one_each = false;        // at most one of them a lookup
    unsigned wait_ms = 5000;      // of the resolver for one answer
    unsigned limit_ms = 30'000;
    PathShows shows = PathShows::kNothing;
    bool again = false;  // a cell of before, after its cure was taken away

    bool one_type() const { return options.find("no-aaaa") != std::string::npos; }
};

// The names that such a resolver asks for, in order, up to the one that there is.
std::vector<std::string> names_asked(const SearchPathCell& what, const std::string& label);
// The name under which there are addresses.
std::string found_name(const SearchPathCell& what, const std::string& label);

struct SearchPathValues {
    std::vector<std::string> objections;  // why it is no result; empty when it is one
    std::string lacking;                  // what this machine lacks for it
    std::uint64_t lookups = 0;
    std::uint64_t ok = 0, killed = 0;
    std::uint64_t computed_queries = 0;  // a lookup
    // Queries and names of lookups that did not wait; 0: there is no such lookup.
    std::uint64_t fewest_queries = 0, most_queries = 0;
    std::uint64_t names = 0;
    std::uint64_t packets = 0;  // on the client's wire, both ways, of all lookups
    std::uint64_t resent = 0;   // queries
    std::uint64_t places = 0, planned = 0,
                  withheld = 0;  // first answers, those to be lost, lost ones
    double computed_hit = 0;     // lookups with one of so many losses in so many places
    // Lookups that waited for an answer or failed, by what was lost: answers for other names alone; for
    // the name itself; something else happened; nothing did.
    std::uint64_t by_search = 0, by_name = 0, by_other = 0, unexplained = 0;
    std::uint64_t failed_by_search = 0;  // of them without an address in the end
    std::string other;                   // a cause in a word, of by_other
    double longest_ms = 0;

    std::uint64_t hit() const { return by_search + by_name + by_other + unexplained; }
};

using MeasuredSearchPathCell = Measurement<SearchPathCell, SearchPathValues>;

// Returns the cells in the order in which they run.
std::vector<SearchPathCell> search_path_plan();
Scenario search_path_scenario();

// Returns the expected number of lookups with at least one of `losses`, which fall at random on all
// lookups' places, `each` of them a lookup.
double computed_hits(std::uint64_t lookups, std::uint64_t each, std::uint64_t losses);

using SearchPathConclusions = model::Conclusions<SearchPathCell, SearchPathValues>;
const SearchPathConclusions& search_path_conclusions();

inline verdict::Cell conclude(const SearchPathCell& what, const SearchPathValues& seen) {
    return search_path_conclusions().conclude(what, seen);
}
inline verdict::ScenarioResult conclude(const std::vector<MeasuredSearchPathCell>& cells) {
    return search_path_conclusions().conclude(cells);
}

}  // namespace pathproof::scenario
