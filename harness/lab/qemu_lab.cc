// A lab whose DUT is a guest of QEMU with one emulated NIC, and the tester at the host's end of its
// cable.

#include <fmt/format.h>

#include <algorithm>

#include "harness/guest/guest.h"
#include "harness/lab/dut_agent.h"
#include "harness/lab/lab.h"
#include "harness/lab/signals.h"
#include "harness/lab/topology.h"

namespace pathproof::lab {
namespace {

class QemuDut final : public MadeDut {
  public:
    QemuDut(std::unique_ptr<Namespaces> namespaces, std::string netns, guest::Kernel kernel,
            guest::Nic nic, std::unique_ptr<guest::Guest> guest)
        : namespaces_(std::move(namespaces)),
          netns_(std::move(netns)),
          kernel_(std::move(kernel)),
          nic_(std::move(nic)),
          guest_(std::move(guest)),
          dut_(guest_->agent()) {}

    std::shared_ptr<agent::Client> agent() const override { return dut_.agent(); }
    CabledDevice device() const override {
        return {.netns = "",
                .host = "the guest with " + nic_.name,
                .name = guest::kDevice,
                .tester_netns = netns_,
                .tester_port = guest::kTap};
    }
    Finish finish() const override {
        return nic_.vnet_header ? Finish::kBehindIt : Finish::kByItself;
    }
    std::vector<std::pair<std::string, std::string>> facts() const override {
        std::vector<std::pair<std::string, std::string>> facts{
            {"kernel", fmt::format("{} ({})", kernel_.release, kernel_.origin)},
            {"emulated NIC", nic_.device},
            {"tap", nic_.vnet_header ? "with virtio_net_hdr: the host is a part of the path"
                                     : "without virtio_net_hdr: the NIC finishes its frames"},
            {"boot to the agent's answer", fmt::format("{:.1f} s", guest_->boot_seconds())}};
        for (const std::string& name : guest_->without()) {
            facts.emplace_back("module " + name, "not of this kernel");
        }
        return facts;
    }
    std::string log() const override { return guest_->console(); }

  private:
    std::unique_ptr<Namespaces> namespaces_;
    std::string netns_;
    guest::Kernel kernel_;
    guest::Nic nic_;
    std::unique_ptr<guest::Guest> guest_;
    DutAgent dut_;
};

class QemuLab final : public Lab {
  public:
    QemuLab(guest::Kernel kernel, std::vector<guest::Nic> nics, std::string replacement)
        : kernel_(std::move(kernel)),
          nics_(std::move(nics)),
          replacement_(std::move(replacement)) {}

    const std::string& name() const override { return name_; }
    std::string lacks(Role role) const override {
        return role == Role::kDevice
                   ? ""
                   : "a guest of the lab qemu has one NIC, with the tester at the "
                     "other end of its cable";
    }
    std::vector<std::string> duts() const override {
        std::vector<std::string> names;
        std::ranges::transform(nics_, std::back_inserter(names), &guest::Nic::name);
        return names;
    }
    Result<std::unique_ptr<MadeDut>> make_dut(const std::string& name, Journal& journal) override {
        const guest::Nic& nic = *std::ranges::find(nics_, name, &guest::Nic::name);
        auto namespaces = std::make_unique<Namespaces>(journal);
        const std::string netns = fmt::format("pp-{}-{}", journal.run_id(), name);
        TRY(namespaces->add({netns}));
        auto guest = TRY(guest::Guest::boot({kernel_, nic, replacement_, netns}));
        TRY(run_ip(netns, fmt::format("link set {} up\n", guest::kTap)));
        return std::make_unique<QemuDut>(std::move(namespaces), netns, kernel_, nic,
                                         std::move(guest));
    }
    std::string evidence_note() const override {
        return "Real drivers of the kernel on NICs that QEMU emulates: this says something of "
               "driver and emulation, nothing of any hardware.";
    }
    Result<std::vector<std::string>> put_back() override { return std::vector<std::string>(); }

  private:
    std::string name_ = "qemu";
    guest::Kernel kernel_;
    std::vector<guest::Nic> nics_;
    std::string replacement_;
};

}  // namespace

Result<std::unique_ptr<Lab>> make_qemu_lab(const GuestOptions& options) {
    auto nics = TRY(guest::parse_nics(options.nic.empty() ? "e1000e" : options.nic));
    if (!options.module.empty() && nics.size() != 1) {
        return fail(ErrorCode::kBadInput, "--module is the driver of one NIC: name it with --nic");
    }
    TRY(guest::check_qemu());
    auto kernel = TRY(guest::find_kernel(options.kernel, options.modules));
    if (!options.module.empty()) {
        TRY(guest::check_replacement(kernel, nics.front(), options.module));
    }
    return std::make_unique<QemuLab>(std::move(kernel), std::move(nics), options.module);
}

}  // namespace pathproof::lab
