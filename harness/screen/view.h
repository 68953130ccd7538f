// `pathproof inspect top` as a function: a snapshot and what the user chose, to lines.
#pragma once

#include "harness/monitor/snapshot.h"
#include "harness/screen/lines.h"
#include "harness/screen/state.h"

namespace pathproof::screen {

// Exactly `size.rows` lines, none wider than `size.columns`. From 80x24 on everything has its
// place; smaller screens show what fits, most important first. `state.first` is brought back to
// the last line that there is.
Lines view(const monitor::Snapshot& snapshot, ViewState& state, Size size);

}  // namespace pathproof::screen
