#include "harness/lab/machine_use.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <utility>

#include "dataplane/port/device_name.h"
#include "harness/hazards/ruleset.h"
#include "harness/process/foreign.h"
#include "harness/process/json_text.h"
#include "harness/process/netns.h"
#include "harness/process/program.h"

namespace pathproof::lab {
namespace {

using nlohmann::json;

constexpr const char* kMark = "%%";
// One program, so that another host is asked once. A part that cannot be read fails the whole: an
// SSH session that was not looked for must not count as one that is not there.
constexpr const char* kAsk = R"sh(
PATH=$PATH:/usr/sbin:/sbin
ip -json -details address show && echo '%%' &&
ip -json -4 route show table all default && echo '%%' &&
ip -json -6 route show table all default && echo '%%' &&
ss -Htn state established '( sport = :22 or dport = :22 )' && {
  set -- $SSH_CONNECTION
  if [ $# -eq 4 ]; then echo "0 0 [$3]:$4 [$1]:$2"; fi
} && echo '%%' &&
for device in /sys/class/net/*; do echo "${device##*/} $(readlink -f "$device/device")"; done &&
echo '%%' || exit 1
{
  sed -nE 's/.*[ ,]addr=([^, ]+).*/\1/p' /proc/mounts
  cat /sys/class/iscsi_connection/*/address /sys/class/iscsi_connection/*/persistent_address
  sed -nE 's/.*traddr=([^,]+).*/\1/p' /sys/class/nvme/*/address
  ss -Htnp state established | while read -r waiting_in waiting_out here there program; do
    case "$there $program" in *:10809\ *|*'"nbd-client"'*) echo "${there%:*}" | tr -d '[]';; esac
  done
} 2>/dev/null | sed 's/^::ffff://' | sort -u | while read -r server; do
  ip -json route get "$server" 2>/dev/null
done
true
)sh";

// One device, with what is needed to share its use with the others of its stack.
struct Seen {
    DeviceUse use;
    std::string master;  // bond, bridge, VRF, team that it is a part of
    std::string lower;   // the device that a VLAN, macvlan, vxlan, ... device sits on
};

// The elements of a list of objects; nothing for what is none.
std::vector<json> objects_in(const json& object, const char* key) {
    std::vector<json> found;
    if (const json& list = process::part(object, key); list.is_array()) {
        std::ranges::copy_if(list, std::back_inserter(found), &json::is_object);
    }
    return found;
}

// ip(8) gives the other end of the pair as the link of these devices.
bool is_one_end_of_a_pair(const json& device) {
    const std::string kind = process::text_in(process::part(device, "linkinfo"), "info_kind");
    return kind == "veth" || kind == "netkit" || kind == "vxcan";
}

Seen see(const json& device) {
    Seen seen;
    seen.use.name = process::text_in(device, "ifname");
    seen.master = process::text_in(device, "master");
    seen.lower = is_one_end_of_a_pair(device) ? "" : process::text_in(device, "link");
    if (seen.lower.empty()) {  // of a tunnel
        const json& info = process::part(device, "linkinfo");
        seen.lower = process::text_in(process::part(info, "info_data"), "link");
    }
    for (const json& address : objects_in(device, "addr_info")) {
        const json& length = process::part(address, "prefixlen");
        const auto ip = frame::parse_ip(process::text_in(address, "local"));
        if (ip && length.is_number_unsigned() && process::text_in(address, "scope") != "link") {
            seen.use.addresses.push_back({*ip, length.get<unsigned>()});
        }
    }
    return seen;
}

void mark_routes(const json& routes, std::vector<Seen>& devices) {
    for (const json& route : routes) {
        if (!route.is_object()) {
            continue;
        }
        std::vector<std::string> through{process::text_in(route, "dev")};
        for (const json& hop : objects_in(route, "nexthops")) {
            through.push_back(process::text_in(hop, "dev"));
        }
        for (Seen& seen : devices) {
            seen.use.default_route |= std::ranges::find(through, seen.use.name) != through.end();
        }
    }
}

// "192.0.2.2:22", "[::ffff:192.0.2.2%eth0]:22" -> the address.
Result<frame::IpAddress> address_of(std::string end) {
    end = end.substr(0, end.rfind(':'));
    std::erase_if(end, [](char letter) { return letter == '[' || letter == ']'; });
    end = end.substr(0, end.find('%'));
    const std::string mapped = "::ffff:";
    return frame::parse_ip(end.starts_with(mapped) ? end.substr(mapped.size()) : end);
}

template <typename T>
void add_new(const std::vector<T>& from, std::vector<T>& to) {
    for (const T& each : from) {
        if (std::ranges::find(to, each) == to.end()) {
            to.push_back(each);
        }
    }
}

void mark_sessions(const std::string& sessions, std::vector<Seen>& devices) {
    for (const std::string& line : process::lines_of(sessions)) {
        std::istringstream fields(line);
        std::string waiting_in, waiting_out, here, there;
        const auto local = fields >> waiting_in >> waiting_out >> here >> there
                               ? address_of(here)
                               : Result<frame::IpAddress>(fail(ErrorCode::kFailed, "no session"));
        for (Seen& seen : devices) {
            const auto& own = seen.use.addresses;
            if (local && std::ranges::find(own, *local, &Prefix::address) != own.end()) {
                add_new({there}, seen.use.ssh_peers);
            }
        }
    }
}

// The PCI function is a part of the path even where a bus (virtio) lies between it and the network
// device.
std::string pci_in(const std::string& path) {
    std::istringstream parts(path);
    std::string part;
    std::string found;
    while (std::getline(parts, part, '/')) {
        found = !part.empty() && port::pci_address(part) == part ? part : found;
    }
    return found;
}

void mark_pci(const std::string& links, std::vector<Seen>& devices) {
    for (const std::string& line : process::lines_of(links)) {
        const std::size_t blank = line.find(' ');
        for (Seen& seen : devices) {
            if (blank != std::string::npos && seen.use.name == line.substr(0, blank)) {
                seen.use.pci = pci_in(line.substr(blank + 1));
            }
        }
    }
}

// One line for each server: the way that its packets take.
void mark_storage(const std::string& routes, std::vector<Seen>& devices) {
    for (const std::string& line : process::lines_of(routes)) {
        const json answer = process::parse_foreign(line);
        for (const json& route : answer.is_array() ? answer : json::array()) {
            for (Seen& seen : devices) {
                if (route.is_object() && process::text_in(route, "dev") == seen.use.name) {
                    seen.use.storage_peers.push_back(process::text_in(route, "dst"));
                }
            }
        }
    }
}

void add_use(const DeviceUse& from, DeviceUse& to) {
    to.stack.push_back(from.name);
    to.default_route |= from.default_route;
    add_new(from.addresses, to.addresses);
    add_new(from.ssh_peers, to.ssh_peers);
    add_new(from.storage_peers, to.storage_peers);
}

bool are_joined(const Seen& a, const Seen& b) {
    const auto sits_on = [](const Seen& upper, const Seen& lower) {
        return upper.lower == lower.use.name || lower.master == upper.use.name;
    };
    return sits_on(a, b) || sits_on(b, a);
}

// The devices of the stack that devices[first] is a part of, itself among them.
std::set<std::size_t> stack_of(std::size_t first, const std::vector<Seen>& devices) {
    std::set<std::size_t> stack{first};
    std::vector<std::size_t> to_follow{first};
    while (!to_follow.empty()) {
        const Seen& from = devices[to_follow.back()];
        to_follow.pop_back();
        for (std::size_t n = 0; n < devices.size(); ++n) {
            if (are_joined(from, devices[n]) && stack.insert(n).second) {
                to_follow.push_back(n);
            }
        }
    }
    return stack;
}

// Every device of a stack carries what one of them carries.
MachineUse shared_in_stacks(const std::vector<Seen>& devices) {
    MachineUse shared;
    for (std::size_t n = 0; n < devices.size(); ++n) {
        shared.push_back(devices[n].use);
        for (const std::size_t other : stack_of(n, devices)) {
            if (other != n) {
                add_use(devices[other].use, shared.back());
            }
        }
    }
    return shared;
}

Result<MachineUse> take_apart(const std::string& answer) {
    std::array<std::string, 6> parts;
    std::size_t part = 0;
    for (const std::string& line : process::lines_of(answer)) {
        if (line == kMark && part + 1 < parts.size()) {
            ++part;
        } else {
            parts[part] += line + "\n";
        }
    }
    return parse_use(parts[0], parts[1], parts[2], parts[3], parts[4], parts[5]);
}

// Gives the questions to a shell on its standard input: what shell a user of another host has does
// not matter then.
Result<MachineUse> ask(const std::vector<std::string>& shell, const std::string& netns,
                       const std::string& whom, const process::SshHost* over = nullptr) {
    const auto answer = TRY(doing(process::run_program(shell, {.netns = netns, .input = kAsk}),
                                  "look at the network devices of {}", whom));
    if (over != nullptr && answer.exit_status == process::kSshFailed) {
        return process::ssh_failure(*over, answer.err);
    }
    if (answer.exit_status != 0) {
        return fail(over == nullptr ? ErrorCode::kUnavailable : ErrorCode::kNotSupported,
                    "look at the network devices of {} with ip(8) and ss(8): {}", whom,
                    answer.err.empty() ? fmt::format("exit status {}", answer.exit_status)
                                       : process::last_words(answer.err));
    }
    return take_apart(process::without_controls(answer.out));
}

bool is_test_address(const frame::IpAddress& address) {
    static const std::array kApart = {
        *hazards::parse_range("198.18.0.0/15"),   *hazards::parse_range("192.0.2.0/24"),
        *hazards::parse_range("198.51.100.0/24"), *hazards::parse_range("203.0.113.0/24"),
        *hazards::parse_range("2001:db8::/32"),   *hazards::parse_range("2001:2::/48")};
    return std::ranges::any_of(
        kApart, [&](const hazards::AddressRange& apart) { return apart.contains(address); });
}

Status verdict(const std::vector<std::string>& refused) {
    if (refused.empty()) {
        return {};
    }
    return fail(ErrorCode::kBadInput, "{}\nnothing was changed; name other devices in the lab file",
                fmt::join(refused, "\n"));
}

void refuse(const std::string& who, const DeviceUse& use, const std::vector<Prefix>& allowed,
            std::vector<std::string>& refused) {
    for (const std::string& reason : objections(use, &allowed)) {
        refused.push_back(fmt::format("{} is refused: it {}", who, reason));
    }
}

}  // namespace

Result<MachineUse> parse_use(const std::string& addresses_json, const std::string& routes_json,
                             const std::string& routes6_json, const std::string& ssh_sessions,
                             const std::string& pci_links, const std::string& storage_routes) {
    // ip(8) prints nothing at all, or "[]", for an empty list.
    const auto list = [](const std::string& text) {
        const bool blank = text.find_first_not_of(" \n") == std::string::npos;
        return blank ? json::array() : process::parse_foreign(text);
    };
    const json addresses = list(addresses_json);
    const std::array<json, 2> routes{list(routes_json), list(routes6_json)};
    if (!addresses.is_array() || addresses.empty() || !routes[0].is_array() ||
        !routes[1].is_array()) {
        return fail(ErrorCode::kFailed, "'ip -json' did not print lists of devices and routes");
    }
    std::vector<Seen> devices;
    for (const json& device : addresses) {
        if (device.is_object() && device.contains("ifname")) {
            devices.push_back(see(device));
        }
    }
    mark_routes(routes[0], devices);
    mark_routes(routes[1], devices);
    mark_sessions(ssh_sessions, devices);
    mark_pci(pci_links, devices);
    mark_storage(storage_routes, devices);
    return shared_in_stacks(devices);
}

Result<MachineUse> local_use(const std::string& netns) {
    TRY(process::require_netns(netns));
    return ask({"sh", "-s"}, netns, netns.empty() ? "this machine" : "network namespace " + netns);
}

Result<MachineUse> remote_use(const process::SshHost& host) {
    return ask(process::ssh_command(host, {"sh", "-s"}), "", host.destination, &host);
}

std::vector<std::string> objections(const DeviceUse& use, const std::vector<Prefix>* plan) {
    std::vector<std::string> found;
    if (use.default_route) {
        found.emplace_back("carries the default route");
    }
    for (const std::string& peer : use.ssh_peers) {
        found.push_back(fmt::format("carries an SSH session with {}", peer));
    }
    for (const std::string& server : use.storage_peers) {
        found.push_back(fmt::format("carries a file system or disk that {} serves", server));
    }
    for (const Prefix& own : use.addresses) {
        const bool allowed = plan == nullptr ? is_test_address(own.address)
                                             : std::ranges::find(*plan, own.address,
                                                                 &Prefix::address) != plan->end();
        if (!allowed) {
            found.push_back(
                fmt::format("has the address {}, which is {}", to_string(own),
                            plan == nullptr ? "of no test network" : "not in the lab file"));
        }
    }
    if (!found.empty() && !use.stack.empty()) {
        found.back() +=
            fmt::format(" (it or {}, which it is joined with)", fmt::join(use.stack, ", "));
    }
    return found;
}

Status check_touchable(const std::string& device, const std::string& netns,
                       const std::vector<Prefix>* plan) {
    const std::string pci = port::pci_address(device);
    bool found = !pci.empty();
    // The kernel shows an interface in its own namespace only.
    for (const std::string& where :
         pci.empty() || netns.empty() ? std::vector{netns} : std::vector{netns, std::string()}) {
        const auto use = TRY(local_use(where));
        for (const DeviceUse& one : use) {
            if (pci.empty() ? one.name != device : one.pci != pci) {
                continue;
            }
            found = true;
            if (const auto reasons = objections(one, plan); !reasons.empty()) {
                return fail(ErrorCode::kBadInput,
                            "{} {}: nothing is sent on it and nothing of it is changed. Take a "
                            "device that is in use for nothing else",
                            pci.empty() ? device : fmt::format("{} ({})", device, one.name),
                            fmt::join(reasons, ", "));
            }
        }
    }
    return found ? Status()
                 : fail(ErrorCode::kNotFound, "there is no device {}{}; 'ip link' lists them",
                        device, netns.empty() ? "" : " in " + netns);
}

Status check_tester_ports(const LabFile& lab, const MachineUse& tester) {
    std::vector<std::string> refused;
    for (const TesterPort& port : lab.ports) {
        const std::string kernel_device = port.kernel_device();
        const auto found = port.kind == TesterPort::Kind::kPci
                               ? std::ranges::find(tester, port.device, &DeviceUse::pci)
                               : std::ranges::find(tester, kernel_device, &DeviceUse::name);
        if (found != tester.end()) {
            refuse(fmt::format("tester port '{}' ({})", port.name, port.device), *found,
                   port.addresses, refused);
        } else if (!kernel_device.empty()) {
            return fail(ErrorCode::kNotFound,
                        "tester port '{}': there is no device {} on this machine", port.name,
                        kernel_device);
        }
    }
    return verdict(refused);
}

Status check_dut_devices(const LabFile& lab, const MachineUse& dut) {
    std::vector<std::string> refused;
    for (const DutDevice& device : lab.dut.devices) {
        const auto found = std::ranges::find(dut, device.name, &DeviceUse::name);
        if (found == dut.end()) {
            return fail(ErrorCode::kNotFound, "{}: there is no device {}; 'ip link' lists them",
                        to_string(lab.dut), device.name);
        }
        refuse(fmt::format("DUT device {}", device.name), *found, device.addresses, refused);
    }
    return verdict(refused);
}

Status check_machines(const LabFile& lab) {
    const auto here = TRY(local_use(lab.tester_netns));
    TRY(check_tester_ports(lab, here));
    const auto dut =
        lab.dut.kind == Dut::Kind::kSsh ? remote_use(lab.dut.ssh_host()) : local_use(lab.dut.where);
    return dut ? check_dut_devices(lab, *dut) : pass_on(dut.error());
}

}  // namespace pathproof::lab
