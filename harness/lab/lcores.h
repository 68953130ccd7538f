// Places the tester's lcores of a lab file on CPUs.
#pragma once

#include <span>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/port/cpus.h"
#include "harness/lab/lab_file.h"

namespace pathproof::lab {

// Gives each port that has a 'numa' and no 'lcores' two CPUs of its node. `usable`: those of this
// process; `may_pin`: whether another one can be named all the same. Errors (kBadInput): a CPU that
// cannot be had, a node without one. Where the kernel tells no nodes, ports are left as they are.
Status place_lcores(LabFile& lab, std::span<const port::PlacedCpu> usable, bool (*may_pin)(int));
Status place_lcores(LabFile& lab);  // on this machine

// A run has two lcores: the first reads the clients' ports, the second plays the servers. Ports without
// 'lcores' may be served by any of `usable`. One: the file gives all ports to it.
std::vector<int> lcores_of_run(const LabFile& lab, const std::vector<int>& usable);

}  // namespace pathproof::lab
