#include "dataplane/load/run_ports.h"

#include <algorithm>

#include "dataplane/port/counters.h"

namespace pathproof::load {
namespace {

void add_once(std::vector<port::Port*>& ports, port::Port* port) {
    if (std::ranges::find(ports, port) == ports.end()) {
        ports.push_back(port);
    }
}

port::PortCounters sum(const std::vector<port::Port*>& ports) {
    port::PortCounters all;
    for (const port::Port* port : ports) {
        all = port::sum(all, port->counters());
    }
    return all;
}

std::string names(const std::vector<port::Port*>& ports) {
    std::string text;
    for (const port::Port* port : ports) {
        text += (text.empty() ? "" : ", ") + port->info().name;
    }
    return text;
}

}  // namespace

RunPorts::RunPorts(const Roles& roles) {
    for (const Roles::Queue& sender : roles.senders) {
        add_once(senders_, sender.port);
        add_once(all_, sender.port);
    }
    for (const Roles::Queue& receiver : roles.receivers) {
        add_once(receivers_, receiver.port);
        add_once(all_, receiver.port);
    }
}

RunPorts::Counters RunPorts::counters() const {
    return {sum(senders_), sum(receivers_)};
}

std::vector<std::string> RunPorts::link_troubles() const {
    std::vector<std::string> troubles;
    for (const port::Port* port : all_) {
        if (std::string trouble = port->link_trouble(); !trouble.empty()) {
            troubles.push_back(std::move(trouble));
        }
    }
    return troubles;
}

std::string RunPorts::sender_names() const {
    return names(senders_);
}
std::string RunPorts::receiver_names() const {
    return names(receivers_);
}

std::size_t RunPorts::number(const port::Port& port) const {
    return static_cast<std::size_t>(std::ranges::find(all_, &port) - all_.begin());
}

}  // namespace pathproof::load
