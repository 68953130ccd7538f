// The ports of a run, each once, whatever number of queues of it are used.
#pragma once

#include <string>
#include <vector>

#include "dataplane/load/load_run.h"

namespace pathproof::load {

struct RunPorts {
    explicit RunPorts(const Roles& roles);

    // One sentence for each link that is not up.
    std::vector<std::string> link_troubles() const;
    // Returns the port's number among the run's ports, senders' first.
    std::size_t number(const port::Port& port) const;

    std::vector<port::Port*> senders;
    std::vector<port::Port*> receivers;
    std::vector<port::Port*> all;
};

// Adds up the counters of all ports.
port::PortCounters counters_of(const std::vector<port::Port*>& ports);
std::string names_of(const std::vector<port::Port*>& ports);

}  // namespace pathproof::load
