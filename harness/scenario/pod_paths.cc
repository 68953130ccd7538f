// Which path of pods carries which packets.
//
// Set:  two nodes and pods, attached by a list of CNI plug-ins; kube-proxy's rules of two services.
// Sent: ICMP echo, DNS and datagrams over UDP, TCP transfers, forged SCTP, each of several sizes.
// Seen: what arrives and what comes back, from which source; frames on the wire between the nodes,
//       conntrack's entries, what each rule counted.

#include "harness/scenario/pod_paths.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "dataplane/frame/crc32c.h"
#include "dataplane/frame/template.h"
#include "dataplane/frame/view.h"
#include "dataplane/judge/verifier.h"
#include "harness/hazards/hazards.h"
#include "harness/netfilter/text.h"
#include "harness/process/json_text.h"
#include "harness/process/program.h"
#include "harness/scenario/measures.h"
#include "harness/scenario/pod_bench.h"

namespace pathproof::scenario {
namespace {

using namespace std::chrono_literals;
using frame::Family;
using PodSize = PodPathValues::Size;

constexpr std::uint32_t kSmallPacket = 128;
constexpr std::uint32_t kOverMtu = 1000;
constexpr std::uint64_t kLongTransfer = 200'000;
constexpr std::uint16_t kFirstPort = 42'000;
// Forged frames are sent again where none came: what is waited for is longer each time.
constexpr std::array kForgePatience{40ms, 80ms, 160ms, 320ms};

unsigned ip_header(Family family) {
    return family == Family::kIpv4 ? 20 : 40;
}

std::uint64_t rise(const agent::CounterSet& before, const agent::CounterSet& after,
                   const std::string& name) {
    const auto changed = agent::delta(before, after);
    const auto found = changed.find(name);
    return found == changed.end() ? 0 : found->second;
}

// INIT or INIT ACK (RFC 9260, sections 3.3.2 and 3.3.3), filled to that length with a PAD parameter
// (RFC 4820).
std::vector<std::uint8_t> sctp_packet(std::uint16_t from, std::uint16_t to, bool is_answer,
                                      std::size_t length) {
    constexpr std::uint32_t kTag = 0x70617468;
    std::vector<std::uint8_t> bytes;
    const auto put16 = [&](std::size_t value) {
        bytes.push_back(static_cast<std::uint8_t>(value >> 8));
        bytes.push_back(static_cast<std::uint8_t>(value));
    };
    const auto put32 = [&](std::uint32_t value) {
        put16(value >> 16);
        put16(value & 0xffff);
    };
    constexpr std::size_t kCommon = 12, kInit = 20, kCookie = 8, kParameter = 4;
    length = std::max(length / 4 * 4, kCommon + kInit + kCookie + kParameter);
    put16(from);
    put16(to);
    put32(is_answer ? kTag : 0);
    put32(0);  // checksum
    put16(is_answer ? 0x0200 : 0x0100);
    put16(length - kCommon);
    put32(kTag);
    put32(65'536);
    put16(1);
    put16(1);
    put32(1);
    put16(is_answer ? 7 : 0x8005);  // State Cookie, or PAD
    put16(kCookie);
    put32(0);
    put16(0x8005);
    put16(length - bytes.size() + 2);
    bytes.resize(length);
    frame::Crc32c crc;
    crc.add(bytes);
    const std::uint32_t sum = htonl(crc.sctp_checksum());
    std::memcpy(bytes.data() + 8, &sum, sizeof sum);
    return bytes;
}

Result<std::vector<std::uint8_t>> sctp_frame(const frame::MacAddress& from_mac,
                                             const frame::MacAddress& to_mac,
                                             const frame::Endpoint& from, const frame::Endpoint& to,
                                             bool is_answer, std::size_t packet_bytes) {
    frame::FrameSpec spec;
    spec.packet.source_mac = from_mac;
    spec.packet.destination_mac = to_mac;
    spec.packet.source = {from.address, 0};
    spec.packet.destination = {to.address, 0};
    spec.packet.transport = frame::Transport::kOther;
    spec.packet.protocol = IPPROTO_SCTP;
    spec.payload =
        sctp_packet(from.port, to.port, is_answer, packet_bytes - ip_header(from.address.family));
    const auto made = TRY(frame::FrameTemplate::make(spec));
    std::vector<std::uint8_t> bytes(made.size());
    made.render(bytes.data(), {});
    return bytes;
}

// Who is asked, by which address, and who answers.
struct Way {
    PodHost* sender = nullptr;
    PodHost* receiver = nullptr;
    frame::IpAddress sender_address, receiver_address;
    frame::IpAddress called;
    std::uint16_t port_offset = 0;
    std::uint32_t mtu = 1500;
    frame::Endpoint at(std::uint16_t port) const {
        return {called, static_cast<std::uint16_t>(port + port_offset)};
    }
};

class PodPathsRun {
  public:
    PodPathsRun(Context& context, std::string chain, PodPathsMeasured& measured)
        : context_(context),
          chain_(std::move(chain)),
          prefix_(chain_prefix(context, chain_)),
          measured_(measured) {}

    Status run() {
        auto opened = PodBench::open(context_, chain_);
        if (!opened && opened.error().code == ErrorCode::kKernelLacks) {
            step("attach", {opened.error().message}, true, 0);
            return {};
        }
        bench_ = TRY(std::move(opened));
        if (!attach()) {
            return {};
        }
        check();
        PodPathsMeasured::Chain chain{.name = chain_, .network = TRY(network())};
        measured_.chains.push_back(chain);
        TRY(serve());
        for (const PodPathCell& what : pod_paths_plan(chain_, prefix_)) {
            const std::string id = what.id.substr(prefix_.size());
            if (!asked_for(context_.options, id) ||
                !absent(chain.network, what.path, what.protocol, what.family).empty()) {
                continue;
            }
            context_.progress.step(what.id);
            measured_.cells.push_back(measure(what));
            verdict::Cell cell = conclude(what, measured_.cells.back().seen);
            cell.evidence = measured_.cells.back().evidence;
            context_.measured.add(cell);
        }
        TRY(bench_->know_nodes(context_, prefix_));
        read_hazards();
        detach();
        return {};
    }

  private:
    void step(const std::string& id, std::vector<std::string> complaints, bool kernel_lacks,
              std::size_t calls_before) {
        PodProtocolStep made{.id = prefix_ + id,
                             .chain = chain_,
                             .complaints = std::move(complaints),
                             .kernel_lacks = kernel_lacks};
        const auto calls = all_calls();
        made.calls = calls.size() - std::min(calls_before, calls.size());
        for (std::size_t i = calls_before; i < calls.size(); ++i) {
            made.milliseconds += calls[i].milliseconds;
        }
        if (!made.complaints.empty() && bench_) {
            // What the node was like then.
            std::string text;
            for (unsigned node = 0; node < 2; ++node) {
                const auto state = bench_->nodes().state(node);
                if (!state) {
                    continue;
                }
                for (const auto* lines : {&state->rules, &state->devices, &state->addresses,
                                          &state->routes, &state->leases}) {
                    for (const std::string& line : *lines) {
                        text += fmt::format("{} {}\n", node == 0 ? "node-a" : "node-b", line);
                    }
                }
            }
            if (auto kept = keep_evidence(context_.options.out_dir, made.id + ".nodes.txt",
                                          "rules, devices, addresses, routes and leases of both "
                                          "nodes when a plug-in had failed",
                                          text)) {
                made.evidence = std::move(*kept);
            }
        }
        context_.measured.add(conclude(made));
        measured_.steps.push_back(std::move(made));
    }

    std::vector<cni::Call> all_calls() {
        std::vector<cni::Call> calls;
        for (unsigned node = 0; bench_ && node < 2; ++node) {
            const auto& own = bench_->nodes().runtime(node).calls();
            calls.insert(calls.end(), own.begin(), own.end());
        }
        return calls;
    }

    // False: it failed, and nothing can be measured.
    bool attach() {
        context_.progress.step(prefix_ + "attach");
        const auto port = [](std::uint16_t at, const char* protocol) {
            return cni::PortMapping{static_cast<std::uint16_t>(at + kHostPortOffset), at, protocol};
        };
        for (const auto& [node, name] : {std::pair{0u, "a1"}, {0u, "a2"}, {1u, "b1"}}) {
            std::vector<cni::PortMapping> ports;
            if (std::string_view(name) == "a1") {
                ports = {port(kPodDnsPort, "udp"), port(kPodTransferPort, "tcp"),
                         port(kPodSctpPort, "sctp")};
            }
            if (const auto pod = bench_->attach(node, name, std::move(ports)); !pod) {
                step("attach", {pod.error().message}, pod.error().code == ErrorCode::kKernelLacks,
                     0);
                return false;
            }
        }
        step("attach", {}, false, 0);
        return true;
    }

    void check() {
        if (bench_->nodes().runtime(0).conflist().disable_check ||
            !asked_for(context_.options, "check")) {
            return;
        }
        context_.progress.step(prefix_ + "check");
        const std::size_t before = all_calls().size();
        std::vector<std::string> complaints;
        for (const char* name : {"a1", "a2", "b1"}) {
            const lab::Pod& pod = bench_->pod(name);
            const Status checked = bench_->nodes().runtime(pod.node).check(pod.attachment);
            if (!checked) {
                complaints.push_back(fmt::format("pod {}: {}", name, checked.error().message));
            }
        }
        step("check", std::move(complaints), false, before);
    }

    void detach() {
        context_.progress.step(prefix_ + "detach");
        const std::size_t before = all_calls().size();
        std::vector<std::string> complaints;
        for (const char* name : {"a1", "a2", "b1"}) {
            if (const Status detached = bench_->nodes().detach(bench_->pod(name)); !detached) {
                complaints.push_back(fmt::format("pod {}: {}", name, detached.error().message));
            }
        }
        step("detach", std::move(complaints), false, before);
    }

    Result<PodNetwork> network() {
        const lab::PodNodes& nodes = bench_->nodes();
        PodNetwork network{.ipv6 = true,
                           .passes_nodes = nodes.passes_nodes(),
                           .host_ports = bench_->nodes().runtime(0).conflist().has("portmap")};
        for (const char* name : {"a1", "a2", "b1"}) {
            network.ipv6 &= bench_->pod(name).address(Family::kIpv6).has_value();
        }
        for (const Family family : {Family::kIpv4, Family::kIpv6}) {
            if (const auto pod = bench_->pod("a1").address(family); pod && network.passes_nodes) {
                (family == Family::kIpv4 ? network.masquerades : network.masquerades6) =
                    TRY(nodes.snat_of(0, *pod, nodes.names().outside_address(family))) !=
                    lab::NatBoxOptions::Snat::kNone;
            }
        }
        return network;
    }

    static frame::IpAddress service(Family family, std::uint32_t number) {
        return family == Family::kIpv4 ? frame::IpAddress::v4(0x0a600000 + 10 * number)
                                       : frame::parse_ip("fd00:10:96::")->plus(10 * number);
    }

    Status serve() {
        for (const char* name : {"a1", "a2", "b1"}) {
            std::vector<frame::IpAddress> addresses;
            for (const cni::PodAddress& ip : bench_->pod(name).added.addresses) {
                addresses.push_back(ip.address);
            }
            TRY(bench_->serve_on(bench_->host_of(name), addresses));
        }
        const lab::PodNodeNames& names = bench_->nodes().names();
        TRY(bench_->serve_on(bench_->outside(), {names.outside_address(Family::kIpv4),
                                                 names.outside_address(Family::kIpv6)}));
        for (const Family family : {Family::kIpv4, Family::kIpv6}) {
            const auto self = bench_->pod("a1").address(family);
            const auto other = bench_->pod("b1").address(family);
            if (!self || !other || !bench_->nodes().passes_nodes()) {
                continue;
            }
            std::vector<lab::KubeService> services;
            for (const auto& [name, number, endpoint] :
                 {std::tuple{"web", 1u, *other}, {"self", 2u, *self}}) {
                for (const auto& [port, at, protocol] : {std::tuple{"dns", kPodDnsPort, "udp"},
                                                         {"transfer", kPodTransferPort, "tcp"},
                                                         {"sctp", kPodSctpPort, "sctp"}}) {
                    services.push_back({.name = name,
                                        .port = port,
                                        .protocol = protocol,
                                        .address = {service(family, number), at},
                                        .endpoints = {endpoint},
                                        .endpoint_port = at,
                                        .pods = ""});
                }
            }
            TRY(bench_->nodes().serve(services, family));
        }
        return {};
    }

    Result<Way> way_of(const PodPathCell& what) {
        const auto pod = [&](const char* name) { return *bench_->pod(name).address(what.family); };
        const lab::PodNodeNames& names = bench_->nodes().names();
        Way way{.sender = &bench_->host_of("a1"), .sender_address = pod("a1")};
        const auto to = [&](PodHost& host, const frame::IpAddress& own,
                            const frame::IpAddress& called) {
            way.receiver = &host;
            way.receiver_address = own;
            way.called = called;
        };
        switch (what.path) {
            case PodPath::kSameNode: to(bench_->host_of("a2"), pod("a2"), pod("a2")); break;
            case PodPath::kAcross: to(bench_->host_of("b1"), pod("b1"), pod("b1")); break;
            case PodPath::kService:
                to(bench_->host_of("b1"), pod("b1"), service(what.family, 1));
                break;
            case PodPath::kServiceSelf:
                to(bench_->host_of("a1"), pod("a1"), service(what.family, 2));
                break;
            case PodPath::kNodePod:
                way.sender = &bench_->node(0);
                to(bench_->host_of("a1"), pod("a1"), pod("a1"));
                break;
            case PodPath::kHostPort:
                way.sender = &bench_->outside();
                way.sender_address = names.outside_address(what.family);
                way.port_offset = kHostPortOffset;
                to(bench_->host_of("a1"), pod("a1"), names.node_address(0, what.family));
                break;
            case PodPath::kExternal:
                to(bench_->outside(), names.outside_address(what.family),
                   names.outside_address(what.family));
                break;
        }
        const auto near = TRY(way.sender->agent->device(way.sender->device));
        const auto far = TRY(way.receiver->agent->device(way.receiver->device));
        way.mtu = std::min(near.mtu, far.mtu);
        return way;
    }

    std::vector<std::string> expected_sources(const PodPathCell& what, const Way& way) {
        const lab::PodNodeNames& names = bench_->nodes().names();
        std::vector<std::string> node{to_string(names.node_address(0, what.family))};
        if (const auto gateway = bench_->pod("a1").gateway(what.family);
            gateway && what.path != PodPath::kExternal) {
            node.push_back(to_string(*gateway));
        }
        switch (what.path) {
            case PodPath::kSameNode:
            case PodPath::kAcross:
            case PodPath::kService:
            case PodPath::kHostPort: return {to_string(way.sender_address)};
            case PodPath::kServiceSelf:
            case PodPath::kNodePod:
            case PodPath::kExternal: break;
        }
        return node;
    }

    MeasuredPodPath measure(const PodPathCell& what) {
        MeasuredPodPath cell{.what = what};
        std::string frames_path = evidence_path(context_.options.out_dir, what.id + ".pcapng");
        if (const Status made = run_cell(what, cell.seen, frames_path); !made) {
            cell.seen.objections.push_back(made.error().message);
        }
        const verdict::Cell concluded = conclude(what, cell.seen);
        if (concluded.verdict == verdict::CellVerdict::kPass) {
            return cell;
        }
        std::string text;
        for (const std::string& entry : cell.seen.entries) {
            text += entry + "\n";
        }
        for (const PodPathValues::Hit& hit : cell.seen.hits) {
            text += fmt::format("{}: {} packets: {}\n", hit.node, hit.packets, hit.rule);
        }
        if (auto kept = keep_evidence(context_.options.out_dir, what.id + ".nodes.txt",
                                      "conntrack's entries of both nodes, and the rules that "
                                      "counted",
                                      text)) {
            cell.evidence = std::move(*kept);
        }
        if (cell.seen.wire_bad > 0 && !frames_path.empty()) {
            cell.evidence.push_back(
                {"evidence/" + what.id + ".pcapng",
                 "frames with a wrong checksum as they left the wire (pcapng)"});
        }
        return cell;
    }

    Status run_cell(const PodPathCell& what, PodPathValues& seen, const std::string& frames_path) {
        const Way way = TRY(way_of(what));
        seen.received_at = way.receiver->name;
        seen.expected = expected_sources(what, way);
        seen.crosses_wire = what.path == PodPath::kAcross || what.path == PodPath::kService ||
                            what.path == PodPath::kHostPort || what.path == PodPath::kExternal;
        if (what.path == PodPath::kServiceSelf) {
            seen.hairpin = hairpin_of_self();
        }
        if (seen.crosses_wire && what.family == Family::kIpv4 &&
            (what.protocol == PodProtocol::kUdp || what.protocol == PodProtocol::kIcmp) &&
            (bench_->nodes().tunnel_port() == 0 || what.path == PodPath::kHostPort ||
             what.path == PodPath::kExternal)) {
            seen.no_pieces =
                "the tester's ports join fragments of IPv4 (PACKET_FANOUT_FLAG_DEFRAG of DPDK's "
                "net_af_packet)";
        }
        std::array<std::vector<std::string>, 2> rules;
        std::array<agent::CounterSet, 2> counters;
        for (unsigned node = 0; node < 2; ++node) {
            TRY(bench_->node(node).agent->conntrack_flush());
            rules[node] = TRY(bench_->nodes().counted_rules(node, what.family));
            counters[node] = TRY(bench_->node(node).agent->counters());
        }
        softnic::WirePlan plan;
        plan.tunnel_ports.clear();
        if (const std::uint16_t port = bench_->nodes().tunnel_port(); port != 0) {
            plan.tunnel_ports.push_back(port);
        }
        TRY(bench_->tester().start_wire(plan));
        const Status sent = send(what, way, seen);
        const auto wire = bench_->tester().stop_wire(frames_path);
        TRY(Status(sent));
        TRY(wire ? Status() : pass_on(wire.error()));
        for (const softnic::WireTally& tally : wire->directions) {
            seen.wire_frames += tally.received;
            seen.wire_bad += tally.bad_frames;
            seen.wire_lost += tally.not_forwarded - tally.too_long;
            seen.too_big += tally.too_long;
        }
        seen.wire_lost += wire->tester_lost;
        for (const std::string& objection : wire->objections) {
            seen.objections.push_back(objection);
        }
        for (unsigned node = 0; node < 2; ++node) {
            TRY(look_at(what, node, rules[node], counters[node], seen));
        }
        return {};
    }

    Status look_at(const PodPathCell& what, unsigned node, const std::vector<std::string>& rules,
                   const agent::CounterSet& counters, PodPathValues& seen) {
        const std::string name = bench_->node(node).name;
        for (const netfilter::Entry& entry : TRY(bench_->node(node).agent->conntrack_dump())) {
            std::string text = name + ": ";
            netfilter::append_text(text, entry);
            seen.entries.push_back(std::move(text));
        }
        const auto after = TRY(bench_->nodes().counted_rules(node, what.family));
        if (after.size() != rules.size()) {
            return fail(ErrorCode::kFailed, "the rules of {} changed in the middle of a cell",
                        name);
        }
        for (std::size_t i = 0; i < rules.size(); ++i) {
            const auto count = [](const std::string& line) {
                return std::strtoull(line.c_str() + line.find('[') + 1, nullptr, 10);
            };
            if (count(after[i]) > count(rules[i])) {
                const std::string& line = after[i];
                seen.hits.push_back(
                    {name, line.substr(0, line.find('[')) + line.substr(line.find("] ") + 2),
                     count(after[i]) - count(rules[i])});
            }
        }
        const auto now = TRY(bench_->node(node).agent->counters());
        seen.too_big += rise(counters, now, "Ip.FragFails") + rise(counters, now, "Ip6FragFails");
        return {};
    }

    std::optional<bool> hairpin_of_self() {
        const std::string device = bench_->pod("a1").node_device();
        const auto state = process::run_program({"ip", "-j", "-d", "link", "show", "dev", device},
                                                {.netns = bench_->node(0).netns});
        if (device.empty() || !state || state->exit_status != 0) {
            return std::nullopt;
        }
        const auto link = process::parse_foreign(state->out);
        const nlohmann::json::json_pointer flag("/0/linkinfo/info_slave_data/hairpin");
        return link.is_array() && link.contains(flag) ? std::optional(link[flag] == true)
                                                      : std::nullopt;
    }

    // Sends of each size, up to the first that fails, while the receiver's frames are taken.
    Status send(const PodPathCell& what, const Way& way, PodPathValues& seen) {
        if (what.protocol == PodProtocol::kSctp) {
            return send_sctp(what, way, seen);
        }
        TRY(way.receiver->agent->start_capture(
            {.device = way.receiver->device, .most_frames = 4096}));
        const Status sent = what.protocol == PodProtocol::kIcmp  ? send_icmp(what, way, seen)
                            : what.protocol == PodProtocol::kTcp ? send_tcp(what, way, seen)
                                                                 : send_udp(what, way, seen);
        const auto capture = way.receiver->agent->stop_capture();
        TRY(Status(sent));
        TRY(capture ? Status() : pass_on(capture.error()));
        take(what, way, capture->frames, seen);
        return {};
    }

    static Status send_icmp(const PodPathCell& what, const Way& way, PodPathValues& seen) {
        const std::uint32_t head = ip_header(what.family) + 8;
        for (const auto& [name, bytes] :
             {std::pair{"small", kSmallPacket}, {"mtu", way.mtu}, {"over", way.mtu + kOverMtu}}) {
            if (bytes > way.mtu && !seen.no_pieces.empty()) {
                break;
            }
            const auto probe = TRY(way.sender->agent->ping({.destination = way.called,
                                                            .count = 1,
                                                            .payload_bytes = bytes - head,
                                                            .timeout = 1500ms}));
            seen.sizes.push_back({name, bytes, probe.ok, probe.ok, probe.outcome});
            if (!probe.ok) {
                break;
            }
        }
        return {};
    }

    static Status send_tcp(const PodPathCell& what, const Way& way, PodPathValues& seen) {
        const std::uint64_t segment = way.mtu - ip_header(what.family) - 32;  // with timestamps
        for (const auto& [name, bytes] :
             {std::pair{"small", std::uint64_t{100}}, {"mtu", segment}, {"over", kLongTransfer}}) {
            const auto probe = TRY(way.sender->agent->tcp_transfer(
                {.server = way.at(kPodTransferPort), .bytes = bytes, .timeout = 2500ms}));
            seen.sizes.push_back({name, static_cast<std::uint32_t>(bytes),
                                  probe.received > 0 || probe.ok, probe.ok, probe.outcome});
            if (!probe.ok) {
                break;
            }
        }
        return {};
    }

    // Lookups before and after the larger datagrams: once the last is answered, those have come by
    // or never will.
    Status send_udp(const PodPathCell& what, const Way& way, PodPathValues& seen) {
        const frame::Endpoint server = way.at(kPodDnsPort);
        const auto look_up = [&] {
            return way.sender->agent->dns_lookup(
                {.server = server, .name = "pod.pathproof.test", .timeout = 1500ms});
        };
        const auto first = TRY(look_up());
        seen.sizes.push_back({"small", kSmallPacket, first.ok, first.ok, first.outcome});
        if (!first.ok) {
            return {};
        }
        const std::uint32_t head = ip_header(what.family) + 8;
        for (const auto& [name, bytes] :
             {std::pair{"mtu", way.mtu}, {"over", way.mtu + kOverMtu}}) {
            if (bytes > way.mtu && !seen.no_pieces.empty()) {
                break;
            }
            const auto sent = TRY(way.sender->agent->send_datagrams(
                {.source = {},
                 .destination = server,
                 .payloads = {std::vector<std::uint8_t>(bytes - head, 0x70)}}));
            seen.sizes.push_back({name, bytes, false, true,
                                  sent.refusals.empty() ? "a datagram, which nobody answers"
                                                        : sent.refusals.front().reason});
        }
        const auto last = TRY(look_up());
        if (!last.ok) {
            seen.sizes.push_back({"small again", kSmallPacket, last.ok, last.ok, last.outcome});
        }
        return {};
    }

    // What came in at the receiver for it.
    void take(const PodPathCell& what, const Way& way,
              const std::vector<agent::CapturedFrame>& frames, PodPathValues& seen) {
        std::map<std::uint32_t, std::uint64_t> datagrams;  // UDP, by bytes of payload
        std::uint64_t pieces = 0;                          // bytes in fragments
        for (const agent::CapturedFrame& frame : frames) {
            const frame::FrameView view =
                frame::parse_frame(frame.bytes, std::span<const std::uint16_t>());
            const frame::PacketView& packet = view.outer;
            const std::uint8_t protocol = packet.protocol;
            const bool own = what.protocol == PodProtocol::kTcp   ? protocol == IPPROTO_TCP
                             : what.protocol == PodProtocol::kUdp ? protocol == IPPROTO_UDP
                             : what.protocol == PodProtocol::kSctp
                                 ? protocol == IPPROTO_SCTP
                                 : protocol == IPPROTO_ICMP || protocol == IPPROTO_ICMPV6;
            const std::uint16_t port = what.protocol == PodProtocol::kTcp   ? kPodTransferPort
                                       : what.protocol == PodProtocol::kUdp ? kPodDnsPort
                                                                            : kPodSctpPort;
            const bool whole = packet.fragment != frame::Fragment::kLater;
            if (!own || packet.destination != way.receiver_address ||
                (whole && what.protocol != PodProtocol::kIcmp && packet.destination_port != port) ||
                (whole && what.protocol == PodProtocol::kIcmp &&
                 !is_echo_request(frame.bytes, packet))) {
                continue;
            }
            ++seen.receiver_frames;
            if (std::ranges::find(seen.sources, to_string(packet.source)) == seen.sources.end()) {
                seen.sources.push_back(to_string(packet.source));
            }
            if (packet.fragment != frame::Fragment::kWhole) {
                pieces += packet.network_end - packet.network_offset - packet.network_length;
            } else if (packet.transport == frame::Transport::kUdp) {
                ++datagrams[packet.payload_length];
            }
            if (frame.checksum != agent::ChecksumStatus::kPartial && whole) {
                seen.receiver_bad += judge::verify(frame.bytes, view).any_bad() ? 1 : 0;
            }
        }
        if (what.protocol != PodProtocol::kUdp) {
            return;
        }
        const std::uint32_t head = ip_header(what.family) + 8;
        for (PodSize& size : seen.sizes) {
            if (size.name == "mtu") {
                size.arrived = datagrams.contains(size.bytes - head);
            } else if (size.name == "over") {
                // All of it in pieces, or whole again by the hand of a conntrack on the way.
                size.arrived = datagrams.contains(size.bytes - head) ||
                               pieces >= size.bytes - ip_header(what.family);
            }
        }
        // The first that did not arrive is the last one that counts.
        const auto failed = std::ranges::find(seen.sizes, false, &PodSize::arrived);
        if (failed != seen.sizes.end()) {
            seen.sizes.erase(failed + 1, seen.sizes.end());
        }
    }

    static bool is_echo_request(const std::vector<std::uint8_t>& bytes,
                                const frame::PacketView& packet) {
        const bool is_icmp = packet.transport == frame::Transport::kIcmp ||
                             packet.transport == frame::Transport::kIcmpv6;
        if (packet.fragment == frame::Fragment::kFirst) {
            return true;
        }
        const std::uint8_t type =
            is_icmp && packet.transport_offset < bytes.size() ? bytes[packet.transport_offset] : 0;
        return type == 8 || type == 128;
    }

    struct Hop {
        std::string device;
        frame::MacAddress own, next;
    };
    // The next hop to an address; ARP or ND ask for it where nobody did before.
    static Result<Hop> hop_to(PodHost& host, const frame::IpAddress& address) {
        const auto ask = [&](std::vector<std::string> words) -> Result<nlohmann::json> {
            words.insert(words.begin(), {"ip", "-j"});
            const auto said = TRY(process::run_checked(words, {.netns = host.netns}));
            auto parsed = process::parse_foreign(said);
            if (!parsed.is_array() || parsed.empty() || !parsed[0].is_object()) {
                return fail(ErrorCode::kFailed, "{} says nothing of it", fmt::join(words, " "));
            }
            return nlohmann::json(parsed[0]);
        };
        const auto route = TRY(ask({"route", "get", to_string(address)}));
        const std::string next = route.value("gateway", to_string(address));
        Hop hop{.device = route.value("dev", host.device)};
        hop.own = TRY(host.agent->device(hop.device)).mac;
        for (int i = 0; i < 2; ++i) {
            const auto neighbour = ask({"neigh", "show", "to", next, "dev", hop.device});
            const auto mac = neighbour ? frame::parse_mac(neighbour->value("lladdr", std::string()))
                                       : Result<frame::MacAddress>(pass_on(neighbour.error()));
            if (mac) {
                hop.next = *mac;
                return hop;
            }
            TRY(host.agent->ping({.destination = *frame::parse_ip(next), .count = 1}));
        }
        return fail(ErrorCode::kFailed, "{} does not answer ARP or ND", next);
    }

    // Sends a forged frame until it is seen, with its own destination port, at the other side; nothing:
    // it never was.
    template <typename Is>
    static Result<std::optional<agent::CapturedFrame>> forge(PodHost& from,
                                                             const std::string& device,
                                                             const std::vector<std::uint8_t>& bytes,
                                                             PodHost& to, const Is& is) {
        for (const auto patience : kForgePatience) {
            TRY(to.agent->start_capture({.device = to.device, .most_frames = 1024}));
            const auto sent = from.agent->send_frames(device, {{bytes, {}}});
            std::this_thread::sleep_for(patience);
            const auto capture = TRY(to.agent->stop_capture());
            const auto report = TRY(Result<agent::SendReport>(sent));
            if (!report.refusals.empty()) {
                return fail(ErrorCode::kFailed, "a forged frame was refused: {}",
                            report.refusals.front().reason);
            }
            for (const agent::CapturedFrame& frame : capture.frames) {
                const auto view =
                    frame::parse_frame(frame.bytes, std::span<const std::uint16_t>()).outer;
                if (view.protocol == IPPROTO_SCTP && is(view)) {
                    return std::optional(frame);
                }
            }
        }
        return std::optional<agent::CapturedFrame>();
    }

    Status send_sctp(const PodPathCell& what, const Way& way, PodPathValues& seen) {
        const Hop hop = TRY(hop_to(*way.sender, way.called));
        const frame::Endpoint called = way.at(kPodSctpPort);
        for (const auto& [name, bytes] : {std::pair{"small", kSmallPacket}, {"mtu", way.mtu}}) {
            const frame::Endpoint own{way.sender_address, next_port_++};
            const auto init = TRY(sctp_frame(hop.own, hop.next, own, called, false, bytes));
            const auto came = TRY(forge(*way.sender, hop.device, init, *way.receiver,
                                        [&](const frame::PacketView& view) {
                                            return view.destination == way.receiver_address &&
                                                   view.destination_port == kPodSctpPort;
                                        }));
            PodSize size{name, bytes, came.has_value(), false,
                         came ? "an INIT, forged" : "the INIT, forged, was not seen"};
            if (came) {
                take(what, way, {*came}, seen);
                const auto view =
                    frame::parse_frame(came->bytes, std::span<const std::uint16_t>()).outer;
                frame::MacAddress to, from;
                std::copy_n(came->bytes.begin(), 6, from.bytes.begin());
                std::copy_n(came->bytes.begin() + 6, 6, to.bytes.begin());
                const auto ack = TRY(sctp_frame(from, to, view.destination_endpoint(),
                                                view.source_endpoint(), true, bytes));
                const auto back = TRY(forge(*way.receiver, way.receiver->device, ack, *way.sender,
                                            [&](const frame::PacketView& answer) {
                                                return answer.destination_endpoint() == own &&
                                                       answer.source_endpoint() == called;
                                            }));
                size.answered = back.has_value();
                size.outcome += back ? "; answered by a forged INIT ACK"
                                     : "; the forged INIT ACK did not come back";
            }
            const bool failed = !size.arrived || !size.answered;
            seen.sizes.push_back(std::move(size));
            if (failed) {
                break;
            }
        }
        return {};
    }

    // Where the lab cannot run it, on the lab that can.
    std::string command_of(const std::string& id) const {
        const Scenario* scenario = find_scenario(id);
        return scenario == nullptr ? ""
               : context_.lab.lacks(scenario->needs).empty()
                   ? fmt::format("pathproof repro {} --lab cni --conflist {}", id, chain_)
                   : "pathproof repro " + id;
    }

    void read_hazards() {
        verdict::FactGroup group{
            .title = (prefix_.empty() ? "" : chain_ + ", ") + "known hazards of the nodes",
            .facts = {}};
        std::map<std::string, std::set<std::string>> found;  // rules and values that have it
        for (unsigned node = 0; node < 2; ++node) {
            const auto facts = hazards::read_facts(bench_->node(node).netns);
            if (!facts) {
                measured_.unread.push_back(facts.error().message);
                continue;
            }
            const hazards::Findings findings = hazards::find_hazards(*facts);
            for (const hazards::Unread& unread : findings.unread) {
                measured_.unread.push_back(fmt::format("{}: {}", unread.what, unread.why));
            }
            for (const hazards::Hazard& hazard : findings.hazards) {
                const auto [at, first] = found.try_emplace(hazard.id);
                for (const hazards::Evidence& each : hazard.evidence) {
                    const bool is_sysctl = each.where.starts_with("sysctl ");
                    at->second.insert(is_sysctl ? each.where + " = " + each.text : each.text);
                }
                if (first) {
                    const hazards::Evidence& evidence = hazard.evidence.front();
                    measured_.hazards.push_back({chain_, hazard.id, hazard.scenario, hazard.what,
                                                 bench_->node(node).name + ", " + evidence.where,
                                                 evidence.text, command_of(hazard.scenario)});
                }
            }
        }
        for (const std::string& id : hazards::known_hazards()) {
            group.facts.push_back({.name = id,
                                   .value = found.contains(id)
                                                ? fmt::format("{}", fmt::join(found[id], "; "))
                                                : "none",
                                   .status = verdict::Fact::Status::kRead,
                                   .source = "pathproof inspect hazards"});
        }
        context_.measured.know(std::move(group));
    }

    Context& context_;
    std::string chain_;
    std::string prefix_;
    PodPathsMeasured& measured_;
    std::unique_ptr<PodBench> bench_;
    std::uint16_t next_port_ = kFirstPort;
};

std::vector<std::string> step_ids() {
    return {"attach", "check", "detach"};
}

}  // namespace

std::vector<std::string> pod_paths_cells() {
    std::vector<std::string> ids = step_ids();
    for (const PodPathCell& cell : pod_paths_plan("", "")) {
        ids.push_back(cell.id);
    }
    return ids;
}

Result<verdict::ScenarioResult> run_pod_paths(Context& context) {
    const auto began = std::chrono::steady_clock::now();
    const auto chains = context.lab.pod_chains();
    context.progress.begin("pod-paths", chains.size() == 1 ? 53 : chains.size() * 36);
    PodPathsMeasured measured;
    measured.earlier = context.earlier;
    for (const std::string& chain : chains) {
        TRY(PodPathsRun(context, chain, measured).run());
    }
    verdict::ScenarioResult result = conclude(measured);
    result.id = "pod-paths";
    for (const auto& cell : result.cells) {
        result.planned.push_back(cell.id);
    }
    result.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    return result;
}

}  // namespace pathproof::scenario
