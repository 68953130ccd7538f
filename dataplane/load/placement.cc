#include "dataplane/load/placement.h"

#include <rte_lcore.h>

#include <map>
#include <set>

#include "dataplane/load/make_workers.h"
#include "dataplane/port/numa.h"

namespace pathproof::load {
namespace {

// Worker n is lcore n + 1, see Eal.
int cpu_of(unsigned worker) {
    return rte_lcore_to_cpu_id(static_cast<int>(worker) + 1);
}

std::map<const port::Port*, std::set<int>> cpus_by_port(const Roles& roles) {
    std::map<const port::Port*, std::set<int>> cpus;
    for (const auto* queues : {&roles.senders, &roles.receivers}) {
        for (const Roles::Queue& queue : *queues) {
            cpus[queue.port].insert(cpu_of(queue.worker));
        }
    }
    return cpus;
}

}  // namespace

Roles share_queues(unsigned lcores, std::uint16_t queues, port::Port& sending,
                   port::Port& receiving) {
    Roles roles;
    for (std::uint16_t queue = 0; queue < queues; ++queue) {
        roles.senders.push_back({queue % lcores, &sending, queue});
        roles.receivers.push_back({lcores - 1 - queue % lcores, &receiving, queue});
        if (&receiving != &sending) {
            roles.listeners.push_back({lcores - 1 - queue % lcores, &sending, queue});
        }
    }
    return roles;
}

std::vector<std::string> placement_troubles(const Roles& roles) {
    std::vector<std::string> troubles;
    std::map<int, unsigned> worker_on;
    for (const unsigned worker : workers_of(roles)) {
        const int cpu = cpu_of(worker);
        const auto [place, fresh] = worker_on.emplace(cpu, worker);
        if (!fresh) {
            troubles.push_back(
                fmt::format("workers {} and {} share CPU {}", place->second, worker, cpu));
        }
    }
    for (const auto& [port, cpus] : cpus_by_port(roles)) {
        const std::vector<int> in_order(cpus.begin(), cpus.end());
        if (std::string far = port::far_cpus(port->info(), port::place(in_order)); !far.empty()) {
            troubles.push_back(std::move(far));
        }
    }
    return troubles;
}

}  // namespace pathproof::load
