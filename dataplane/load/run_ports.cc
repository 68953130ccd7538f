#include "dataplane/load/run_ports.h"

#include <algorithm>

#include "dataplane/base/counts.h"
#include "dataplane/base/join_each.h"

namespace pathproof::load {
namespace {

void add_once(std::vector<port::Port*>& ports, port::Port* port) {
    if (std::ranges::find(ports, port) == ports.end()) {
        ports.push_back(port);
    }
}

}  // namespace

RunPorts::RunPorts(const Roles& roles) {
    for (const Roles::Queue& sender : roles.senders) {
        add_once(senders, sender.port);
        add_once(all, sender.port);
    }
    for (const Roles::Queue& receiver : roles.receivers) {
        add_once(receivers, receiver.port);
        add_once(all, receiver.port);
    }
}

std::vector<std::string> RunPorts::link_troubles() const {
    std::vector<std::string> troubles;
    for (const port::Port* port : all) {
        if (std::string trouble = port->link_trouble(); !trouble.empty()) {
            troubles.push_back(std::move(trouble));
        }
    }
    return troubles;
}

std::size_t RunPorts::number(const port::Port& port) const {
    return static_cast<std::size_t>(std::ranges::find(all, &port) - all.begin());
}

port::PortCounters counters_of(const std::vector<port::Port*>& ports) {
    port::PortCounters together;
    for (const port::Port* port : ports) {
        add_counts(together, port->counters());
    }
    return together;
}

std::string names_of(const std::vector<port::Port*>& ports) {
    return join_each(ports, [](const port::Port* port) { return port->info().name; });
}

}  // namespace pathproof::load
