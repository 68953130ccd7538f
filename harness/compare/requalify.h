// Differences between two environments that void a certificate. The rules are one table.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/compare/compare.h"

namespace pathproof::compare {

enum class Consequence {
    kVoid,  // the certificate no longer says anything of this system: qualify it again
    kFigures,  // verdicts on right and wrong hold; rates, latencies and prices have to be measured again
    kHolds,
};
const char* name(Consequence consequence);  // "void", "figures void", "holds"

// The first rule that fits a difference decides. Patterns as of fnmatch(3), whatever the case of their letters.
struct RequalifyRule {
    const char* where;  // "Kernel", "DUT device *"
    const char* what;   // "release", "firmware*"
    Consequence consequence;
    const char* why;
};
// In order; the last one fits all.
std::span<const RequalifyRule> requalify_rules();

struct Requalification {
    struct Item {
        Difference difference;
        const RequalifyRule* rule = nullptr;
    };
    std::vector<Item> items;  // the gravest first; those that change nothing are among them
    Consequence consequence = Consequence::kHolds;  // the gravest of all
};
// `differences`: as of differences() in compare.h.
Requalification requalify(const std::vector<Difference>& differences);

// For people; ends with a line end.
std::string text(const Requalification& requalification);

}  // namespace pathproof::compare
