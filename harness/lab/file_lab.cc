// A lab that a file describes: the DUT is somebody's, and is changed by its agent alone.

#include <fmt/ranges.h>

#include <algorithm>

#include "harness/lab/dut_agent.h"
#include "harness/lab/lab.h"
#include "harness/lab/machine_use.h"
#include "harness/lab/plan.h"
#include "harness/lab/signals.h"

namespace pathproof::lab {
namespace {

using agent::HostChange;
using frame::IpAddress;
using ChangeKind = HostChange::Kind;
using Allowed = HostChange::Allowed;

// A tester port and the DUT's device at the other end of its cable.
struct Cable {
    const TesterPort* port = nullptr;
    const DutDevice* device = nullptr;
};

struct NatRoles {
    std::vector<Cable> clients;
    std::optional<Cable> servers;
};

NatRoles nat_roles(const LabFile& file) {
    NatRoles roles;
    for (const DutDevice& device : file.dut.devices) {
        const auto port = std::ranges::find(file.ports, device.port, &TesterPort::name);
        const Cable cable{&*port, &device};
        if (port->clients) {
            roles.clients.push_back(cable);
        } else if (!port->servers.empty() && !roles.servers) {
            roles.servers = cable;
        }
    }
    return roles;
}

std::optional<IpAddress> ipv4_of(const std::vector<Prefix>& prefixes) {
    const auto found = std::ranges::find_if(prefixes, [](const Prefix& prefix) {
        return prefix.address.family == frame::Family::kIpv4;
    });
    return found == prefixes.end() ? std::nullopt : std::optional(found->address);
}

// Without the bits of the host.
IpAddress network_address(const Prefix& prefix) {
    IpAddress address = prefix.address;
    for (unsigned bit = prefix.length; bit < 8 * address.size(); ++bit) {
        address.bytes[bit / 8] &= static_cast<std::uint8_t>(~(0x80u >> bit % 8));
    }
    return address;
}

std::string missing_for_nat(const LabFile& file) {
    const NatRoles roles = nat_roles(file);
    if (roles.clients.size() < 2) {
        return fmt::format("it takes two cabled tester ports with 'clients', and the file has {}",
                           roles.clients.size());
    }
    if (!roles.servers) {
        return "it takes a cabled tester port with 'servers', and the file has none";
    }
    for (const Cable& cable : {roles.clients[0], roles.clients[1], *roles.servers}) {
        if (!ipv4_of(cable.device->addresses)) {
            return fmt::format("the DUT device {} has no IPv4 'address' in the file",
                               cable.device->name);
        }
    }
    for (const IpAddress& server : roles.servers->port->servers) {
        if (std::ranges::none_of(roles.servers->device->addresses, [&](const Prefix& prefix) {
                return network_address(prefix) == network_address({server, prefix.length});
            })) {
            return fmt::format("the server {} is in no network of the DUT device {}",
                               to_string(server), roles.servers->device->name);
        }
    }
    return "";
}

// The first client of a network, clear of the addresses that routers and hosts have.
IpAddress first_client(const Prefix& network) {
    constexpr std::uint32_t kFirst = 257;
    return network_address(network).plus(kFirst);
}

HostChange ip(const std::string& device, std::string add, std::string undo,
              Allowed allowed = Allowed::kNothing) {
    return {.kind = ChangeKind::kIp,
            .device = device,
            .value = std::move(add),
            .undo = std::move(undo),
            .allowed = allowed};
}

HostChange address(const std::string& device, const std::string& prefix) {
    return ip(device, fmt::format("address add {} dev {}", prefix, device),
              fmt::format("address delete {} dev {}", prefix, device), Allowed::kIsThere);
}

HostChange neighbour(const std::string& device, const IpAddress& who,
                     const frame::MacAddress& mac) {
    return ip(device,
              fmt::format("neigh add {} lladdr {} nud permanent dev {}", to_string(who),
                          to_string(mac), device),
              fmt::format("neigh delete {} dev {}", to_string(who), device));
}

HostChange route(const std::string& device, const std::string& network, const IpAddress& by) {
    const std::string what = fmt::format("{} via {} dev {}", network, to_string(by), device);
    return ip(device, fmt::format("route add {} onlink", what), "route delete " + what);
}

HostChange sysctl(std::string name, const char* value) {
    return {.kind = ChangeKind::kSysctl,
            .name = std::move(name),
            .value = value,
            .allowed = Allowed::kIsMissing};
}

class FileNatBox final : public NatBox {
  public:
    FileNatBox(const LabFile& file, DutAgent& dut) : file_(file), dut_(dut), agent_(dut.agent()) {
        const NatRoles roles = nat_roles(file);
        names_ = nat_box_names("");
        names_.tester = file.tester_netns;
        names_.dut = file.dut.where;
        names_.vxlan = "pathproof-vx";
        names_.service = file.service.value_or(names_.service);
        for (std::size_t i = 0; i < 2; ++i) {
            cables_.push_back(roles.clients[i]);
            names_.client_ports[i] = cables_[i].port->device;
            names_.dut_client_devices[i] = cables_[i].device->name;
            names_.first_client[i] = first_client(*cables_[i].port->clients);
        }
        cables_.push_back(*roles.servers);
        names_.server_port = cables_[2].port->device;
        names_.dut_server_device = cables_[2].device->name;
        names_.servers = cables_[2].port->servers;
        names_.carrier_tester = *ipv4_of(cables_[0].port->addresses);
        names_.carrier_dut = *ipv4_of(cables_[0].device->addresses);
    }
    ~FileNatBox() override { dut_.put_back(); }

    std::vector<std::vector<Prefix>> port_plans() const override {
        return {cables_[0].port->addresses, cables_[1].port->addresses, cables_[2].port->addresses};
    }
    Result<std::shared_ptr<agent::Client>> agent() override { return agent_; }
    Status meet(const std::vector<frame::MacAddress>& tester_ports) override;
    Status set_sysctl(const std::string& name, const std::string& value) override {
        return agent_->apply({{.kind = ChangeKind::kSysctl, .name = name, .value = value}});
    }
    Result<std::string> steer(const std::string& device, const std::string& cpu_mask) override {
        auto former = agent_->rps(device);
        const Status steered =
            former ? agent_->apply(
                         {{.kind = ChangeKind::kSteering, .device = device, .value = cpu_mask}})
                   : pass_on(former.error());
        return steered ? std::move(former) : pass_on(steered.error());
    }

  private:
    Status load(const std::string& nat_table, const Sysctls& sysctls) override {
        std::vector<HostChange> changes{
            {.kind = ChangeKind::kRules, .name = "nat", .value = nat_table}};
        for (const auto& [name, value] : sysctls) {
            changes.push_back({.kind = ChangeKind::kSysctl, .name = name, .value = value});
        }
        return agent_->apply(changes);
    }
    Status flush() override {
        const auto flushed = agent_->conntrack_flush();
        return flushed ? Status() : pass_on(flushed.error());
    }
    Status meet_device(const Cable& cable, const agent::DeviceInfo& info,
                       std::vector<HostChange>& changes) const;
    void carry(std::vector<HostChange>& changes) const;

    const LabFile& file_;
    DutAgent& dut_;
    std::shared_ptr<agent::Client> agent_;
    std::vector<Cable> cables_;  // two of clients, that of the servers
};

// What leaves a virtual device without its checksums a DPDK port at the other end sees so: there the
// kernel must complete them. On hardware the device does.
bool completes_nothing(const agent::DeviceInfo& info) {
    return info.driver == "veth" || info.driver == "virtio_net" || info.driver == "tun";
}

Status FileNatBox::meet_device(const Cable& cable, const agent::DeviceInfo& info,
                               std::vector<HostChange>& changes) const {
    const std::string& device = cable.device->name;
    if (!info.link_up) {
        return fail(ErrorCode::kBadInput,
                    "{}: {} has no link; 'ip link set {} up' on both ends of its cable brings it "
                    "up",
                    to_string(file_.dut), device, device);
    }
    for (const Prefix& prefix : cable.device->addresses) {
        changes.push_back(address(device, to_string(prefix)));
    }
    for (const char* name : {"rp_filter", "send_redirects"}) {
        changes.push_back(sysctl(fmt::format("net.ipv4.conf.{}.{}", device, name), "0"));
    }
    if (completes_nothing(info)) {
        const auto features = TRY(agent_->features(device));
        for (const agent::Feature& feature : features) {
            if (feature.active && feature.available && !feature.never_changed &&
                feature.name.starts_with("tx-checksum-")) {
                changes.push_back({.kind = ChangeKind::kFeature,
                                   .device = device,
                                   .name = feature.name,
                                   .value = "off"});
            }
        }
    }
    return {};
}

// A vxlan device for clients that come in VXLAN through the first port.
void FileNatBox::carry(std::vector<HostChange>& changes) const {
    const std::string& underlay = cables_[0].device->name;
    const std::string& device = names_.vxlan;
    changes.push_back(
        ip(underlay,
           fmt::format("link add name {} address {} mtu {} type vxlan id {} dstport {} local {} "
                       "remote {} dev {} nolearning udpcsum",
                       device, to_string(names_.carried_dut_mac), kOverlayMtu, names_.vni,
                       names_.vxlan_port, to_string(names_.carrier_dut),
                       to_string(names_.carrier_tester), underlay),
           "link delete " + device));
    changes.push_back(ip(device, fmt::format("link set {} up", device),
                         fmt::format("link set dev {} down", device)));
    changes.push_back(address(device, kCarriedDut + std::string("/32")));
    const IpAddress router = *frame::parse_ip(kCarriedRouter);
    changes.push_back(neighbour(device, router, names_.carried_tester_mac));
    changes.push_back(route(device, kCarriedClients, router));
    changes.push_back(sysctl(fmt::format("net.ipv4.conf.{}.rp_filter", device), "0"));
}

Status FileNatBox::meet(const std::vector<frame::MacAddress>& tester_ports) {
    std::vector<HostChange> changes{sysctl("net.ipv4.conf.all.rp_filter", "0"),
                                    sysctl("net.ipv4.conf.all.send_redirects", "0"),
                                    sysctl("net.ipv4.ip_forward", "1")};
    for (std::size_t i = 0; i < cables_.size(); ++i) {
        const auto info = TRY(agent_->device(cables_[i].device->name));
        TRY(meet_device(cables_[i], info, changes));
        (i < 2 ? names_.dut_client_mac[i] : names_.dut_server_mac) = info.mac;
        (i < 2 ? names_.tester_client_mac[i] : names_.tester_server_mac) = tester_ports.at(i);
    }
    for (std::size_t i = 0; i < 2; ++i) {
        const std::string& device = names_.dut_client_devices[i];
        const IpAddress router = *ipv4_of(cables_[i].port->addresses);
        changes.push_back(neighbour(device, router, names_.tester_client_mac[i]));
        const Prefix& clients = *cables_[i].port->clients;
        changes.push_back(
            route(device, to_string(Prefix{network_address(clients), clients.length}), router));
    }
    for (const IpAddress& server : names_.servers) {
        changes.push_back(neighbour(names_.dut_server_device, server, names_.tester_server_mac));
    }
    carry(changes);
    TRY(agent_->apply(changes));
    TRY(configure({}));
    return agent_->apply({sysctl("net.netfilter.nf_conntrack_acct", "1"),
                          sysctl("net.netfilter.nf_conntrack_timestamp", "1"),
                          sysctl("net.netfilter.nf_conntrack_events", "1")});
}

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
        return std::make_unique<FileNatBox>(file_, *dut_);
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
                               .device_plan = device.addresses,
                               .port_plan = port->addresses});
        }
        return devices;
    }
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

Result<std::unique_ptr<Lab>> make_lab(const std::string& path, Result<LabFile> file) {
    if (!file) {
        return pass_on(file.error());
    }
    if (const Status free = check_machines(*file); !free) {
        return fail(free.error(), "{}", path);
    }
    const SignalHold hold;  // for the threads that listen and beat: the run's guard takes signals
    auto dut = file->dut.kind == Dut::Kind::kSsh
                   ? agent::Client::start_over_ssh(file->dut.ssh_host(), file->dut.program)
                   : agent::Client::start_in_netns(file->dut.where);
    if (!dut) {
        return fail(dut.error(), "{}", path);
    }
    return std::make_unique<FileLab>(path, std::move(*file), std::move(*dut));
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
        if (const Status bound = journal.bind_pci(port.device, port.driver); !bound) {
            return fail(bound.error(), "tester port '{}'", port.name);
        }
    }
    return {};
}

Result<std::unique_ptr<Lab>> make_file_lab(const std::string& path) {
    return make_lab(path, load_lab_file(path));
}

Result<std::unique_ptr<Lab>> make_net_config_lab(const std::string& path) {
    return make_lab(path, load_net_config(path));
}

}  // namespace pathproof::lab
