// Pods that CNI plug-ins attached to two nodes, an agent on each host, and the tester as the cable.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/agent/client.h"
#include "harness/lab/pod_nodes.h"
#include "harness/scenario/scenario.h"
#include "harness/tester/client.h"

namespace pathproof::scenario {

inline constexpr std::uint16_t kPodDnsPort = 53;
inline constexpr std::uint16_t kPodTransferPort = 5001;
inline constexpr std::uint16_t kPodSctpPort = 5002;
// Host ports lie this far above the pods' own.
inline constexpr std::uint16_t kHostPortOffset = 30'000;

struct PodHost {
    std::string name;  // "pod a1", "node A", "the outside host"
    std::string netns;
    std::string device;  // that its packets come and go by
    std::unique_ptr<agent::Client> agent;
};

class PodBench {
  public:
    // The nodes and the tester; no pod yet. kKernelLacks: the kernel lacks what the network takes.
    static Result<std::unique_ptr<PodBench>> open(Context& context, const std::string& chain);

    // Attaches a pod and starts its agent. Errors: those of the plug-ins.
    Result<lab::Pod*> attach(unsigned node, const std::string& name,
                             std::vector<cni::PortMapping> ports = {});
    // Servers for DNS and transfers on each of its addresses.
    Status serve_on(PodHost& host, const std::vector<frame::IpAddress>& addresses);

    lab::PodNodes& nodes() { return *nodes_; }
    lab::Pod& pod(const std::string& name) { return *pods_.at(name); }
    PodHost& host_of(const std::string& pod) { return hosts_.at(pod); }
    PodHost& node(unsigned number) { return hosts_.at(number == 0 ? "node-a" : "node-b"); }
    PodHost& outside() { return hosts_.at("outside"); }
    std::vector<const PodHost*> all_hosts() const;
    // The name of the host whose namespace it is: "node A".
    std::string name_of(const std::string& netns) const;
    tester::Client& tester() { return *tester_; }
    // Adds each node's state, as the plug-ins, the lab and the hazards report it, to the run's
    // facts, so that `compare` names the differences.
    Status know_nodes(Context& context, const std::string& prefix);

  private:
    std::unique_ptr<lab::PodNodes> nodes_;
    std::map<std::string, std::unique_ptr<lab::Pod>> pods_;
    std::map<std::string, PodHost> hosts_;
    std::unique_ptr<tester::Client> tester_;
};

// "bridge." where a run has several networks, else nothing.
std::string chain_prefix(const Context& context, const std::string& chain);

// Makes a Run of each network, measures those cells of its plan that are asked for, or that it
// always takes (it has an open(), a takes() and a measure()), and concludes from all their cells.
template <typename Run, auto plan>
Result<verdict::ScenarioResult> run_chains(Context& context) {
    const auto chains = context.lab.pod_chains();
    const auto asked = [&](const std::string& chain, const std::string& prefix) {
        auto cells = plan(chain, prefix);
        std::erase_if(cells, [&](const auto& what) {
            return !Run::takes(what) && !asked_for(context.options, what.id.substr(prefix.size()));
        });
        return cells;
    };
    context.progress.begin(context.scenario->id, chains.size() * asked("", "").size());
    std::vector<typename Run::Measured> cells;
    for (const std::string& chain : chains) {
        Run run(context, chain);
        const Status opened = run.open();
        for (const auto& what : asked(chain, chain_prefix(context, chain))) {
            context.progress.step(what.id);
            typename Run::Measured cell{.what = what};
            if (!opened && opened.error().code == ErrorCode::kKernelLacks) {
                cell.seen.lacks = opened.error().message;
            } else if (const Status made = opened ? run.measure(what, cell.seen) : opened; !made) {
                cell.seen.objections.push_back(made.error().message);
            }
            context.measured.add(conclude(what, cell.seen));
            cells.push_back(std::move(cell));
        }
    }
    verdict::ScenarioResult result = conclude(cells);
    for (const auto& cell : cells) {
        result.planned.push_back(cell.what.id);
    }
    return result;
}

template <auto plan>
std::vector<std::string> chain_ids() {
    return ids_of(plan("", ""));
}

}  // namespace pathproof::scenario
