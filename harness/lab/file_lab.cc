// A lab that a file describes: the DUT is somebody's, and is changed by its agents alone. During a run its devices
// are in a network namespace of their own there, unless the file says `in_place`.

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "harness/agent/device_info.h"
#include "harness/agent/host_change.h"
#include "harness/lab/cabled_nat_box.h"
#include "harness/lab/cabled_nat_path.h"
#include "harness/lab/cabled_overlay.h"
#include "harness/lab/dut_agent.h"
#include "harness/lab/lab.h"
#include "harness/lab/lcores.h"
#include "harness/lab/machine_use.h"
#include "harness/lab/signals.h"

namespace pathproof::lab {
namespace {

class FileLab final : public Lab {
  public:
    FileLab(std::string path, LabFile file, std::shared_ptr<agent::Client> host)
        : path_(std::move(path)),
          file_(std::move(file)),
          host_(std::make_unique<DutAgent>(std::move(host))) {}

    const std::string& name() const override { return file_.name; }
    verdict::Parties parties() const override { return file_.report; }
    const LabFile* file() const override { return &file_; }
    std::string lacks(Role role) const override {
        if (role == Role::kDevice) {
            return "";
        }
        if (role == Role::kPods) {
            return "it takes pods that CNI plug-ins attach: --lab cni";
        }
        if (file_.dut.in_place && !file_.dut.dedicated) {
            return "it changes rules of the DUT's host and forgets its connections, and nothing "
                   "says that nobody else needs them: a lab file moves the device into a network "
                   "namespace of the run for it";
        }
        if (role == Role::kNatBox) {
            return missing_for_nat(file_);
        }
        return role == Role::kNatPath ? missing_for_nat_path(file_) : "";
    }
    Result<std::unique_ptr<NatBox>> nat_box(Journal& /*journal*/) override {
        if (const std::string missing = lacks(Role::kNatBox); !missing.empty()) {
            return fail(ErrorCode::kNotSupported, "{}: {}", path_, missing);
        }
        return std::make_unique<CabledNatBox>(file_, dut_agent(), agents().tables);
    }
    Result<std::unique_ptr<Overlay>> overlay(Journal& journal) override {
        return cabled_overlay(journal, file_, agents(), facts());
    }
    Result<std::unique_ptr<NatPath>> nat_path(Journal& journal, ClientAt client) override {
        if (const std::string missing = lacks(Role::kNatPath); !missing.empty()) {
            return fail(ErrorCode::kNotSupported, "{}: {}", path_, missing);
        }
        return cabled_nat_path(journal, file_, agents(), client, facts());
    }
    std::shared_ptr<agent::Client> dut() const override { return dut_agent().agent(); }
    std::string other_host() const override {
        return file_.dut.kind == Dut::Kind::kSsh ? file_.dut.where : "";
    }
    std::vector<CabledDevice> devices() const override {
        std::vector<CabledDevice> devices;
        for (const DutDevice& device : file_.dut.devices) {
            const auto port = std::ranges::find(file_.ports, device.port, &TesterPort::name);
            devices.push_back({.netns = netns_here(),
                               .host = other_host(),
                               .name = device.name,
                               .tester_netns = file_.tester_netns,
                               .tester_port = port->device,
                               .tester_queues = port->queues,
                               .tester_lcore = port->lcores.empty()
                                                   ? std::nullopt
                                                   : std::optional(port->lcores.front()),
                               .device_plan = device.addresses,
                               .port_plan = port->addresses});
        }
        return devices;
    }
    std::vector<int> lcores() const override { return lcores_of_run(file_, port::usable_cpus()); }
    Status prepare(Journal& journal) override {
        TRY(bind_ports(file_, journal));
        return file_.dut.in_place
                   ? Status()
                   : doing(move_devices(fmt::format("pp-{}-dut", journal.run_id())), "{}", path_);
    }
    // The agent in the run's namespace first: what it changed of devices goes with them.
    Result<std::vector<std::string>> put_back() override {
        Result<std::vector<std::string>> of_dut = std::vector<std::string>();
        if (dut_ != nullptr) {
            dut_->put_back();
            of_dut = dut_->outcome();
            dut_.reset();
        }
        host_->put_back();
        auto left = TRY(host_->outcome());
        // Only now: whatever became of the run's namespace, the host's devices are back.
        const std::vector<std::string> inside = TRY(std::move(of_dut));
        left.insert(left.begin(), inside.begin(), inside.end());
        return left;
    }

  private:
    DutAgents agents() const {
        return {.host = host_.get(),
                .dut = &dut_agent(),
                .netns = file_.dut.in_place ? file_.dut.where : place_,
                .tables = file_.dut.in_place ? Tables::kOthers : Tables::kOurs};
    }
    // Describes the DUT and where its devices are, for the report.
    RoleFacts facts() const {
        return {
            {"DUT",
             fmt::format("{}, kernel {}", other_host().empty() ? "this machine" : other_host(),
                         dut_agent().agent()->hello().kernel)},
            {"its devices", file_.dut.in_place
                                ? "in the host's own network namespace, beside its own rules"
                                : "in a network namespace of the run, apart from its own rules"}};
    }
    // The devices' namespace on this machine; empty: it is ours, or they are another machine's.
    std::string netns_here() const {
        if (!other_host().empty()) {
            return "";
        }
        return dut_ != nullptr ? place_ : file_.dut.where;
    }
    DutAgent& dut_agent() const { return dut_ != nullptr ? *dut_ : *host_; }
    Status move_devices(const std::string& netns);

    const std::string path_;
    const LabFile file_;
    std::string place_;  // the run's network namespace on the DUT; empty: there is none
    std::unique_ptr<DutAgent> host_;  // where the devices were found
    std::unique_ptr<DutAgent> dut_;   // in the run's namespace
};

// Moves the DUT's devices, then waits until those that had a link have it again: a physical one
// takes its time.
Status FileLab::move_devices(const std::string& netns) {
    constexpr std::chrono::seconds kLinkTime{15};
    agent::Client& host = *host_->agent();
    std::vector<agent::HostChange> changes{
        {.kind = agent::HostChange::Kind::kNetns, .name = netns, .value = "there"}};
    std::vector<std::string> linked;
    for (const DutDevice& device : file_.dut.devices) {
        if (TRY(host.device(device.name)).link_up) {
            linked.push_back(device.name);
        }
        changes.push_back(
            {.kind = agent::HostChange::Kind::kMove, .device = device.name, .value = netns});
    }
    const SignalHold hold;  // for the threads that listen and beat: the run's guard takes signals
    TRY(host.apply(changes));
    place_ = netns;
    dut_ = std::make_unique<DutAgent>(TRY(host.start_beside(netns)));
    const auto until = std::chrono::steady_clock::now() + kLinkTime;
    for (const std::string& device : linked) {
        while (!TRY(dut_->agent()->device(device)).link_up) {
            if (std::chrono::steady_clock::now() > until) {
                return fail(
                    ErrorCode::kUnavailable,
                    "{}: {} had a link, and has none {} s after it was moved into a network "
                    "namespace of the run",
                    to_string(file_.dut), device, kLinkTime.count());
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
    }
    return {};
}

Result<std::unique_ptr<Lab>> make_lab(const std::string& path, LabFile file) {
    TRY(doing(place_lcores(file), "{}", path));
    TRY(doing(check_machines(file), "{}", path));
    const SignalHold hold;  // for the threads that listen and beat: the run's guard takes signals
    auto dut = TRY(doing(file.dut.kind == Dut::Kind::kSsh
                             ? agent::Client::start_over_ssh(file.dut.ssh_host(), file.dut.program)
                             : agent::Client::start_in_netns(file.dut.where),
                         "{}", path));
    return std::make_unique<FileLab>(path, std::move(file), std::move(dut));
}

}  // namespace

Status bind_ports(const LabFile& file, Journal& journal) {
    for (const TesterPort& port : file.ports) {
        if (port.kind == TesterPort::Kind::kPci) {
            TRY(read_binding(port.device, {}));
        }
    }
    for (const std::string& module : file.modules) {
        TRY(journal.load_module(module));
    }
    for (const TesterPort& port : file.ports) {
        if (port.kind != TesterPort::Kind::kPci) {
            continue;
        }
        const auto binding = TRY(read_binding(port.device, {}));
        if (is_shared_driver(binding.driver)) {
            continue;
        }
        TRY(doing(journal.bind_pci(port.device, port.driver), "tester port '{}'", port.name));
    }
    return {};
}

Result<std::unique_ptr<Lab>> make_file_lab(const std::string& path) {
    LabFile file = TRY(load_lab_file(path));
    return make_lab(path, std::move(file));
}

Result<std::unique_ptr<Lab>> make_net_config_lab(const std::string& path) {
    LabFile file = TRY(load_net_config(path));
    return make_lab(path, std::move(file));
}

}  // namespace pathproof::lab
