#include "harness/truth/tally.h"

#include "dataplane/base/by_frequency.h"

namespace pathproof::truth {

using verdict::Observation;
using verdict::Observed;

Observation observation_of(const Tally& tally, const std::string& cell,
                           const std::string& wrong_cell) {
    Observation seen{.frames = tally.frames, .wrong = std::min(tally.wrong, tally.frames)};
    if (tally.wrong != 0) {
        seen.observed = Observed::kWrong;
        seen.names = by_frequency(tally.names);
        seen.cell = wrong_cell;
    } else if (tally.frames != 0) {
        seen.observed = Observed::kRight;
        seen.cell = cell;
    } else if (tally.refused != 0) {
        seen.observed = Observed::kRefused;
        seen.note = "the driver would not take the frames";
    } else {
        seen.note = tally.lacking != 0 ? "the port lacks an offload that such frames need"
                                       : "no row of the matrix is of this kind";
    }
    return seen;
}

bool is_of_delivery(const matrix::RxFinding& finding) {
    return finding.kind == matrix::RxFindingKind::kNotDelivered ||
           finding.kind == matrix::RxFindingKind::kChanged;
}

void tally_delivery(const RxRow& row, Tally& tally) {
    tally.frames += row.result.frames;
    for (const matrix::RxFinding& finding : row.result.findings) {
        if (is_of_delivery(finding)) {
            tally.add(finding.title, finding.frames);
        }
    }
}

}  // namespace pathproof::truth
