#include "harness/lab/nat_box.h"

#include "harness/lab/namespaces.h"
#include "harness/lab/path_settings.h"
#include "harness/lab/plan.h"

namespace pathproof::lab {
namespace {

constexpr unsigned kUsualTimeoutS = 30;

class VethNatBox final : public NatBox {
  public:
    explicit VethNatBox(Journal& journal) : namespaces_(journal) {
        names_ = nat_box_names(journal.run_id());
    }
    // Its agent ends before the namespaces go, and what runs in them (unless the journal was kept).
    ~VethNatBox() override { hosts_.end(); }

    Status build() {
        hosts_.call(place_names(names_));
        TRY(realise(nat_box_topology(names_), namespaces_, hosts_));
        return begin();
    }

  private:
    Namespaces namespaces_;
};

}  // namespace

Result<std::unique_ptr<NatBox>> NatBox::build(Journal& journal) {
    auto lab = std::make_unique<VethNatBox>(journal);
    TRY(doing(lab->build(), "build the nat-box lab"));
    return lab;
}

Result<setting::Setting> NatBox::service(unsigned backends) const {
    if (backends < 1 || backends > names_.servers.size()) {
        return fail(ErrorCode::kBadInput, "{} backends: the lab has 1 to {}", backends,
                    names_.servers.size());
    }
    return nat_box_service(names_, backends);
}

setting::Setting NatBox::snat(Snat how) const {
    return nat_box_snat(names_, how);
}

Status NatBox::begin() {
    // The rules first: they are what loads conntrack, where it is a module.
    TRY(set({}));
    TRY(hosts_.keep(TRY(watchable(hosts_.agent(HostRole::kDut)))));
    return set({});
}

Status NatBox::set(const Settings& settings) {
    const Settings usual{TRY(service(kUsualBackends)), snat(Snat::kNone),
                         udp_timeout(kUsualTimeoutS)};
    return hosts_.set(both(usual, settings));
}

}  // namespace pathproof::lab
