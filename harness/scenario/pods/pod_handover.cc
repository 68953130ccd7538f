#include "harness/scenario/pods/pod_handover.h"

#include <netinet/icmp6.h>
#include <netinet/in.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "dataplane/frame/checksum.h"
#include "dataplane/frame/view.h"
#include "harness/agent/name_servers.h"
#include "harness/agent/offload_frames.h"
#include "harness/agent/probes.h"
#include "harness/agent/ran_program.h"
#include "harness/netfilter/dump.h"
#include "harness/netfilter/text.h"
#include "harness/process/json_text.h"
#include "harness/scenario/pods/pod_bench.h"

namespace pathproof::scenario {
namespace {

using namespace std::chrono_literals;
using frame::Family;

// Each event has a port and a client of its own, so that none meets another's entries.
constexpr std::uint16_t kPortOfPods = 30'054, kPortOfHost = 30'056, kPortOfReboot = 30'058;
constexpr std::uint16_t kClientOffset = 10'000;
constexpr auto kAtOnce = 1s;
constexpr auto kInterval = 50ms;

// An address of the host outside, on no network of the nodes: only a default route leads there.
constexpr const char* kBeyond = "2001:db8:ff::1";
constexpr const char* kForwarding = "net.ipv6.conf.all.forwarding";

std::string line_of(const netfilter::Entry& entry) {
    std::string text;
    netfilter::append_text(text, entry);
    return text;
}

bool is_lack(const Status& status) {
    return status.error().code == ErrorCode::kKernelLacks ||
           status.error().code == ErrorCode::kNotSupported;
}

// A router advertisement without options: a default route for ten minutes (RFC 4861, 4.2).
std::vector<std::uint8_t> advertisement(const frame::MacAddress& mac,
                                        const frame::IpAddress& router) {
    constexpr std::uint8_t kCurHopLimit = 64, kHopLimit = 255;
    constexpr std::uint16_t kLifetimeS = 600, kRaBytes = sizeof(nd_router_advert);
    std::vector<std::uint8_t> ra{ND_ROUTER_ADVERT, 0, 0, 0, kCurHopLimit, 0, kLifetimeS >> 8,
                                 kLifetimeS & 0xff};
    ra.resize(kRaBytes);
    const frame::IpAddress all_nodes = *frame::parse_ip("ff02::1");
    const std::uint16_t checksum = frame::checksum_of(frame::sum_bytes(
        ra, frame::pseudo_header_sum(router, all_nodes, IPPROTO_ICMPV6, kRaBytes)));
    ra[2] = static_cast<std::uint8_t>(checksum >> 8);
    ra[3] = static_cast<std::uint8_t>(checksum);
    std::vector<std::uint8_t> bytes{0x33, 0x33, 0, 0, 0, 1};
    const auto append = [&](const auto& more) {
        bytes.insert(bytes.end(), more.begin(), more.end());
    };
    append(mac.bytes);
    append(std::array<std::uint8_t, 10>{0x86, 0xdd, 0x60, 0, 0, 0, 0, kRaBytes, IPPROTO_ICMPV6,
                                        kHopLimit});
    append(router.bytes);
    append(all_nodes.bytes);
    append(ra);
    return bytes;
}

}  // namespace

void hear(const Status& status, PodResidueValues& seen) {
    if (!status && is_lack(status)) {
        seen.lacks = status.error().message;
    } else if (!status) {
        seen.complaints.push_back(status.error().message);
    }
}

bool PodHandover::makes_host_ports(PodResidueValues& seen) const {
    const auto& plugins = nodes_.runtime(0).conflist().plugins;
    const bool can = std::ranges::any_of(
        plugins, [](const cni::Plugin& plugin) { return plugin.can("portMappings"); });
    seen.lacks = can ? seen.lacks : "no plug-in of the network makes host ports";
    return can;
}

frame::Endpoint PodHandover::host_port(std::uint16_t port) const {
    return {nodes_.names().node_address(0, Family::kIpv4), port};
}

void PodHandover::send_to(const frame::Endpoint& port, PodResidueValues& seen) {
    const auto sent =
        node().send_datagrams({.source = {{.family = Family::kIpv4},
                                          static_cast<std::uint16_t>(port.port + kClientOffset)},
                               .destination = port,
                               .payloads = {{1}}});
    hear(sent ? Status() : pass_on(sent.error()), seen);
}

std::vector<netfilter::Entry> PodHandover::entries_to(const frame::Endpoint& port,
                                                      PodResidueValues& seen) {
    netfilter::Filter filter{.family = Family::kIpv4, .protocol = IPPROTO_UDP};
    filter.original.destination_port = port.port;
    auto found = netfilter::dump_all(nodes_.names().nodes[0], filter);
    hear(found ? Status() : pass_on(found.error()), seen);
    return found ? std::move(*found) : std::vector<netfilter::Entry>();
}

void PodHandover::note_entries_to(const frame::Endpoint& port, const lab::Pod& old,
                                  PodResidueValues& seen) {
    const auto address = old.address(Family::kIpv4);
    for (const netfilter::Entry& entry : entries_to(port, seen)) {
        if (address && entry.reply.source.address == *address) {
            seen.entries.push_back(line_of(entry));
        }
    }
}

std::string PodHandover::reached_by(Flow flow, const frame::Endpoint& port, const lab::Pod& old,
                                    const lab::Pod& fresh, PodResidueValues& seen) {
    for (const netfilter::Entry& entry : entries_to(port, seen)) {
        const bool is_kept = entry.original.source.port == port.port + kClientOffset;
        if (is_kept != (flow == Flow::kKept)) {
            continue;
        }
        const frame::IpAddress& goes = entry.reply.source.address;
        if (goes == fresh.address(Family::kIpv4)) {
            return seen.now;
        }
        return goes == old.address(Family::kIpv4) ? seen.before : to_string(goes);
    }
    return "";
}

std::string PodHandover::host_port_rule_of(const lab::Pod& pod, PodResidueValues& seen) const {
    const auto state = nodes_.state(0);
    hear(state ? Status() : pass_on(state.error()), seen);
    if (!state) {
        return "";
    }
    const auto found = std::ranges::find_if(state->rules, [&](const std::string& rule) {
        return rule.find("-A CNI-HOSTPORT-DNAT") != rule.npos &&
               rule.find("\"" + pod.attachment.container_id + "\\") != rule.npos;
    });
    return found == state->rules.end() ? "" : *found;
}

bool PodHandover::reaches(const frame::IpAddress& address) {
    const auto probe = node().ping({.destination = address, .count = 1, .timeout = 200ms});
    return probe && probe->ok;
}

void PodHandover::port_to_pod(PodResidueValues& seen) {
    if (!makes_host_ports(seen)) {
        return;
    }
    lab::Pod one = first_, other = second_;
    one.attachment.ports = other.attachment.ports = {{kPortOfPods, kPodDnsPort, "udp"}};
    seen.times = 1;
    seen.before = "pod " + one.name;
    seen.now = "pod " + other.name;
    const frame::Endpoint port = host_port(kPortOfPods);
    hear(nodes_.attach(one), seen);
    send_to(port, seen);
    hear(nodes_.detach(one), seen);
    note_entries_to(port, one, seen);
    hear(nodes_.attach(other), seen);
    send_to(port, seen);
    seen.reached = reached_by(Flow::kKept, port, one, other, seen);
    hear(nodes_.detach(other), seen);
}

void PodHandover::port_to_host(PodResidueValues& seen) {
    if (!makes_host_ports(seen)) {
        return;
    }
    lab::Pod one = first_;
    one.attachment.ports = {{kPortOfHost, kPodDnsPort, "udp"}};
    seen.times = 1;
    seen.before = "pod " + one.name;
    seen.now = "the process on the node";
    const frame::Endpoint port = host_port(kPortOfHost);
    hear(nodes_.attach(one), seen);
    send_to(port, seen);
    hear(nodes_.detach(one), seen);
    note_entries_to(port, one, seen);
    seen.rule = host_port_rule_of(one, seen);
    hear(node().start_dns_server({.listen = port,
                                  .address = frame::IpAddress::v4(0xC6336401),
                                  .address6 = *frame::parse_ip("2001:db8::1")}),
         seen);
    // Packets that stay on the node come by its loopback device.
    hear(node().start_capture({.device = "lo"}), seen);
    send_to(port, seen);
    const auto looked = node().dns_lookup(
        {.server = port, .name = "handed.on.example", .attempts = 2, .timeout = 1s});
    hear(looked ? Status() : pass_on(looked.error()), seen);
    const auto capture = node().stop_capture();
    hear(capture ? Status() : pass_on(capture.error()), seen);
    const bool stayed = capture && std::ranges::any_of(capture->frames, [&](const auto& frame) {
                            const frame::PacketView view = frame::parse_packet(frame.bytes);
                            return view.transport == frame::Transport::kUdp &&
                                   view.source_port == port.port + kClientOffset &&
                                   view.destination_port == port.port &&
                                   view.destination == port.address;
                        });
    const lab::Pod none;
    seen.reached = stayed ? seen.now : reached_by(Flow::kKept, port, one, none, seen);
    seen.fresh = looked && looked->ok ? seen.now : reached_by(Flow::kNew, port, one, none, seen);
    hear(node().stop_servers(), seen);
}

// host-local gives an address that CNI_ARGS names.
void PodHandover::address_to_pod(PodResidueValues& seen) {
    constexpr auto kPatience = 12s;
    lab::Pod one = first_, other = second_;
    seen.times = 1;
    seen.before = "pod " + one.name;
    seen.now = "pod " + other.name;
    hear(nodes_.attach(one), seen);
    const auto address = one.address(Family::kIpv4);
    if (!seen.complaints.empty() || !address) {
        return;
    }
    const bool was_reached = reaches(*address);
    hear(nodes_.detach(one), seen);
    other.attachment.args += ";IP=" + to_string(*address);
    hear(nodes_.attach(other), seen);
    if (other.address(Family::kIpv4) != address || !was_reached) {
        seen.lacks = was_reached ? "the plug-ins give a pod no address that is asked for"
                                 : "the node does not reach its pods by the plug-ins' rules";
    } else if (seen.complaints.empty()) {
        const auto began = std::chrono::steady_clock::now();
        const auto passed = [&] { return std::chrono::steady_clock::now() - began; };
        bool reached = reaches(*address);
        while (!reached && passed() < kPatience && journal_.is_open()) {
            std::this_thread::sleep_for(kInterval);
            reached = reaches(*address);
        }
        seen.wrong_ms = std::chrono::duration<double, std::milli>(passed()).count();
        seen.reached = reached && passed() < kAtOnce ? seen.now : "";
    }
    hear(nodes_.detach(other), seen);
}

std::vector<PodHandover::Snapshot> PodHandover::rules_now(PodResidueValues& seen) {
    std::vector<Snapshot> snapshots;
    for (const std::string program : {"iptables", "ip6tables"}) {
        const auto saved = node().output_of({program + "-save"});
        hear(saved ? Status() : pass_on(saved.error()), seen);
        // Tables that were not there then are emptied.
        snapshots.push_back(
            {program, "*nat\nCOMMIT\n*filter\nCOMMIT\n" + saved.value_or(std::string())});
    }
    return snapshots;
}

void PodHandover::reboot(RulesAtBoot rules, PodResidueValues& seen) {
    const char* const suffix = rules == RulesAtBoot::kRestored ? "2" : "1";
    auto old = nodes_.make_pod(0, std::string("old") + suffix);
    auto next = nodes_.make_pod(0, std::string("new") + suffix);
    hear(old ? Status() : pass_on(old.error()), seen);
    hear(next ? Status() : pass_on(next.error()), seen);
    if (!old || !next) {
        return;
    }
    old->attachment.ports = next->attachment.ports = {{kPortOfReboot, kPodDnsPort, "udp"}};
    seen.times = 1;
    seen.before = "pod " + old->name;
    seen.now = "pod " + next->name;
    const std::vector<Snapshot> at_boot = rules_now(seen);
    hear(nodes_.attach(*old), seen);
    const auto old_address = old->address(Family::kIpv4);
    if (!seen.complaints.empty() || !old_address) {
        return;
    }
    const bool was_reached = reaches(*old_address);
    hear(journal_.remove_netns({old->netns}), seen);
    for (const cni::Interface& device : old->added.interfaces) {
        if (device.sandbox.empty()) {
            // A pod's veth goes with its namespace, sooner or later.
            (void)node().run_program({"ip", "link", "delete", device.name});
        }
    }
    for (const Snapshot& snapshot : at_boot) {
        if (rules == RulesAtBoot::kAsBefore) {
            const auto restored = node().output_of({snapshot.program + "-restore"}, snapshot.rules);
            hear(restored ? Status() : pass_on(restored.error()), seen);
        }
    }
    const auto flushed = node().conntrack_flush();
    hear(flushed ? Status() : pass_on(flushed.error()), seen);
    before_reboot_ = *old;

    hear(nodes_.attach(*next), seen);
    const auto address = next->address(Family::kIpv4);
    if (!seen.complaints.empty() || !address) {
        return;
    }
    seen.pod_reached = !was_reached || reaches(*address);
    seen.reached = seen.now;
    if (const auto& plugins = nodes_.runtime(0).conflist().plugins; std::ranges::any_of(
            plugins, [](const cni::Plugin& plugin) { return plugin.can("portMappings"); })) {
        const frame::Endpoint port = host_port(kPortOfReboot);
        send_to(port, seen);
        seen.reached = reached_by(Flow::kKept, port, *old, *next, seen);
        seen.rule = host_port_rule_of(*old, seen);
    }
    hear(nodes_.detach(*next), seen);
}

void PodHandover::detach_the_one_before(PodResidueValues& seen) {
    if (before_reboot_) {
        const Status detached = nodes_.detach(*before_reboot_);
        seen.del_refused = detached ? "" : detached.error().message;
        before_reboot_.reset();
    }
}

bool PodHandover::comes_to_reach(agent::Client& from, const frame::IpAddress& to) const {
    const auto deadline = std::chrono::steady_clock::now() + kAtOnce;
    do {
        const auto probe = from.ping({.destination = to, .count = 1, .timeout = 200ms});
        if (probe && probe->ok) {
            return true;
        }
        std::this_thread::sleep_for(kInterval);
    } while (std::chrono::steady_clock::now() < deadline && journal_.is_open());
    return false;
}

// Advertises the host outside as a router, by its link-local and MAC address.
Status PodHandover::advertise() {
    agent::Client& router = *nodes_.outside_agent();
    const std::string& device = nodes_.names().device;
    const auto shown = process::parse_foreign(
        TRY(router.output_of({"ip", "-j", "-6", "address", "show", "dev", device})));
    std::string local, mac = "";
    for (const auto& link : shown.is_array() ? shown : nlohmann::json::array()) {
        for (const auto& own : link.value("addr_info", nlohmann::json::array())) {
            const std::string address = own.value("local", std::string());
            local = address.starts_with("fe80:") ? address : local;
        }
    }
    const auto links =
        process::parse_foreign(TRY(router.output_of({"ip", "-j", "link", "show", "dev", device})));
    for (const auto& link : links.is_array() ? links : nlohmann::json::array()) {
        mac = link.value("address", mac);
    }
    const auto frame = advertisement(TRY(frame::parse_mac(mac)), TRY(frame::parse_ip(local)));
    TRY(router.send_frames(device, {{.bytes = frame, .request = {}}}));
    return {};
}

bool PodHandover::has_advertised_route() {
    const auto routes = nodes_.shared_agent(1)->output_of({"ip", "-6", "route", "show", "default"});
    return routes && routes->find("proto ra") != std::string::npos;
}

// Node B: the tester, which is node A's way out, is not there.
void PodHandover::advertised_route(PodResidueValues& seen) {
    agent::Client& node = *nodes_.shared_agent(1);
    agent::Client& router = *nodes_.outside_agent();
    const std::string accepts = fmt::format("net.ipv6.conf.{}.accept_ra", nodes_.names().device);
    const auto run = [&](agent::Client& on, const std::vector<std::string>& words) {
        const auto ran = on.output_of(words);
        hear(ran ? Status() : pass_on(ran.error()), seen);
    };
    const auto set = [&](const std::string& name, const char* value) {
        hear(node.apply({{.kind = agent::HostChange::Kind::kSysctl, .name = name, .value = value}}),
             seen);
    };
    auto pod = nodes_.make_pod(1, "b1");
    hear(pod ? Status() : pass_on(pod.error()), seen);
    if (!pod) {
        return;
    }
    seen.times = 1;
    seen.now = fmt::format("the host outside ({})", kBeyond);
    const frame::IpAddress beyond = *frame::parse_ip(kBeyond);
    run(router, {"ip", "address", "add", fmt::format("{}/128", kBeyond), "dev", "lo"});
    set(kForwarding, "0");
    set(accepts, "1");
    const auto advertised = [&] {
        const auto deadline = std::chrono::steady_clock::now() + 5s;
        do {
            hear(advertise(), seen);
            std::this_thread::sleep_for(kInterval);
        } while (!has_advertised_route() && seen.complaints.empty() &&
                 std::chrono::steady_clock::now() < deadline && journal_.is_open());
        return comes_to_reach(node, beyond);
    };
    if (!advertised() && seen.complaints.empty()) {
        seen.lacks = "the node takes no default route from a router advertisement";
    } else if (seen.complaints.empty()) {
        hear(nodes_.attach(*pod), seen);
        // A router goes on to advertise itself.
        hear(advertise(), seen);
        seen.reached = comes_to_reach(node, beyond) ? seen.now : "";
        seen.has_route = has_advertised_route();
        seen.is_forwarding = node.read_sysctl(kForwarding).value_or("") == "1";
        if (seen.reached.empty()) {
            set(accepts, "2");
            seen.is_cured = advertised();
        }
        hear(nodes_.detach(*pod), seen);
        for (const cni::PodAddress& ip : pod->added.addresses) {
            // The lab's own way there, which is no plug-in's to remove; overlays have none.
            (void)this->node().run_program({"ip", "route", "delete", to_string(ip.address)});
        }
    }
    set(accepts, "1");
    set(kForwarding, "1");  // which also takes the route away
    run(router, {"ip", "address", "delete", fmt::format("{}/128", kBeyond), "dev", "lo"});
}

}  // namespace pathproof::scenario
