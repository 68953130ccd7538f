// A lab whose DUT is a guest of QEMU with one emulated NIC, or as a NAT box with three, and the tester
// at the host's end of each cable.

#include <fmt/ranges.h>

#include <algorithm>

#include "harness/guest/guest.h"
#include "harness/lab/cabled_nat_box.h"
#include "harness/lab/cabled_nat_path.h"
#include "harness/lab/dut_agent.h"
#include "harness/lab/lab.h"
#include "harness/lab/namespaces.h"
#include "harness/lab/plan.h"
#include "harness/lab/signals.h"

namespace pathproof::lab {
namespace {

RoleFacts facts_of(const guest::Kernel& kernel, const guest::Nic& nic, const guest::Guest& guest) {
    RoleFacts facts{
        {"kernel", fmt::format("{} ({})", kernel.release, kernel.origin)},
        {"emulated NIC", nic.device},
        {"tap", nic.vnet_header ? "with virtio_net_hdr: the host is a part of the path"
                                : "without virtio_net_hdr: the NIC finishes its frames"},
        {"boot to the agent's answer", fmt::format("{:.1f} s", guest.boot_seconds())}};
    for (const std::string& name : guest.without()) {
        facts.emplace_back("module " + name, "not of this kernel");
    }
    return facts;
}

// A guest as the DUT; each goes before what it runs in.
struct GuestParts {
    std::unique_ptr<Namespaces> namespaces;
    std::unique_ptr<guest::Guest> guest;
    DutAgent dut{guest->agent()};
};

// Two CPUs, so that two packets can be in conntrack at once.
constexpr unsigned kNatCpus = 2;
constexpr unsigned kNatCables = 3;

// As a lab file would name it.
LabFile nat_box_file(const std::string& netns, const guest::Nic& nic) {
    const auto prefix = [](const char* text) { return *parse_prefix(text); };
    LabFile file{.name = "qemu", .tester_netns = netns};
    file.dut = {.kind = Dut::Kind::kGuest, .where = "the guest with three " + nic.name};
    const char* testers[] = {"198.18.0.2/24", "198.18.128.2/24"};
    const char* duts[] = {"198.18.0.1/24", "198.18.128.1/24", "203.0.113.1/24"};
    const char* clients[] = {"198.18.0.0/17", "198.18.128.0/17"};
    for (unsigned cable = 0; cable < kNatCables; ++cable) {
        TesterPort port{.name = guest::tap_of(cable),
                        .kind = TesterPort::Kind::kKernel,
                        .device = guest::tap_of(cable)};
        if (cable < 2) {
            port.addresses = {prefix(testers[cable])};
            port.clients = prefix(clients[cable]);
        } else {
            port.servers = backend_addresses(kUsualBackends);
        }
        file.dut.devices.push_back({.name = guest::device_of(cable),
                                    .port = port.name,
                                    .addresses = {prefix(duts[cable])}});
        file.ports.push_back(std::move(port));
    }
    return file;
}

// Objects that a NAT box or a NAT path of the guest refers to: made before it, destroyed after it.
struct GuestOfNatBox {
    std::unique_ptr<GuestParts> parts_;
    LabFile file_;
    RoleFacts facts_;
};

class QemuNatBox final : private GuestOfNatBox, public CabledNatBox {
  public:
    explicit QemuNatBox(GuestOfNatBox made)
        : GuestOfNatBox(std::move(made)),
          CabledNatBox(GuestOfNatBox::file_, GuestOfNatBox::parts_->dut, Tables::kOurs) {}
    // The lab's own interfaces, which go with their namespace.
    std::vector<PortPlan> port_plans() const override { return {}; }
    RoleFacts facts() const override { return facts_; }
};

class QemuLab final : public Lab {
  public:
    QemuLab(guest::Kernel kernel, std::vector<guest::Nic> nics, std::string replacement)
        : kernel_(std::move(kernel)),
          nics_(std::move(nics)),
          replacement_(std::move(replacement)) {}

    const std::string& name() const override { return name_; }
    std::string lacks(Role role) const override {
        switch (role) {
            case Role::kDevice: return "";
            case Role::kNatBox:
            case Role::kNatPath: break;
            default:
                return "it takes pods on the DUT itself, and a guest of the lab qemu has one "
                       "agent: 'pathproof "
                       "guest' runs it on that kernel";
        }
        const auto lacking = guest::lacking_for_nat(kernel_);
        if (!lacking) {
            return lacking.error().message;
        }
        if (lacking->empty()) {
            return "";
        }
        return fmt::format("{} ({}) is no NAT box: it has no {}", kernel_.release, kernel_.origin,
                           fmt::join(*lacking, ", "));
    }
    Result<std::unique_ptr<NatBox>> nat_box(Journal& journal) override {
        return std::make_unique<QemuNatBox>(TRY(boot_nat_box(journal)));
    }
    // A guest has one agent: it makes no namespaces, and so has no client on the node.
    Result<std::unique_ptr<NatPath>> nat_path(Journal& journal, ClientAt client) override {
        if (client == ClientAt::kNode) {
            return fail(
                ErrorCode::kKernelLacks,
                "it takes a client on the node itself, and a guest of the lab qemu has one agent");
        }
        auto booted = TRY(boot_nat_box(journal));
        const auto parts = std::make_shared<GuestOfNatBox>(std::move(booted));
        return cabled_nat_path(
            journal, parts->file_,
            {.host = &parts->parts_->dut, .dut = &parts->parts_->dut, .parts = parts}, client,
            parts->facts_);
    }
    std::vector<std::string> duts() const override {
        std::vector<std::string> names;
        std::ranges::transform(nics_, std::back_inserter(names), &guest::Nic::name);
        return names;
    }
    Result<MadeDut> make_dut(const std::string& name, Journal& journal) override {
        const guest::Nic& nic = *std::ranges::find(nics_, name, &guest::Nic::name);
        auto namespaces = std::make_unique<Namespaces>(journal);
        const std::string netns = fmt::format("pp-{}-{}", journal.run_id(), name);
        TRY(namespaces->add({netns}));
        // Its tunnels are sent through NAT too, where the kernel has it.
        const auto lacking = TRY(guest::lacking_for_nat(kernel_));
        auto guest = TRY(guest::Guest::boot({kernel_, nic, replacement_, netns,
                                             lacking.empty() && guest::has_nat_programs()
                                                 ? guest::Work::kNatBox
                                                 : guest::Work::kDevice}));
        TRY(run_ip_in(netns, fmt::format("link set {} up", guest::tap_of(0))));
        const std::shared_ptr<GuestParts> parts(
            new GuestParts{std::move(namespaces), std::move(guest)});
        return MadeDut{.parts = parts,
                       .agent = parts->dut.agent(),
                       .device = {.netns = "",
                                  .host = "the guest with " + nic.name,
                                  .name = guest::device_of(0),
                                  .tester_netns = netns,
                                  .tester_port = guest::tap_of(0)},
                       .finish = nic.vnet_header ? Finish::kBehindIt : Finish::kByItself,
                       .facts = facts_of(kernel_, nic, *parts->guest),
                       .log = [&guest = *parts->guest] { return guest.console(); }};
    }
    std::string evidence_note() const override {
        return "Real drivers of the kernel on NICs that QEMU emulates: this says something of "
               "driver and emulation, nothing of any hardware.";
    }

  private:
    // With NICs of the first one that was named.
    Result<GuestOfNatBox> boot_nat_box(Journal& journal) {
        const guest::Nic& nic = nics_.front();
        auto namespaces = std::make_unique<Namespaces>(journal);
        const std::string netns = fmt::format("pp-{}-nat-box", journal.run_id());
        TRY(namespaces->add({netns}));
        auto guest = TRY(guest::Guest::boot(
            {kernel_, nic, replacement_, netns, guest::Work::kNatBox, kNatCables, kNatCpus}));
        for (unsigned cable = 0; cable < kNatCables; ++cable) {
            TRY(run_ip_in(netns, fmt::format("link set {} arp off up", guest::tap_of(cable))));
        }
        RoleFacts facts = facts_of(kernel_, nic, *guest);
        return GuestOfNatBox{
            std::unique_ptr<GuestParts>(new GuestParts{std::move(namespaces), std::move(guest)}),
            nat_box_file(netns, nic), std::move(facts)};
    }

    std::string name_ = "qemu";
    guest::Kernel kernel_;
    std::vector<guest::Nic> nics_;
    std::string replacement_;
};

}  // namespace

Result<std::unique_ptr<Lab>> make_qemu_lab(const verdict::GuestOptions& options) {
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
