#include "harness/lab/overlay.h"

#include "harness/lab/link_changes.h"
#include "harness/lab/namespaces.h"
#include "harness/lab/plan.h"

namespace pathproof::lab {
namespace {

class VethOverlay final : public Overlay {
  public:
    explicit VethOverlay(Journal& journal) : namespaces_(journal) {
        names_ = overlay_names(journal.run_id());
    }
    // Its agents end before its namespaces go, and what runs in them (unless the journal was kept).
    ~VethOverlay() override { hosts_.end(); }

    Status build() {
        hosts_.call(place_names(names_));
        TRY(realise(overlay_topology(names_), namespaces_, hosts_));
        TRY(hosts_.keep(no_super_frames(HostRole::kDut, names_.underlay)));
        return set_anew(usual());
    }

  private:
    Namespaces namespaces_;
};

}  // namespace

Result<std::unique_ptr<Overlay>> Overlay::build(Journal& journal) {
    auto lab = std::make_unique<VethOverlay>(journal);
    TRY(doing(lab->build(), "build the overlay lab"));
    return lab;
}

Settings Overlay::tunnel(bool udp_checksum) const {
    return overlay_tunnel(names_, udp_checksum);
}

setting::Setting Overlay::outer_snat() const {
    return overlay_snat(names_);
}

Status Overlay::set_anew(const Settings& settings) {
    return hosts_.set(settings, Flows::kForget, Links::kAnew);
}

Status Overlay::join_by_bridge() {
    return doing(make_switch(names_.tester, {names_.tester_port_a, names_.tester_port_b}),
                 "join {} and {}", names_.tester_port_a, names_.tester_port_b);
}

Status Overlay::lengthen_cable(unsigned mtu) {
    const std::string bytes = std::to_string(mtu);
    TRY(hosts_.agent(HostRole::kNodeA)
            .output_of({"ip", "link", "set", "dev", names_.underlay, "mtu", bytes}));
    return run_ip_in(names_.tester,
                     fmt::format("link set dev {} mtu {}", names_.tester_port_a, bytes));
}

}  // namespace pathproof::lab
