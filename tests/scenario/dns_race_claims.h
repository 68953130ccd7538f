// Claims that a sentence about a race may make: each phrase that names a mechanism, a place or a
// counter has a value that must not be zero, and each "N of M" lies within its denominator.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/scenario/shares.h"

// Values by the names of a cell's measures; of a scenario: the sums over its cells.
using RaceSums = std::map<std::string, double>;

inline std::vector<std::string> false_claims(const std::string& text, RaceSums values) {
    struct Phrase {
        const char* words;
        std::vector<const char*> measures;
    };
    static const std::vector<Phrase> kPhrases = {
        {"insert_failed rose", {"insert_failed"}},
        {"dropped at insertion", {"by_insertion"}},
        {"packet dropped", {"by_insertion"}},
        {"hidden entry of their clash", {"by_expiry"}},
        {"hidden entry of a clash", {"by_expiry"}},
        {"needed a hidden entry", {"hidden_entries"}},
        {"NAT_CLASH", {"hidden_entries"}},
        {"clash_resolve", {"clash_resolve"}},
        {"merged", {"clash_resolve"}},
        {"another program", {"by_flush"}},
        {"conntrack table was full", {"by_full_table"}},
        {"early_drop", {"early_drop"}},
        {"had no link", {"by_link_down", "outages"}},
        {"dropped by a netfilter rule", {"by_drop"}},
        {"dropped by the kernel", {"by_drop"}},
        {"by a slow path", {"by_slow_path"}},
        {"answered after the timeout", {"queries_late"}},
        {"unexplained", {"unexplained"}},
        {"never answered", {"queries_lost"}},
        {"lost a query", {"queries_lost"}},
        {"backend's own address", {"queries_misdelivered"}},
        {"other content", {"queries_wrong"}},
        {"met two backends", {"met_two_backends"}},
        {"by chance", {"by_insertion"}},
    };
    std::vector<std::string> wrong;
    for (const Phrase& phrase : kPhrases) {
        double sum = 0;
        for (const char* name : phrase.measures) {
            sum += values[name];
        }
        if (sum == 0 && text.find(phrase.words) != std::string::npos) {
            wrong.push_back(std::string("says '") + phrase.words + "' of none: " + text);
        }
    }
    for (const Share& share : shares_in(text)) {
        if (share.part > share.whole) {
            wrong.push_back("says '" + share.words + "' of less: " + text);
        }
    }
    for (const char* none : {" never", " answered", " dropped", " as ", " while", " by ",
                             " unexplained", " pairs", " of "}) {
        for (std::size_t at = text.find(none); at != std::string::npos;
             at = text.find(none, at + 1)) {
            if (number_before(text, at) == 0) {
                wrong.push_back(std::string("states a zero before '") + none + "': " + text);
            }
        }
    }
    return wrong;
}

// The measures of a cell of report.json.
inline RaceSums race_sums(const nlohmann::json& cell) {
    RaceSums sums;
    for (const auto& [name, measure] : cell.at("measures").items()) {
        sums[name] = measure.at("value").is_number() ? measure["value"].get<double>() : 0;
    }
    return sums;
}

// Finds false claims of a whole scenario in report.json: checks each cell's reason against its own
// values, and the scenario's sentences against the sums.
inline std::vector<std::string> false_claims_of(const nlohmann::json& scenario) {
    std::vector<std::string> wrong;
    RaceSums all;
    const auto check = [&](const std::string& text, const RaceSums& sums) {
        const auto found = false_claims(text, sums);
        wrong.insert(wrong.end(), found.begin(), found.end());
    };
    for (const char* list : {"cells", "controls"}) {
        for (const nlohmann::json& cell : scenario.at(list)) {
            RaceSums sums = race_sums(cell);
            for (const auto& [name, value] : sums) {
                all[name] += value;
            }
            // Only such a cell names one without harm.
            sums["outages"] = cell["verdict"] == "ERROR" ? 1 : 0;
            check(cell.at("reason"), sums);
        }
    }
    all["outages"] = 1;
    for (const char* part : {"headline", "cause", "cure"}) {
        check(scenario.at(part), all);
    }
    for (const nlohmann::json& paragraph : scenario.at("explanation")) {
        check(paragraph, all);
    }
    for (const nlohmann::json& proof : scenario.at("proofs")) {
        check(proof.at("conclusion"), all);
    }
    return wrong;
}
