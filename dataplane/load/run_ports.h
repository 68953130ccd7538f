// The ports of a run, each once, whatever number of queues of it are used.
#pragma once

#include <string>
#include <vector>

#include "dataplane/load/load_run.h"

namespace pathproof::load {

class RunPorts {
  public:
    explicit RunPorts(const Roles& roles);

    struct Counters {
        port::PortCounters senders;
        port::PortCounters receivers;
    };
    Counters counters() const;
    // One sentence for each link that is not up.
    std::vector<std::string> link_troubles() const;

    std::string sender_names() const;
    std::string receiver_names() const;
    // Among the run's ports, senders' first.
    std::size_t number(const port::Port& port) const;

  private:
    std::vector<port::Port*> senders_;
    std::vector<port::Port*> receivers_;
    std::vector<port::Port*> all_;
};

}  // namespace pathproof::load
