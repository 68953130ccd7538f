#include "dataplane/load/placement.h"

#include <rte_lcore.h>

#include <map>
#include <set>

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

}  // namespace

std::vector<std::string> placement_troubles(const Roles& roles) {
    std::vector<std::string> troubles;
    std::map<int, unsigned> worker_on;
    for (const unsigned worker : workers(roles)) {
        // Worker n is lcore n + 1, see Eal.
        const int cpu = rte_lcore_to_cpu_id(static_cast<int>(worker) + 1);
        const auto [place, fresh] = worker_on.emplace(cpu, worker);
        if (!fresh) {
            troubles.push_back(
                fmt::format("workers {} and {} share CPU {}", place->second, worker, cpu));
        }
    }
    return troubles;
}

}  // namespace pathproof::load
