#include <array>

#include "harness/lab/plan.h"
#include "harness/lab/topology.h"
#include "harness/lab/veth_lab.h"
#include "harness/netfilter/dump.h"
#include "harness/process/at_once.h"

namespace pathproof::lab {
namespace {

Status build_in(const OverlayNames& names, Namespaces& namespaces) {
    TRY(namespaces.add(namespaces_of(names)));
    for (const std::string& node : {names.node_a, names.node_b}) {
        // Before there are devices: each takes over `default` when it is made.
        TRY(set_sysctls(node, {{"net.ipv4.conf.all.rp_filter", "0"},
                               {"net.ipv4.conf.default.rp_filter", "0"}}));
    }
    TRY(run_ip(overlay_scripts(names)));
    for (const std::string& node : {names.node_a, names.node_b}) {
        TRY(take_off_super_frames(node, names.underlay));
        TRY(set_sysctls(node, {{"net.ipv4.ip_forward", "1"}}));
    }
    return {};
}

class VethOverlay final : public Overlay {
  public:
    explicit VethOverlay(Journal& journal) : namespaces_(journal) {
        names_ = overlay_names(journal.run_id());
    }
    // Its namespaces go with it, and what runs in them (unless the journal was kept).
    Status build() {
        TRY(doing(build_in(names_, namespaces_), "build the overlay lab"));
        return configure({});
    }
    Status configure(const OverlayOptions& options) override;

  private:
    bool has_vxlan_ = false;
    Namespaces namespaces_;
};

Status VethOverlay::configure(const OverlayOptions& options) {
    std::vector<Script> scripts = overlay_vxlans(names_, options);
    for (Script& script : scripts) {
        if (has_vxlan_) {
            script.commands.insert(0, fmt::format("link del {}\n", names_.vxlan));
        }
    }
    has_vxlan_ = true;
    const std::string rules = overlay_rules(names_, options);
    return process::at_once(scripts, [&](const Script& script) -> Status {
        TRY(doing(run_ip(script.netns, script.commands), "make the overlay's vxlan devices"));
        TRY(load_rules(script.netns, rules));
        return netfilter::flush(script.netns);
    });
}

}  // namespace

Result<std::unique_ptr<Overlay>> Overlay::build(Journal& journal) {
    auto lab = std::make_unique<VethOverlay>(journal);
    TRY(lab->build());
    return lab;
}

Result<std::shared_ptr<agent::Client>> Overlay::agent(Place place) const {
    const std::array netns{&names_.node_a, &names_.node_b, &names_.pod_a, &names_.pod_b};
    return TRY(agent::Client::start_in_netns(*netns[static_cast<std::size_t>(place)]));
}

Status Overlay::join_by_bridge() {
    return doing(run_ip(names_.tester, wire_commands(names_.tester_port_a, names_.tester_port_b)),
                 "join {} and {}", names_.tester_port_a, names_.tester_port_b);
}

}  // namespace pathproof::lab
