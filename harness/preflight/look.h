// Looks at each thing that a run on a lab file takes: for `lab check`, and for a section of each report.
#pragma once

#include <functional>
#include <vector>

#include "harness/agent/client.h"
#include "harness/lab/lab_file.h"
#include "harness/lab/preflight.h"
#include "harness/tester/client.h"
#include "harness/verdict/preflight.h"

namespace pathproof::preflight {

// Opens a tester on all ports of the file, in their order, for as long as the given function runs. Errors: why it
// cannot, and those of the function.
using WithTester = std::function<Status(const std::function<Status(tester::Client&)>&)>;

// The CPUs of a port's lcores: those that the file says, or that a run takes without.
lab::LcoresOf lcores_in(const lab::LabFile& file);

// Adds to `checks` (those of the tester's machine) the tester's kernel devices, the DUT (null: its agent did not
// start) and the cables, by a few probe frames. Nothing is changed.
std::vector<lab::Check> look_at(const lab::LabFile& file, agent::Client* dut,
                                std::vector<lab::Check> checks, const WithTester& with_tester,
                                lab::Sightings& seen);

// Describes the checks as the report has them, with the ports and cables of the file.
verdict::Preflight describe(const lab::LabFile& file, agent::Client* dut,
                            const std::vector<lab::Check>& checks, const lab::Sightings& seen);

}  // namespace pathproof::preflight
