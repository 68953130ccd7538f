#include "harness/lab/cabled_overlay.h"

#include <algorithm>

#include "harness/agent/device_info.h"
#include "harness/lab/link_changes.h"
#include "harness/lab/plan.h"
#include "harness/lab/topology.h"
#include "harness/netfilter/dump.h"

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
    // What the DUT has of this run goes first.
    ~CabledOverlay() override { hosts_.end(); }

    Status build();
    RoleFacts facts() const override;
    Result<std::shared_ptr<agent::Client>> agent(Place place) const override;
    std::optional<PortPlan> port_plan() const override {
        return PortPlan{port_.addresses, port_.queues};
    }
    Status configure(const OverlayOptions& options) override;

  private:
    agent::Client& dut() const { return *agents_.dut->agent(); }
    Status build_node_a();
    Status build_node_b();

    const DutDevice device_;
    const TesterPort port_;
    const DutAgents agents_;
    const RoleFacts facts_;
    Namespaces namespaces_;
    Hosts hosts_;  // the DUT and its pod
    bool has_vxlan_ = false;
};

Status CabledOverlay::build() {
    names_.node_a_mac = TRY(dut().device(device_.name)).mac;
    TRY(build_node_b());
    TRY(build_node_a());
    return configure({});
}

Status CabledOverlay::build_node_b() {
    const OverlayNode node = overlay_node_b(names_, {});
    TRY(namespaces_.add({names_.node_b, names_.pod_b}));
    TRY(set_sysctls(names_.node_b, {{"net.ipv4.conf.all.rp_filter", "0"},
                                    {"net.ipv4.conf.default.rp_filter", "0"}}));
    TRY(run_ip("", node.links));
    TRY(bring_up_unheard(names_.tester, names_.tester_port_b));
    TRY(run_ip(names_.node_b, node.node));
    TRY(run_ip(names_.pod_b, node.pod));
    TRY(take_off_super_frames(names_.node_b, names_.underlay));
    return set_sysctls(names_.node_b, {{"net.ipv4.ip_forward", "1"}});
}

Status CabledOverlay::build_node_a() {
    const std::string& underlay = names_.underlay;
    const OverlayNode node = overlay_node_a(names_, {});
    TRY(agents_.host->agent()->apply(
        {{.kind = HostChange::Kind::kNetns, .name = names_.pod_a, .value = "there"}}));
    hosts_.add({HostRole::kDut}, *agents_.dut, agents_.tables);
    // Apart from the settings, which may be taken back and set anew: the pod's end would go with the node's.
    TRY(dut().apply(as_changes(node.links, underlay)));
    TRY(dut().apply(TRY(off_for_virtual(dut(), underlay, {"segmentation"}))));
    std::vector<HostChange> changes{sysctl_change("net.ipv4.ip_forward", "1")};
    for (const std::string& device : {std::string("all"), std::string("default"), underlay}) {
        changes.push_back(sysctl_change(fmt::format("net.ipv4.conf.{}.rp_filter", device), "0"));
    }
    std::ranges::move(as_changes(node.node, underlay), std::back_inserter(changes));
    // The loopback and the cable are up already.
    std::erase_if(changes, [&](const HostChange& change) {
        return change.value == "link set lo up" || change.value == "link set " + underlay + " up";
    });
    TRY(hosts_.keep({{.id = "node-a", .host = HostRole::kDut, .changes = changes, .command = ""}}));
    hosts_.add({HostRole::kClient}, TRY(agents_.host->agent()->start_beside(names_.pod_a)));
    auto pod = as_changes(node.pod, "eth0");
    std::erase_if(pod, [](const HostChange& change) { return change.value == "link set lo up"; });
    return hosts_.keep(
        {{.id = "pod-a", .host = HostRole::kClient, .changes = std::move(pod), .command = ""}});
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

Result<std::shared_ptr<agent::Client>> CabledOverlay::agent(Place place) const {
    switch (place) {
        case Place::kNodeA: return agents_.dut->agent();
        case Place::kPodA: return hosts_.shared_agent(HostRole::kClient);
        default: return Overlay::agent(place);
    }
}

Status CabledOverlay::configure(const OverlayOptions& options) {
    const std::string rules = overlay_rules(names_, options);
    setting::Setting tunnel{
        .id = "tunnel",
        .host = HostRole::kDut,
        .changes = as_changes(overlay_node_a(names_, options).vxlan, names_.underlay),
        .command = ""};
    // Made anew, so that it has the features that a new one has.
    TRY(hosts_.set({}, Flows::kForget));
    setting::Settings settings = overlay_rule_settings(names_, options);
    settings.push_back(std::move(tunnel));
    TRY(hosts_.set(settings, Flows::kForget));
    TRY(run_ip(names_.node_b, (has_vxlan_ ? fmt::format("link del {}\n", names_.vxlan) : "") +
                                  overlay_node_b(names_, options).vxlan));
    has_vxlan_ = true;
    TRY(load_rules(names_.node_b, rules));
    return netfilter::flush(names_.node_b);
}

}  // namespace

Result<std::unique_ptr<Overlay>> cabled_overlay(Journal& journal, const LabFile& file,
                                                const DutAgents& agents, RoleFacts facts) {
    auto overlay = std::make_unique<CabledOverlay>(journal, file, agents, std::move(facts));
    TRY(doing(overlay->build(), "build the overlay"));
    return overlay;
}

}  // namespace pathproof::lab
