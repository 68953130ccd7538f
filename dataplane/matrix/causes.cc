#include "dataplane/matrix/causes.h"

#include <algorithm>
#include <set>
#include <string>

namespace pathproof::matrix {
namespace {

// A word that a misplaced checksum explains may be so by chance in one frame; as many frames as a
// name needs are none.
constexpr std::uint64_t kEnoughMisplaced = 3;

const std::set<std::string>& misplaced_names() {
    static const std::set<std::string> kNames = [] {
        std::set<std::string> names;
        for (int i = 1; i <= static_cast<int>(judge::Misplaced::kPlainAsTunnel); ++i) {
            names.insert(judge::name(static_cast<judge::Misplaced>(i)));
        }
        return names;
    }();
    return kNames;
}

bool is_misplaced(const TxFinding& finding) {
    const std::string first = finding.title.substr(0, finding.title.find(" or "));
    return finding.kind != FindingKind::kChecksum && misplaced_names().contains(first);
}

}  // namespace

std::vector<Cause> causes_among(std::span<const TxFinding> findings) {
    std::uint64_t misplaced = 0;
    for (const TxFinding& finding : findings) {
        misplaced += is_misplaced(finding) ? finding.frames : 0;
    }
    const bool sure = misplaced >= kEnoughMisplaced;
    const bool alone = std::ranges::all_of(findings, is_misplaced);
    std::vector<Cause> causes;
    for (const TxFinding& finding : findings) {
        if (alone || is_misplaced(finding) == sure) {
            causes.push_back({&finding, sure || !alone});
        }
    }
    return causes;
}

}  // namespace pathproof::matrix
