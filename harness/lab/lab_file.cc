#include "harness/lab/lab_file.h"

#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "dataplane/base/join_each.h"
#include "dataplane/base/number.h"
#include "dataplane/port/device_name.h"
#include "harness/lab/machine_use.h"
#include "harness/lab/undo.h"

namespace pathproof::lab {
namespace {

using frame::Family;
using frame::IpAddress;

constexpr int kMostHugepagesMib = 1 << 20;
constexpr int kMostQueues = 16;
constexpr int kMostNode = 1023;
constexpr int kMostCpu = 1023;  // of a cpu_set_t
constexpr std::size_t kMostLcores = 2;

bool is_device_name(std::string_view text) {
    return !text.empty() && text.size() < 16 &&  // IFNAMSIZ with its zero
           text.find_first_of("/ \t:") == std::string_view::npos && text[0] != '-' && text != "." &&
           text != "..";
}

bool is_word(std::string_view text) {
    return !text.empty() && text[0] != '-' &&
           text.find_first_of(" \t\n'\"\\;&|$`") == std::string_view::npos;
}

bool is_netns_name(std::string_view text) {
    return is_word(text) && text.find('/') == std::string_view::npos;
}

// An address that one machine can have.
bool is_host_address(const IpAddress& address) {
    const unsigned first = address.bytes[0];
    if (address.family == Family::kIpv4) {
        return first != 0 && first != 127 && first < 224;
    }
    return first != 0xff && std::any_of(address.bytes.begin(), address.bytes.end() - 1,
                                        [](std::uint8_t byte) { return byte != 0; });
}

// Walks one file's tables and gathers all that is wrong with them.
class Reader {
  public:
    explicit Reader(std::string file) : file_(std::move(file)) {}

    template <typename... Args>
    void wrong(const toml::source_region& where, fmt::format_string<Args...> text, Args&&... args) {
        wrong_.push_back(
            {where.begin.line, where.begin.column, fmt::format(text, std::forward<Args>(args)...)});
    }

    void only(const toml::table& table, const std::string& of,
              std::initializer_list<std::string_view> known) {
        for (const auto& [key, value] : table) {
            if (std::find(known.begin(), known.end(), key.str()) == known.end()) {
                wrong(key.source(), "unknown key '{}' in {}; allowed are {}", key.str(), of,
                      fmt::join(known.begin(), known.end(), ", "));
            }
        }
    }

    std::string text(const toml::table& table, const std::string& of, std::string_view key) {
        const toml::node* node = table.get(key);
        if (node == nullptr) {
            wrong(table.source(), "{} has no '{}'", of, key);
            return {};
        }
        if (!node->is_string() || node->as_string()->get().empty()) {
            wrong(node->source(), "'{}' must be a text in quotes, not empty", key);
            return {};
        }
        return node->as_string()->get();
    }

    // False where it is not there.
    bool flag(const toml::table& table, std::string_view key) {
        const toml::node* node = table.get(key);
        if (node != nullptr && !node->is_boolean()) {
            wrong(node->source(), "'{}' is true or false, without quotes", key);
        }
        return node != nullptr && node->value_or(false);
    }

    // The list behind `key`, empty where there is none. `how` tells that it is no list, or has fewer
    // items than `least` or more than `most`.
    const toml::array& list(const toml::table& table, std::string_view key, std::size_t least,
                            std::size_t most, const std::string& how) {
        static const toml::array kNone;
        const toml::node* node = table.get(key);
        const toml::array* there = node == nullptr ? &kNone : node->as_array();
        if (node != nullptr &&
            (there == nullptr || there->size() < least || there->size() > most)) {
            wrong(node->source(), "{}", how);
        }
        return there == nullptr ? kNone : *there;
    }

    // The one of these keys that is there, and which.
    std::pair<std::string, std::string_view> one_of(const toml::table& table, const std::string& of,
                                                    std::initializer_list<std::string_view> keys) {
        std::vector<std::string_view> there;
        std::ranges::copy_if(keys, std::back_inserter(there),
                             [&](std::string_view key) { return table.contains(key); });
        if (there.size() != 1) {
            wrong(table.source(), "{} needs '{}', one of them", of,
                  fmt::join(keys.begin(), keys.end(), "' or '"));
            return {"", *keys.begin()};
        }
        return {text(table, of, there.front()), there.front()};
    }

    std::vector<Prefix> prefixes(const toml::table& table, const std::string& of) {
        const std::string no_list =
            fmt::format("'address' of {} must be a list, as [\"198.18.0.2/24\"]", of);
        std::vector<Prefix> found;
        for (const toml::node& item : list(table, "address", 0, SIZE_MAX, no_list)) {
            const auto prefix = parse_prefix(item.value_or(std::string_view()));
            if (!prefix) {
                wrong(item.source(), "{}", prefix.error().message);
            } else if (!seen_.insert(to_string(prefix->address)).second) {
                wrong(item.source(), "the address {} is given twice", to_string(prefix->address));
            } else {
                found.push_back(*prefix);
            }
        }
        return found;
    }

    // The tables of [[key]], each with its number from 1.
    std::vector<const toml::table*> tables(const toml::table& parent, const std::string& path,
                                           std::string_view key) {
        const toml::node* node = parent.get(key);
        const toml::array* list = node == nullptr ? nullptr : node->as_array();
        if (list == nullptr || list->empty() || !list->is_homogeneous(toml::node_type::table)) {
            wrong(node == nullptr ? parent.source() : node->source(),
                  "there must be at least one [[{}.{}]]", path, key);
            return {};
        }
        std::vector<const toml::table*> found;
        for (const toml::node& item : *list) {
            found.push_back(item.as_table());
        }
        return found;
    }

    const toml::table* table(const toml::table& parent, std::string_view key) {
        const toml::node* node = parent.get(key);
        if (node == nullptr || !node->is_table()) {
            wrong(node == nullptr ? parent.source() : node->source(), "there must be a table [{}]",
                  key);
            return nullptr;
        }
        return node->as_table();
    }

    TesterPort port(const toml::table& table);
    // A whole number from `least` to `most`, or nothing where the key is missing.
    std::optional<int> number(const toml::table& table, std::string_view key, int least, int most);
    std::vector<int> lcores(const toml::table& table);
    std::optional<Prefix> clients(const toml::table& table);
    std::vector<IpAddress> servers(const toml::table& table);
    std::optional<frame::Endpoint> service(const toml::table& root);
    verdict::Parties report(const toml::table& root);
    DutDevice device(const toml::table& table, const std::vector<TesterPort>& ports);
    Dut dut(const toml::table& table, const std::vector<TesterPort>& ports);
    std::vector<std::string> modules(const toml::table& root);
    LabFile lab(const toml::table& root);

    bool clean() const { return wrong_.empty(); }
    // All that was found, in the order of the file.
    Failure failure() {
        std::ranges::stable_sort(wrong_, {},
                                 [](const Wrong& one) { return std::pair(one.line, one.column); });
        std::vector<std::string> lines;
        for (const Wrong& one : wrong_) {
            lines.push_back(fmt::format("{}:{}:{}: {}", file_, one.line, one.column, one.what));
        }
        return fail(ErrorCode::kBadInput, "{}", fmt::join(lines, "\n"));
    }

  private:
    struct Wrong {
        toml::source_index line;
        toml::source_index column;
        std::string what;
    };
    std::string file_;
    std::vector<Wrong> wrong_;
    std::set<std::string> seen_;  // addresses
};

std::optional<int> Reader::number(const toml::table& table, std::string_view key, int least,
                                  int most) {
    const toml::node* node = table.get(key);
    if (node == nullptr) {
        return std::nullopt;
    }
    const auto value = node->is_integer() ? node->value<std::int64_t>() : std::nullopt;
    if (!value || *value < least || *value > most) {
        wrong(node->source(), "'{}' must be a whole number, {} to {}", key, least, most);
        return std::nullopt;
    }
    return static_cast<int>(*value);
}

std::vector<int> Reader::lcores(const toml::table& table) {
    std::vector<int> cpus;
    for (const toml::node& item : list(table, "lcores", 1, kMostLcores,
                                       "'lcores' must be a list of one CPU or two, as [2, 3]")) {
        const auto cpu = item.is_integer() ? item.value<std::int64_t>() : std::nullopt;
        if (!cpu || *cpu < 0 || *cpu > kMostCpu) {
            wrong(item.source(), "'lcores' are numbers of CPUs, 0 to {}", kMostCpu);
        } else if (std::ranges::find(cpus, *cpu) != cpus.end()) {
            wrong(item.source(), "CPU {} is given twice in 'lcores'", *cpu);
        } else {
            cpus.push_back(static_cast<int>(*cpu));
        }
    }
    return cpus;
}

std::optional<Prefix> Reader::clients(const toml::table& table) {
    constexpr unsigned kLongest = 20;
    const toml::node* node = table.get("clients");
    if (node == nullptr) {
        return std::nullopt;
    }
    const auto network = parse_prefix(node->value_or(std::string_view()));
    if (!network || network->address.family != Family::kIpv4 || network->length > kLongest) {
        wrong(node->source(),
              "'clients' must be an IPv4 network of at least 4096 addresses, as \"198.18.0.0/17\"");
        return std::nullopt;
    }
    return *network;
}

std::vector<IpAddress> Reader::servers(const toml::table& table) {
    std::vector<IpAddress> found;
    for (const toml::node& item :
         list(table, "servers", 2, SIZE_MAX, "'servers' must be a list of two addresses or more")) {
        const auto address = frame::parse_ip(item.value_or(std::string_view()));
        if (!address || address->family != Family::kIpv4 || !is_host_address(*address)) {
            wrong(item.source(), "'servers' are IPv4 addresses of machines, as \"203.0.113.2\"");
        } else if (!seen_.insert(to_string(*address)).second) {
            wrong(item.source(), "the address {} is given twice", to_string(*address));
        } else {
            found.push_back(*address);
        }
    }
    return found;
}

TesterPort::Kind port_kind(std::string_view key) {
    if (key == "pci") {
        return TesterPort::Kind::kPci;
    }
    return key == "vdev" ? TesterPort::Kind::kVdev : TesterPort::Kind::kKernel;
}

TesterPort Reader::port(const toml::table& table) {
    const std::string of = "[[tester.port]]";
    only(table, of,
         {"name", "pci", "vdev", "device", "driver", "queues", "lcores", "numa", "address",
          "clients", "servers"});
    TesterPort port;
    port.name = text(table, of, "name");
    const auto [device, key] = one_of(table, of, {"pci", "vdev", "device"});
    port.kind = port_kind(key);
    port.device = device;
    if (device.empty()) {
        return port;
    }
    const toml::source_region& where = table.get(key)->source();
    if (port.kind == TesterPort::Kind::kPci && port::pci_address(device) != device) {
        wrong(where, "'{}' is no PCI address; write it as lspci -D does, for example 0000:3b:00.0",
              device);
    }
    if (port.kind == TesterPort::Kind::kVdev && !device.starts_with("net_")) {
        wrong(where,
              "'{}' is no DPDK network device; write it as EAL takes it, for example "
              "net_af_packet0,iface=ens1f0",
              device);
    }
    if (port.kind == TesterPort::Kind::kKernel && !is_device_name(device)) {
        wrong(where, "'{}' cannot be the name of a network device", device);
    }
    if (table.contains("driver")) {
        const auto driver = parse_user_driver(text(table, of, "driver"));
        port.driver = driver.value_or(port.driver);
        if (!driver || port.kind != TesterPort::Kind::kPci) {
            wrong(table.get("driver")->source(), "{}",
                  driver ? "'driver' is what a PCI device is bound to: it goes with 'pci'"
                         : driver.error().message);
        }
    }
    port.queues = static_cast<std::uint16_t>(number(table, "queues", 1, kMostQueues).value_or(1));
    port.lcores = lcores(table);
    port.numa = number(table, "numa", 0, kMostNode);
    port.addresses = prefixes(table, of);
    port.clients = clients(table);
    port.servers = servers(table);
    if (port.clients &&
        (port.addresses.empty() || port.addresses.front().address.family != Family::kIpv4)) {
        wrong(table.get("clients")->source(),
              "a port with clients needs an IPv4 'address' of its own, by way of which they are "
              "reached");
    }
    if (port.clients && !port.servers.empty()) {
        wrong(table.get("servers")->source(),
              "a port plays clients or servers, not both: give the servers another port");
    }
    return port;
}

DutDevice Reader::device(const toml::table& table, const std::vector<TesterPort>& ports) {
    const std::string of = "[[dut.device]]";
    only(table, of, {"name", "port", "address"});
    DutDevice device;
    device.name = text(table, of, "name");
    if (!device.name.empty() && !is_device_name(device.name)) {
        wrong(table.get("name")->source(), "'{}' cannot be the name of a network device",
              device.name);
    }
    device.port = text(table, of, "port");
    if (!device.port.empty() &&
        std::ranges::find(ports, device.port, &TesterPort::name) == ports.end()) {
        wrong(table.get("port")->source(), "there is no tester port '{}'; there are: {}",
              device.port, join_each(ports, &TesterPort::name));
    }
    device.addresses = prefixes(table, of);
    return device;
}

Dut Reader::dut(const toml::table& table, const std::vector<TesterPort>& ports) {
    only(table, "[dut]",
         {"ssh", "ssh_config", "netns", "program", "in_place", "dedicated", "device"});
    Dut dut;
    const auto [where, key] = one_of(table, "[dut]", {"ssh", "netns"});
    const bool is_ssh = key == "ssh";
    dut.where = where;
    dut.kind = is_ssh ? Dut::Kind::kSsh : Dut::Kind::kNetns;
    if (!where.empty() && !(is_ssh ? is_word(where) : is_netns_name(where))) {
        wrong(table.get(key)->source(), "'{}' is no {}", where,
              is_ssh ? "SSH destination, as root@dut1" : "name of a network namespace");
    }
    if (table.contains("program")) {
        dut.program = text(table, "[dut]", "program");
        // A shell there reads it.
        if (!is_ssh || !is_word(dut.program) ||
            dut.program.find_first_of("<>()[]{}*?!#") != std::string::npos) {
            wrong(
                table.get("program")->source(),
                "'program' is the path of pathproof on the host of 'ssh', without blanks and what "
                "a shell takes apart");
        }
    }
    if (table.contains("ssh_config")) {
        dut.ssh_config =
            std::filesystem::path(file_).parent_path() / text(table, "[dut]", "ssh_config");
        if (!is_ssh) {
            wrong(table.get("ssh_config")->source(),
                  "'ssh_config' is a file for the -F of ssh: it goes with 'ssh'");
        }
    }
    dut.in_place = flag(table, "in_place");
    dut.dedicated = flag(table, "dedicated");
    if (dut.in_place && !dut.dedicated) {
        wrong(
            table.get("in_place")->source(),
            "with 'in_place' a run replaces the host's own nat table and forgets its connections: "
            "'dedicated = true' beside it says that nobody else needs the host");
    }
    std::set<std::string> names;
    for (const toml::table* one : tables(table, "dut", "device")) {
        dut.devices.push_back(device(*one, ports));
        if (!dut.devices.back().name.empty() && !names.insert(dut.devices.back().name).second) {
            wrong(one->get("name")->source(), "the device '{}' is given twice",
                  dut.devices.back().name);
        }
    }
    return dut;
}

std::vector<std::string> Reader::modules(const toml::table& root) {
    std::vector<std::string> names;
    for (const toml::node& item :
         list(root, "modules", 0, SIZE_MAX, "'modules' must be a list, as [\"vfio-pci\"]")) {
        const std::string name = item.value_or(std::string());
        const bool is_name =
            name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == std::string::npos;
        if (name.empty() || name.front() == '-' || !is_name) {
            wrong(item.source(), "'modules' are names of kernel modules, as \"vfio-pci\"");
        } else {
            names.push_back(name);
        }
    }
    return names;
}

std::optional<frame::Endpoint> Reader::service(const toml::table& root) {
    const toml::node* node = root.get("service");
    if (node == nullptr) {
        return std::nullopt;
    }
    const auto endpoint = frame::parse_endpoint(node->value_or(std::string()));
    if (!endpoint || endpoint->address.family != Family::kIpv4 || endpoint->port == 0) {
        wrong(node->source(),
              "'service' must be an IPv4 address and a port, as "
              "\"198.51.100.10:53\"");
        return std::nullopt;
    }
    return *endpoint;
}

verdict::Parties Reader::report(const toml::table& root) {
    verdict::Parties parties;
    if (!root.contains("report")) {
        return parties;
    }
    const toml::table* section = table(root, "report");
    std::set<std::string_view> keys;
    for (const verdict::PartyField& field : verdict::party_fields()) {
        keys.insert(field.key);
        if (section != nullptr && section->contains(field.key)) {
            parties.*field.value = text(*section, "[report]", field.key);
        }
    }
    for (const auto& [key, value] : section == nullptr ? toml::table() : *section) {
        if (!keys.contains(key.str())) {
            wrong(key.source(), "unknown key '{}' in [report]; allowed are {}", key.str(),
                  fmt::join(keys, ", "));
        }
    }
    if (!parties.received.empty() && !verdict::is_day(parties.received)) {
        wrong(section->get("received")->source(), "'received' is a day, as \"2026-11-23\"");
    }
    return parties;
}

LabFile Reader::lab(const toml::table& root) {
    only(root, "a lab file",
         {"name", "hugepages_mib", "modules", "service", "report", "tester", "dut"});
    LabFile lab;
    lab.name = text(root, "the lab file", "name");
    lab.hugepages_mib =
        static_cast<std::uint32_t>(number(root, "hugepages_mib", 0, kMostHugepagesMib).value_or(0));
    lab.modules = modules(root);
    lab.service = service(root);
    lab.report = report(root);
    if (const toml::table* tester = table(root, "tester")) {
        only(*tester, "[tester]", {"netns", "port"});
        if (tester->contains("netns")) {
            lab.tester_netns = text(*tester, "[tester]", "netns");
            if (!lab.tester_netns.empty() && !is_netns_name(lab.tester_netns)) {
                wrong(tester->get("netns")->source(), "'{}' is no name of a network namespace",
                      lab.tester_netns);
            }
        }
        std::set<std::string> names;
        std::set<std::string> devices;
        for (const toml::table* one : tables(*tester, "tester", "port")) {
            const TesterPort port = this->port(*one);
            if (!port.name.empty() && !names.insert(port.name).second) {
                wrong(one->get("name")->source(), "the port '{}' is given twice", port.name);
            }
            if (!port.device.empty() && !devices.insert(port.device).second) {
                wrong(one->source(), "the device '{}' is given twice", port.device);
            }
            lab.ports.push_back(port);
        }
    }
    if (const toml::table* described = table(root, "dut")) {
        lab.dut = dut(*described, lab.ports);
    }
    return lab;
}

Failure syntax_error(const toml::parse_error& error, const std::string& file) {
    const toml::source_position at = error.source().begin;
    return fail(ErrorCode::kBadInput, "{}:{}:{}: not TOML: {}", file, at.line, at.column,
                error.description());
}

}  // namespace

Result<Prefix> parse_prefix(std::string_view text) {
    const Failure no_prefix =
        fail(ErrorCode::kBadInput,
             "'{}' is no address with its prefix length, as \"198.18.0.2/24\"", text);
    const std::size_t slash = text.find('/');
    if (slash == std::string_view::npos) {
        return no_prefix;
    }
    const auto address = frame::parse_ip(text.substr(0, slash));
    const auto length = whole_number<unsigned>(text.substr(slash + 1));
    if (!address || !length || *length > address->size() * 8) {
        return no_prefix;
    }
    if (!is_host_address(*address)) {
        return fail(ErrorCode::kBadInput, "'{}' is not the address of one machine", text);
    }
    return Prefix{*address, *length};
}

std::string to_string(const Prefix& prefix) {
    return fmt::format("{}/{}", to_string(prefix.address), prefix.length);
}

std::string to_string(const Dut& dut) {
    return dut.where.empty() ? "DUT" : "DUT " + dut.where;
}

std::string TesterPort::kernel_device() const {
    if (kind == Kind::kKernel) {
        return device;
    }
    return kind == Kind::kVdev ? port::interface_argument(device) : std::string();
}

Result<LabFile> parse_lab_file(std::string_view text, const std::string& file) {
    // The one place where toml++ is called: its exceptions end here.
    try {
        const toml::table root = toml::parse(text, file);
        Reader reader(file);
        LabFile lab = reader.lab(root);
        if (!reader.clean()) {
            return reader.failure();
        }
        return lab;
    } catch (const toml::parse_error& error) {
        return syntax_error(error, file);
    }
}

Result<LabFile> load_lab_file(const std::string& path) {
    const auto text = read_file(path);
    if (!text) {
        return fail(
            text.error().code == ErrorCode::kNotFound ? ErrorCode::kNotFound : ErrorCode::kBadInput,
            "lab file: {}", text.error().message);
    }
    return parse_lab_file(*text, path);
}

}  // namespace pathproof::lab
