#include "dataplane/load/placement.h"

#include <rte_lcore.h>

#include <algorithm>
#include <map>
#include <set>

#include "dataplane/port/numa.h"

namespace pathproof::load {
namespace {

std::set<unsigned> workers(const Roles& roles) {
    std::set<unsigned> all;
    for (const Roles::Sender& sender : roles.senders) {
        all.insert(sender.worker);
    }
    for (const Roles::Receiver& receiver : roles.receivers) {
        all.insert(receiver.worker);
    }
    return all;
}

// Worker n is lcore n + 1, see Eal.
int cpu_of(unsigned worker) {
    return rte_lcore_to_cpu_id(static_cast<int>(worker) + 1);
}

std::map<const port::Port*, std::vector<int>> cpus_by_port(const Roles& roles) {
    std::map<const port::Port*, std::vector<int>> cpus;
    for (const Roles::Sender& sender : roles.senders) {
        cpus[sender.port].push_back(cpu_of(sender.worker));
    }
    for (const Roles::Receiver& receiver : roles.receivers) {
        cpus[receiver.port].push_back(cpu_of(receiver.worker));
    }
    return cpus;
}

}  // namespace

std::vector<std::string> placement_troubles(const Roles& roles) {
    std::vector<std::string> troubles;
    std::map<int, unsigned> worker_on;
    for (const unsigned worker : workers(roles)) {
        const int cpu = cpu_of(worker);
        const auto [place, fresh] = worker_on.emplace(cpu, worker);
        if (!fresh) {
            troubles.push_back(
                fmt::format("workers {} and {} share CPU {}", place->second, worker, cpu));
        }
    }
    for (auto& [port, cpus] : cpus_by_port(roles)) {
        std::ranges::sort(cpus);
        cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
        if (std::string far = port::far_cpus(port->info(), port::place(cpus)); !far.empty()) {
            troubles.push_back(std::move(far));
        }
    }
    return troubles;
}

}  // namespace pathproof::load
