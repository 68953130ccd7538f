// A lab that a file describes: the DUT is somebody's, and is changed by its agent alone.

#include <fmt/ranges.h>

#include <algorithm>

#include "harness/lab/cabled_nat_box.h"
#include "harness/lab/dut_agent.h"
#include "harness/lab/lab.h"
#include "harness/lab/lcores.h"
#include "harness/lab/machine_use.h"
#include "harness/lab/signals.h"

namespace pathproof::lab {
namespace {

class FileLab final : public Lab {
  public:
    FileLab(std::string path, LabFile file, std::shared_ptr<agent::Client> dut)
        : path_(std::move(path)),
          file_(std::move(file)),
          dut_(std::make_unique<DutAgent>(std::move(dut))) {}

    const std::string& name() const override { return file_.name; }
    std::string lacks(Role role) const override {
        switch (role) {
            case Role::kOverlay:
                return "it takes two nodes with pods and VXLAN between them, and a lab file has "
                       "one "
                       "DUT";
            case Role::kNatBox: return missing_for_nat(file_);
            case Role::kNatPath:
                return "it takes a client and a server that are hosts of the kernel, and a lab "
                       "file "
                       "has ports of the tester there";
            case Role::kDevice: return "";
            case Role::kPods: return "it takes pods that CNI plug-ins attach: --lab cni";
        }
        return "";
    }
    Result<std::unique_ptr<NatBox>> nat_box(Journal& /*journal*/) override {
        if (const std::string missing = lacks(Role::kNatBox); !missing.empty()) {
            return fail(ErrorCode::kNotSupported, "{}: {}", path_, missing);
        }
        return std::make_unique<CabledNatBox>(file_, *dut_);
    }
    std::shared_ptr<agent::Client> dut() const override { return dut_->agent(); }
    std::string other_host() const override {
        return file_.dut.kind == Dut::Kind::kSsh ? file_.dut.where : "";
    }
    std::vector<CabledDevice> devices() const override {
        std::vector<CabledDevice> devices;
        for (const DutDevice& device : file_.dut.devices) {
            const auto port = std::ranges::find(file_.ports, device.port, &TesterPort::name);
            devices.push_back({.netns = other_host().empty() ? file_.dut.where : "",
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
    Status prepare(Journal& journal) override { return bind_ports(file_, journal); }
    Result<std::vector<std::string>> put_back() override {
        dut_->put_back();
        return dut_->outcome();
    }

  private:
    const std::string path_;
    const LabFile file_;
    std::unique_ptr<DutAgent> dut_;
};

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
