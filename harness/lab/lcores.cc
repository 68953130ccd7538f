#include "harness/lab/lcores.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace pathproof::lab {
namespace {

constexpr std::size_t kLcoresOfARun = 2;

}  // namespace

Status place_lcores(LabFile& lab, std::span<const port::PlacedCpu> usable, bool (*may_pin)(int)) {
    std::vector<int> cpus;
    std::set<int> nodes;
    for (const port::PlacedCpu& cpu : usable) {
        cpus.push_back(cpu.cpu);
        nodes.insert(cpu.node);
    }
    for (TesterPort& port : lab.ports) {
        for (const int lcore : port.lcores) {
            if (std::ranges::find(cpus, lcore) == cpus.end() && !may_pin(lcore)) {
                return fail(ErrorCode::kBadInput,
                            "'lcores' of tester port '{}': CPU {} is not one that this process may "
                            "use ({})",
                            port.name, lcore, fmt::join(cpus, ", "));
            }
        }
        if (!port.numa || !port.lcores.empty() || nodes == std::set{-1}) {
            continue;
        }
        for (const port::PlacedCpu& cpu : usable) {
            if (cpu.node == *port.numa && port.lcores.size() < kLcoresOfARun) {
                port.lcores.push_back(cpu.cpu);
            }
        }
        if (port.lcores.empty()) {
            return fail(ErrorCode::kBadInput,
                        "'numa' of tester port '{}': no CPU that this process may use is on node "
                        "{}; theirs: {}",
                        port.name, *port.numa, fmt::join(nodes, ", "));
        }
    }
    return {};
}

Status place_lcores(LabFile& lab) {
    return place_lcores(lab, port::place(port::usable_cpus()), port::may_pin_to);
}

std::vector<int> lcores_of_run(const LabFile& lab, const std::vector<int>& usable) {
    std::vector<int> of_clients;
    std::vector<int> of_servers;
    std::vector<int> of_any;
    for (const TesterPort& port : lab.ports) {
        std::vector<int>& all = port.servers.empty() ? of_clients : of_servers;
        all.insert(all.end(), port.lcores.begin(), port.lcores.end());
        of_any = port.lcores.empty() ? usable : of_any;
    }
    std::vector<int> run;
    const auto take_one = [&run](const std::vector<int>& from) {
        const auto other = std::ranges::find_if(
            from, [&](int cpu) { return std::ranges::find(run, cpu) == run.end(); });
        if (run.size() < kLcoresOfARun && other != from.end()) {
            run.push_back(*other);
        }
    };
    for (const auto* from :
         {&of_clients, &of_servers, &of_clients, &of_servers, &of_any, &of_any}) {
        take_one(*from);
    }
    return run;
}

}  // namespace pathproof::lab
