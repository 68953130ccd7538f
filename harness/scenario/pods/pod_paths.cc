// pod-paths: tells which path of pods carries which packets.
//
// Set:  two nodes and pods, attached by a list of CNI plug-ins; kube-proxy's rules of two services.
// Sent: ICMP echo, DNS and datagrams over UDP, TCP transfers, forged SCTP, each of several sizes.
// Seen: what arrives and what comes back, from which source; frames on the wire between the nodes,
//       conntrack's entries, what each rule counted.

#include "harness/scenario/pods/pod_paths.h"

#include <fmt/ranges.h>
#include <netinet/in.h>

#include <nlohmann/json.hpp>
#include <set>

#include "harness/agent/device_info.h"
#include "harness/fate/flow.h"
#include "harness/hazards/hazards.h"
#include "harness/netfilter/text.h"
#include "harness/process/json_text.h"
#include "harness/process/program.h"
#include "harness/scenario/first_error.h"
#include "harness/scenario/measures.h"
#include "harness/scenario/pods/pod_bench.h"
#include "harness/scenario/pods/pod_way.h"

namespace pathproof::scenario {
namespace {

using frame::Family;

std::uint64_t rise(const agent::CounterSet& before, const agent::CounterSet& after,
                   const std::string& name) {
    return value_in(agent::delta(before, after), name);
}

std::uint8_t protocol_number(PodProtocol protocol, Family family) {
    switch (protocol) {
        case PodProtocol::kTcp: return IPPROTO_TCP;
        case PodProtocol::kUdp: return IPPROTO_UDP;
        case PodProtocol::kSctp: return IPPROTO_SCTP;
        case PodProtocol::kIcmp: break;
    }
    if (family == Family::kIpv4) {
        return IPPROTO_ICMP;
    }
    return IPPROTO_ICMPV6;
}

// Returns the requested cells of a network's plan.
std::vector<PodPathCell> asked_cells(const Options& options, const std::string& chain,
                                     const std::string& prefix) {
    std::vector<PodPathCell> cells = pod_paths_plan(chain, prefix);
    std::erase_if(cells, [&](const PodPathCell& cell) {
        return !asked_for(options, cell.id.substr(prefix.size()));
    });
    return cells;
}

// Returns the number of steps for one network; its pods are attached and detached whatever the user
// requested.
std::size_t steps_of(const Options& options) {
    return 2 + (asked_for(options, "check") ? 1 : 0) + asked_cells(options, "", "").size();
}

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
            context_.progress.leave_out(steps_of(context_.options));
            return {};
        }
        bench_ = TRY(std::move(opened));
        if (!attach()) {
            context_.progress.leave_out(steps_of(context_.options) - 1);
            return {};
        }
        check();
        PodPathsMeasured::Chain chain{.name = chain_, .network = TRY(network())};
        measured_.chains.push_back(chain);
        TRY(serve());
        std::vector<PodPathCell> cells = asked_cells(context_.options, chain_, prefix_);
        context_.progress.leave_out(std::erase_if(cells, [&](const PodPathCell& what) {
            return !absent(chain.network, what.path, what.protocol, what.family).empty();
        }));
        for (const PodPathCell& what : cells) {
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
            // Keeps the nodes' state at the time of the complaint.
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
            keep_evidence(context_.options.out_dir, made.id + ".nodes.txt",
                          "rules, devices, addresses, routes and leases of both "
                          "nodes when a plug-in had failed",
                          text, made.evidence);
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
        if (!asked_for(context_.options, "check")) {
            return;
        }
        if (bench_->nodes().runtime(0).conflist().disable_check) {
            context_.progress.leave_out(1);
            return;
        }
        step_of_each("check", [&](lab::Pod& pod) {
            return bench_->nodes().runtime(pod.node).check(pod.attachment);
        });
    }

    void detach() {
        step_of_each("detach", [&](lab::Pod& pod) { return bench_->nodes().detach(pod); });
    }

    template <typename Call>
    void step_of_each(const std::string& id, const Call& call) {
        context_.progress.step(prefix_ + id);
        const std::size_t before = all_calls().size();
        std::vector<std::string> complaints;
        for (const char* name : {"a1", "a2", "b1"}) {
            if (const Status made = call(bench_->pod(name)); !made) {
                complaints.push_back(fmt::format("pod {}: {}", name, made.error().message));
            }
        }
        step(id, std::move(complaints), false, before);
    }

    Result<PodNetwork> network() {
        const lab::PodNodes& nodes = bench_->nodes();
        PodNetwork network{.ipv6 = true,
                           .passes_nodes = nodes.chain().passes_nodes(),
                           .host_ports = bench_->nodes().runtime(0).conflist().has("portmap")};
        for (const char* name : {"a1", "a2", "b1"}) {
            network.ipv6 &= bench_->pod(name).address(Family::kIpv6).has_value();
        }
        for (const Family family : {Family::kIpv4, Family::kIpv6}) {
            if (const auto pod = bench_->pod("a1").address(family); pod && network.passes_nodes) {
                (family == Family::kIpv4 ? network.masquerades : network.masquerades6) =
                    TRY(nodes.snat_of(0, *pod, nodes.names().outside_address(family))) !=
                    lab::Snat::kNone;
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
            if (!self || !other || !bench_->nodes().chain().passes_nodes()) {
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

    Result<PodWay> way_of(const PodPathCell& what) {
        const auto pod = [&](const char* name) { return *bench_->pod(name).address(what.family); };
        const lab::PodNodeNames& names = bench_->nodes().names();
        PodWay way{.sender = &bench_->host_of("a1"), .sender_address = pod("a1")};
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

    std::vector<std::string> expected_sources(const PodPathCell& what, const PodWay& way) {
        const bool of_node = what.path == PodPath::kServiceSelf || what.path == PodPath::kNodePod ||
                             what.path == PodPath::kExternal;
        if (!of_node) {
            return {to_string(way.sender_address)};
        }
        const lab::PodNodeNames& names = bench_->nodes().names();
        std::vector<std::string> node{to_string(names.node_address(0, what.family))};
        if (const auto gateway = bench_->pod("a1").gateway(what.family);
            gateway && what.path != PodPath::kExternal) {
            node.push_back(to_string(*gateway));
        }
        return node;
    }

    MeasuredPodPath measure(const PodPathCell& what) {
        MeasuredPodPath cell{.what = what};
        std::string frames_path = evidence_path(context_.options.out_dir, what.id + ".pcapng");
        Status made = run_cell(what, cell.seen, frames_path);
        if (made && cell.seen.lost()) {
            made = follow_again(what, cell.seen, frames_path);
        }
        if (!made) {
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
        keep_evidence(context_.options.out_dir, what.id + ".nodes.txt",
                      "conntrack's entries of both nodes, and the rules that "
                      "counted",
                      text, cell.evidence);
        if (cell.seen.wire_bad > 0 && !frames_path.empty()) {
            cell.evidence.push_back(
                {"evidence/" + what.id + ".pcapng",
                 "frames with a wrong checksum as they left the wire (pcapng)"});
        }
        return cell;
    }

    // Sends what was lost once more, while its packets are followed through all hosts of this machine. What
    // this second time shows stands in place of the first.
    Status follow_again(const PodPathCell& what, PodPathValues& seen,
                        const std::string& frames_path) {
        const PodWay way = TRY(way_of(what));
        const std::uint8_t protocol = protocol_number(what.protocol, what.family);
        const PodHost& node = bench_->node(0);
        TRY(node.agent->start_fate(
            {.flows = {{.protocol = protocol, .destination = way.called},
                       {.protocol = protocol, .destination = way.receiver_address}}}));
        PodPathValues again;
        const Status made = run_cell(what, again, frames_path);
        const auto fates = node.agent->stop_fate();
        TRY(Status(made));
        if (!again.lost()) {
            seen.passed_again = true;
            return {};
        }
        std::vector<std::string> namespaces;
        for (const PodHost* host : bench_->all_hosts()) {
            namespaces.push_back(host->netns);
        }
        again.ends = own_ends_in(fates, namespaces);
        for (OwnEnds::Kind& kind : again.ends.dropped) {
            kind.netns = bench_->name_of(kind.netns);
        }
        seen = std::move(again);
        return {};
    }

    Status run_cell(const PodPathCell& what, PodPathValues& seen, const std::string& frames_path) {
        const PodWay way = TRY(way_of(what));
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
        const Status sent = send_by(way, what, next_port_, seen);
        const auto wire = bench_->tester().stop_wire(frames_path);
        TRY(first_error(sent, wire));
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

    // Returns the command that shows the hazard: on this network if its lab can run the scenario,
    // else on the scenario's default lab. Empty: there is no such scenario.
    std::string command_of(const std::string& id) const {
        const Scenario* scenario = find_scenario(id);
        if (scenario == nullptr) {
            return "";
        }
        return context_.lab.lacks(scenario->needs).empty()
                   ? fmt::format("pathproof repro {} --lab cni --conflist {}", id, chain_)
                   : "pathproof repro " + id;
    }

    void read_hazards() {
        verdict::FactGroup group{.title = (prefix_.empty() ? "" : chain_ + ", ") +
                                          "known hazards of the nodes"};
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
    std::uint16_t next_port_ = kFirstPodPort;
};

std::vector<std::string> pod_paths_cells() {
    std::vector<std::string> ids = {"attach", "check", "detach"};
    for (const PodPathCell& cell : pod_paths_plan("", "")) {
        ids.push_back(cell.id);
    }
    return ids;
}

Result<verdict::ScenarioResult> run_pod_paths(Context& context) {
    const auto chains = context.lab.pod_chains();
    context.progress.begin(context.scenario->id, chains.size() * steps_of(context.options));
    PodPathsMeasured measured;
    measured.earlier = context.earlier;
    for (const std::string& chain : chains) {
        TRY(PodPathsRun(context, chain, measured).run());
    }
    verdict::ScenarioResult result = conclude(measured);
    for (const auto& cell : result.cells) {
        result.planned.push_back(cell.id);
    }
    return result;
}

}  // namespace

Scenario pod_paths_scenario() {
    return {
        "pod-paths",
        "Connectivity of pods that CNI plug-ins attached",
        "Does every path between pods, services, nodes and the outside carry every protocol and "
        "size right, from the source that it should have?",
        lab::Role::kPods,
        run_pod_paths,
        pod_paths_cells,
        Scenario::When::kOnItsLab};
}

}  // namespace pathproof::scenario
