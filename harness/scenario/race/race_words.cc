#include "harness/scenario/race/race_words.h"

#include <algorithm>

#include "harness/setting/cures.h"

namespace pathproof::scenario {

using join::Fate;

const char* race_title(Race race) {
    switch (race) {
        case Race::kSameTuple: return "Same 5-tuple";
        case Race::kSnatCollision: return "SNAT collision";
        case Race::kLateAnswer: return "Late answer";
    }
    return "";
}

std::string cure_of(Race race) {
    switch (race) {
        case Race::kSameTuple: return setting::cure("single-request").text();
        case Race::kSnatCollision: return setting::cure("random-fully").quoted();
        case Race::kLateAnswer:
            return setting::cure("single-request-reopen").text() + ": a socket for each query";
    }
    return "";
}

std::string seconds_text(std::int64_t ns) {
    return fmt::format("{:.3f} s", static_cast<double>(ns) / 1e9);
}

std::uint64_t own_harm(const RaceCell& what, const RaceValues& seen) {
    return seen.found.count(Fate::kDroppedAtInsertion) +
           (what.race == Race::kSnatCollision ? 0 : seen.found.count(Fate::kUntranslatedAnswer));
}

std::uint64_t clashes(const RaceValues& seen) {
    return std::max(seen.clash_resolve, seen.found.with(join::kHiddenEntry));
}

std::uint64_t pairs_raced(const RaceValues& seen) {
    return std::min(clashes(seen) + seen.found.count(Fate::kDroppedAtInsertion),
                    seen.found.with(0));
}

std::string exposure_text(const RaceValues& seen) {
    const std::uint64_t hidden = seen.found.with(join::kHiddenEntry);
    Clauses clauses;
    tell_count(clauses, seen.clash_resolve,
               "conntrack resolved {} clashes of {} pairs (clash_resolve)", seen.found.with(0));
    tell_count(clauses, hidden, "{} pairs needed a hidden entry (NAT_CLASH)");
    const std::uint64_t merged = clashes(seen) - hidden;
    tell_count(clauses, merged, "{} clashes were merged into the first packet's entry");
    return in_a_row(clauses);
}

std::string cause_text(const RaceCell& what, const RaceValues& seen) {
    std::string text;
    if (clashes(seen) != 0) {
        text =
            "A and AAAA leave one socket together, and both packets pass conntrack's lookup before "
            "either entry is confirmed: " +
            exposure_text(seen) + ".";
    }
    const std::uint64_t refused = seen.found.count(Fate::kDroppedAtInsertion);
    if (refused != 0) {
        text += what.race == Race::kSnatCollision
                    ? "MASQUERADE keeps a client's source port if it looks free. Two clients with "
                      "one source port that start together both find it free; the entry inserted "
                      "second is refused and its packet dropped"
                    : " The second packet's entry was refused and the packet dropped";
        text += fmt::format(": {} queries, insert_failed rose by {}.", refused, seen.insert_failed);
    }
    if (const std::uint64_t count = seen.found.count(Fate::kUntranslatedAnswer); count != 0) {
        text += fmt::format(
            " The hidden entry of a clash lives for 1 s. {} answers came later, {} after their "
            "query at the least: they were not translated back and came from the backend's own "
            "address",
            count, seconds_text(seen.found.least_age_ns));
        text += seen.insert_failed + seen.drop == 0 ? "; insert_failed and drop stayed 0." : ".";
    }
    return text;
}

}  // namespace pathproof::scenario
