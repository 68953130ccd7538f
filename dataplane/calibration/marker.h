// Puts a marker in place of the partial sum into the checksum fields that a probe leaves to the
// NIC: only so can a field that nobody filled in be told from one that holds a partial sum.
#pragma once

#include "dataplane/matrix/probe.h"

namespace pathproof::calibration {

// Marks the fields of all that is handed over. The marker is one that none of the probe's frames
// would have there by chance, right or partial; where all that are tried are so, the first.
void mark_fields(matrix::Probe& probe);

}  // namespace pathproof::calibration
