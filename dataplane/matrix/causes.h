// Tells the causes among a row's findings from those that follow from them.
#pragma once

#include <span>
#include <vector>

#include "dataplane/matrix/tx_cell.h"

namespace pathproof::matrix {

struct Cause {
    const TxFinding* finding = nullptr;
    // Enough frames bear its title out. Otherwise the frames are wrong all the same, and UNKNOWN.
    bool named = true;
};

// A checksum that was written to the wrong place leaves the right place unfinished: the first is
// the cause. There is at least one where there are findings, in their order.
std::vector<Cause> causes_among(std::span<const TxFinding> findings);

}  // namespace pathproof::matrix
