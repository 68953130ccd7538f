#include "harness/lab/cabled_overlay.h"

#include <algorithm>

#include "harness/agent/device_info.h"
#include "harness/lab/link_changes.h"
#include "harness/lab/namespaces.h"
#include "harness/lab/plan.h"

namespace pathproof::lab {
namespace {

using agent::HostChange;

class CabledOverlay final : public Overlay {
  public:
    CabledOverlay(Journal& journal, const LabFile& file, const DutAgents& agents, RoleFacts facts)
        : device_(file.dut.devices.front()),
          port_(*std::ranges::find(file.ports, device_.port, &TesterPort::name)),
          agents_(agents),
          facts_(std::move(facts)),
          namespaces_(journal) {
        names_ = overlay_names(journal.run_id());
        names_.tester = file.tester_netns;
        names_.tester_port_a = port_.device;
        names_.tester_port_b = names_.node_b;  // a network interface by that name
        names_.node_a = agents.netns;
        names_.underlay = device_.name;
    }
    // Takes this run's changes off the DUT first.
    ~CabledOverlay() override { hosts_.end(); }

    Status build();
    RoleFacts facts() const override;
    std::optional<PortPlan> port_plan() const override {
        return PortPlan{port_.addresses, port_.queues};
    }

  private:
    agent::Client& dut() const { return *agents_.dut->agent(); }
    Status build_node_a(const Topology& topology);
    Status build_node_b(const Topology& topology);
    Status keep_part(const TopologyHost& host, const std::string& device);

    const DutDevice device_;
    const TesterPort port_;
    const DutAgents agents_;
    const RoleFacts facts_;
    Namespaces namespaces_;
};

Status CabledOverlay::build() {
    names_.node_a_mac = TRY(dut().device(device_.name)).mac;
    hosts_.call(place_names(names_));
    const Topology topology = overlay_topology(names_);
    TRY(build_node_b(topology));
    TRY(build_node_a(topology));
    TRY(hosts_.keep(topology.settings));
    return set_anew(usual());
}

// A namespace of the tester's machine, with its pod's.
Status CabledOverlay::build_node_b(const Topology& topology) {
    TRY(namespaces_.add({names_.node_b, names_.pod_b}));
    TRY(make_links(topology.links_of(names_.node_b)));
    TRY(bring_up_unheard(names_.tester, names_.tester_port_b));
    TRY(realise_host(topology.host(HostRole::kNodeB), hosts_));
    TRY(realise_host(topology.host(HostRole::kPodB), hosts_));
    return hosts_.keep(no_super_frames(HostRole::kNodeB, names_.underlay));
}

// The DUT, and a namespace on its host.
Status CabledOverlay::build_node_a(const Topology& topology) {
    const TopologyHost& node = topology.host(HostRole::kNodeA);
    const TopologyHost& pod = topology.host(HostRole::kPodA);
    const std::string& underlay = names_.underlay;
    TRY(agents_.host->agent()->apply(
        {{.kind = HostChange::Kind::kNetns, .name = names_.pod_a, .value = "there"}}));
    hosts_.add(node.roles, *agents_.dut, agents_.tables);
    // Apart from the settings, which may be taken back and set anew: the pod's end would go with the node's.
    for (const Link& link : topology.links_of(names_.pod_a)) {
        TRY(dut().apply(as_changes(link_command_inside(link), underlay)));
    }
    TRY(dut().apply(TRY(off_for_virtual(dut(), underlay, {"segmentation"}))));
    TRY(keep_part(node, underlay));
    hosts_.add(pod.roles, TRY(agents_.host->agent()->start_beside(names_.pod_a)));
    return keep_part(pod, "eth0");
}

// The host's own part of the topology, each command with the one that undoes it.
Status CabledOverlay::keep_part(const TopologyHost& host, const std::string& device) {
    auto changes = as_changes(host.commands, device);
    // The cable is up already.
    std::erase_if(changes, [&](const HostChange& change) {
        return change.value == "link set " + names_.underlay + " up";
    });
    return hosts_.keep({{.id = "part of " + host.netns,
                         .host = host.roles.front(),
                         .changes = std::move(changes),
                         .command = ""}});
}

RoleFacts CabledOverlay::facts() const {
    RoleFacts facts = facts_;
    facts.emplace_back("node A", fmt::format("the DUT, by its device {}; its pod is a network "
                                             "namespace on the DUT's host",
                                             device_.name));
    facts.emplace_back("node B",
                       fmt::format("a network namespace of the tester's machine, behind the "
                                   "tester's port {} ({})",
                                   port_.name, port_.device));
    return facts;
}

}  // namespace

Result<std::unique_ptr<Overlay>> cabled_overlay(Journal& journal, const LabFile& file,
                                                const DutAgents& agents, RoleFacts facts) {
    auto overlay = std::make_unique<CabledOverlay>(journal, file, agents, std::move(facts));
    TRY(doing(overlay->build(), "build the overlay"));
    return overlay;
}

}  // namespace pathproof::lab
