// The CPUs on which a run's workers sit, and what is wrong with that choice.
#pragma once

#include <string>
#include <vector>

#include "dataplane/load/load_run.h"

namespace pathproof::load {

// Deals queues out to lcores, transmit queues from the first, receive queues from the last: with two
// lcores and one queue one sends and the other receives, with as many queues as lcores each does
// both. Frames leave `sending` and come back at `receiving`, which may be the same port.
Roles share_queues(unsigned lcores, std::uint16_t queues, port::Port& sending,
                   port::Port& receiving);

// Sentences: two workers on one CPU, workers on another NUMA node than a port that they use.
std::vector<std::string> placement_troubles(const Roles& roles);

}  // namespace pathproof::load
