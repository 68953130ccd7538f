// The overlay on a DUT that is somebody's, with one cable: the DUT is node A, with its pod in a network namespace on the
// DUT's host; node B and its pod are network namespaces of the tester's machine, behind the tester's port on the cable.
#pragma once

#include <memory>

#include "harness/lab/cabled_nat_path.h"
#include "harness/lab/overlay.h"

namespace pathproof::lab {

// The file and the agents must outlive it; the first device of the file is node A's underlay. `facts`: of the DUT.
Result<std::unique_ptr<Overlay>> cabled_overlay(Journal& journal, const LabFile& file,
                                                const DutAgents& agents, RoleFacts facts);

}  // namespace pathproof::lab
