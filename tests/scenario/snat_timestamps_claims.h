// What the texts of snat-timestamps may not say: that more refused SYNs, slow connects or counters
// were seen than its cells hold.
#pragma once

#include <regex>
#include <string>
#include <vector>

#include "harness/verdict/result.h"

// Sentences "N of M" with N above M, and a cause without a cell that fails by it.
inline std::vector<std::string> false_timestamp_claims(
    const pathproof::verdict::ScenarioResult& result) {
    std::vector<std::string> found;
    std::vector<std::string> texts = {result.headline, result.cause, result.cure};
    texts.insert(texts.end(), result.explanation.begin(), result.explanation.end());
    bool refused = false;
    for (const auto* cells : {&result.cells, &result.controls}) {
        for (const auto& cell : *cells) {
            texts.push_back(cell.reason);
            for (const auto& measure : cell.measures) {
                refused |= measure.name.starts_with("refused_by_") && !measure.value.is_zero();
            }
        }
    }
    static const std::regex kShare("\\b([0-9]+) of ([0-9]+)\\b");
    for (const std::string& text : texts) {
        for (std::sregex_iterator at(text.begin(), text.end(), kShare), end; at != end; ++at) {
            if (std::stod((*at)[1]) > std::stod((*at)[2])) {
                found.push_back("'" + at->str() + "': " + text);
            }
        }
    }
    if (!result.cause.empty() && !refused) {
        found.push_back("a cause, and no SYN was refused: " + result.cause);
    }
    return found;
}
