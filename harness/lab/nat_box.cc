#include "harness/lab/plan.h"
#include "harness/lab/topology.h"
#include "harness/lab/veth_lab.h"
#include "harness/netfilter/dump.h"

namespace pathproof::lab {
namespace {

Status build_in(const NatBoxNames& names, Namespaces& namespaces) {
    TRY(namespaces.add(namespaces_of(names)));
    // Before there are devices: each takes over `default` when it is made.
    TRY(set_sysctls(names.dut,
                    {{"net.ipv4.conf.all.rp_filter", "0"},
                     {"net.ipv4.conf.default.rp_filter", "0"},
                     {"net.ipv4.ip_forward", "1"},
                     // Clients of one network sit behind two ports: that is no reason to redirect.
                     {"net.ipv4.conf.all.send_redirects", "0"},
                     {"net.ipv4.conf.default.send_redirects", "0"}}));
    return run_ip(nat_box_scripts(names));
}

// Whatever leaves the DUT reaches a DPDK port, which sees bytes and no partial-checksum mark: the
// kernel must complete every checksum (the outer one of the carrier above all).
Status complete_checksums(const NatBoxNames& names) {
    for (const std::string& device :
         {names.dut_client_devices[0], names.dut_client_devices[1], names.dut_server_device}) {
        TRY(switch_off(names.dut, device, {"tx"}));
    }
    return {};
}

class VethNatBox final : public NamespaceNatBox {
  public:
    VethNatBox(Journal& journal, NatBoxNames names, std::unique_ptr<Namespaces> namespaces)
        : NamespaceNatBox(journal), namespaces_(std::move(namespaces)) {
        names_ = std::move(names);
    }
    // Deletes the namespaces and ends what runs in them (unless the journal was kept).
    ~VethNatBox() override = default;
    // Their addresses are as they were planned.
    Status meet(const std::vector<frame::MacAddress>& /*tester_ports*/) override { return {}; }

  private:
    Status load(const std::string& nat_table, const Sysctls& sysctls) override {
        TRY(load_rules(names_.dut, nat_table));
        return set_sysctls(names_.dut, sysctls);
    }

    std::unique_ptr<Namespaces> namespaces_;
};

}  // namespace

Result<std::shared_ptr<agent::Client>> NamespaceNatBox::agent() {
    if (!agent_) {
        agent_ = TRY(agent::Client::start_in_netns(names_.dut));
    }
    return agent_;
}

Result<std::string> NamespaceNatBox::steer(const std::string& device, const std::string& cpu_mask) {
    auto dut = agent();
    return dut ? (*dut)->set_rps(device, cpu_mask) : pass_on(dut.error());
}

Status NamespaceNatBox::set_sysctl(const std::string& name, const std::string& value) {
    return value.empty() ? journal_.restore_sysctl(name) : journal_.set_sysctl(name, value);
}

Status NamespaceNatBox::flush() {
    return netfilter::flush(names_.dut);
}

Result<std::unique_ptr<NatBox>> NatBox::build(Journal& journal) {
    const NatBoxNames names = nat_box_names(journal.run_id());
    auto namespaces = std::make_unique<Namespaces>(journal);
    TRY(doing(build_in(names, *namespaces), "build the nat-box lab"));
    TRY(complete_checksums(names));
    std::unique_ptr<NatBox> lab =
        std::make_unique<VethNatBox>(journal, names, std::move(namespaces));
    TRY(lab->configure({}));
    TRY(make_watchable(names.dut));
    return lab;
}

Status NatBox::configure(const NatBoxOptions& options) {
    TRY(check(options, names_));
    names_.backends.assign(names_.servers.begin(), names_.servers.begin() + options.backends);
    // The rules first: they are what loads conntrack, where it is a module.
    const std::string timeout = std::to_string(options.udp_timeout_s);
    TRY(load(nat_box_rules(names_, options),
             {{"net.netfilter.nf_conntrack_udp_timeout", timeout},
              {"net.netfilter.nf_conntrack_udp_timeout_stream", timeout}}));
    return flush();
}

}  // namespace pathproof::lab
