#include "harness/scenario/overlay_bench.h"

#include <netinet/in.h>

#include <future>

#include "harness/scenario/device_facts.h"
#include "harness/scenario/measures.h"

namespace pathproof::scenario {
namespace {

constexpr std::uint16_t kTransferPort = 5001;
constexpr std::uint16_t kDnsPort = 53;
constexpr std::uint64_t kTransferBytes = 1'000'000;

const char* on_off(bool on) { return on ? "on" : "off"; }

std::uint64_t sum_of(const agent::CounterSet& first, const agent::CounterSet& second,
                     const std::string& counter) {
    const auto value = [&](const agent::CounterSet& set) {
        const auto found = set.find(counter);
        return found == set.end() ? 0 : found->second;
    };
    return value(first) + value(second);
}

}  // namespace

std::string OverlayPoint::id() const {
    std::string text = fmt::format("vx-tx-{}.{}.{}.eth0-tx-{}", on_off(vxlan_tx),
                                   udp_checksum ? "udpcsum" : "noudpcsum",
                                   masquerade ? "masquerade" : "no-nat", on_off(underlay_tx));
    if (wire == softnic::WireMode::kPassThrough) {
        text += ".wire-leaves-partial";
    }
    return text;
}

std::vector<std::pair<std::string, std::string>> OverlayPoint::toggles() const {
    std::vector<std::pair<std::string, std::string>> set = {
        {"vxlan device tx offload", on_off(vxlan_tx)},
        {"outer UDP checksum", on_off(udp_checksum)},
        {"outer SNAT", masquerade ? "masquerade --random-fully" : "none"},
        {"underlay tx offload", on_off(underlay_tx)}};
    // The matrix proper has a healthy NIC's wire in all its cells; only the others say what theirs is.
    if (wire != softnic::WireMode::kHealthyNic) {
        set.emplace_back("software wire in place of a NIC", "leaves partial checksums");
    }
    return set;
}

std::uint64_t OverlayObservation::bad_frames() const {
    return wire.directions[0].bad_frames + wire.directions[1].bad_frames;
}

std::uint64_t OverlayObservation::bad_at(judge::Layer layer) const {
    const std::size_t row = judge::index_of(layer);
    const auto state = static_cast<std::size_t>(judge::ChecksumState::kBad);
    return wire.directions[0].checksums[row][state] + wire.directions[1].checksums[row][state];
}

std::uint64_t OverlayObservation::good_at(judge::Layer layer) const {
    const std::size_t row = judge::index_of(layer);
    const auto state = static_cast<std::size_t>(judge::ChecksumState::kGood);
    return wire.directions[0].checksums[row][state] + wire.directions[1].checksums[row][state];
}

std::uint64_t OverlayObservation::node_errors(const std::string& counter) const {
    return sum_of(node_a, node_b, counter);
}

std::uint64_t OverlayObservation::pod_errors(const std::string& counter) const {
    return sum_of(pod_a, pod_b, counter);
}

Result<std::unique_ptr<OverlayBench>> OverlayBench::build(Context& context) {
    auto lab = lab::Overlay::build(context.journal);
    if (!lab) {
        return pass_on(lab.error());
    }
    std::unique_ptr<OverlayBench> bench(new OverlayBench(context));
    bench->lab_ = std::move(*lab);
    const lab::OverlayNames& names = bench->names();
    for (auto [agent, netns] : {std::pair{&bench->node_a_, &names.node_a}, {&bench->node_b_, &names.node_b},
                                {&bench->pod_a_, &names.pod_a}, {&bench->pod_b_, &names.pod_b}}) {
        auto started = agent::Client::start_in_netns(*netns);
        if (!started) {
            return pass_on(started.error());
        }
        *agent = std::move(*started);
    }
    auto tester = tester::Client::start({
        .netns = names.tester,
        .ports = {{"u0", tester::af_packet_device(names.tester_port_a)},
                  {"u1", tester::af_packet_device(names.tester_port_b)}},
        .worker_cpus = {context.options.cpus.back()},
        .hugepages = context.options.hugepages,
    });
    if (!tester) {
        return pass_on(tester.error());
    }
    bench->tester_ = std::move(*tester);
    context.dpdk_version = bench->tester_->dpdk_version();

    agent::DnsServerOptions dns;
    dns.listen = {names.pod_b_address, kDnsPort};
    dns.address = frame::IpAddress::v4(0xC6336401);  // 198.51.100.1, documentation range
    dns.address6 = *frame::parse_ip("2001:db8::1");
    if (const Status served = bench->pod_b_->start_dns_server(dns); !served) {
        return pass_on(served.error());
    }
    if (const Status served = bench->pod_b_->start_transfer_server({names.pod_b_address, kTransferPort});
        !served) {
        return pass_on(served.error());
    }
    return bench;
}

Status OverlayBench::set_feature(const std::string& device, const std::string& feature, bool on) {
    for (const auto& node : {&node_a_, &node_b_}) {
        if (auto changed = (*node)->set_features(device, {{feature, on}}); !changed) {
            return pass_on(changed.error());
        }
    }
    return {};
}

Result<bool> OverlayBench::feature(const std::string& device, const std::string& feature) {
    std::vector<bool> states;
    for (const auto& node : {&node_a_, &node_b_}) {
        const auto features = (*node)->features(device);
        if (!features) {
            return pass_on(features.error());
        }
        for (const agent::Feature& each : *features) {
            if (each.name == feature) {
                states.push_back(each.active);
            }
        }
    }
    if (states.size() != 2 || states[0] != states[1]) {
        return fail(ErrorCode::kFailed, "feature {} of {} is not the same on both nodes", feature, device);
    }
    return static_cast<bool>(states[0]);
}

Status OverlayBench::set(const OverlayPoint& point) {
    if (const Status configured =
            lab_->configure({.udp_checksum = point.udp_checksum, .masquerade = point.masquerade});
        !configured) {
        return configured;
    }
    if (const Status set = set_feature(names().vxlan, "tx-checksum-ip-generic", point.vxlan_tx); !set) {
        return set;
    }
    return set_feature(names().underlay, "tx", point.underlay_tx);
}

Result<std::array<agent::CounterSet, 4>> OverlayBench::read_counters() {
    std::array<agent::CounterSet, 4> sets;
    const std::array<agent::Client*, 4> hosts{node_a_.get(), node_b_.get(), pod_a_.get(), pod_b_.get()};
    for (std::size_t host = 0; host < hosts.size(); ++host) {
        auto counters = hosts[host]->counters();
        if (!counters) {
            return pass_on(counters.error());
        }
        sets[host] = std::move(*counters);
    }
    return sets;
}

Result<OverlayObservation> OverlayBench::observe(softnic::WireMode mode, const std::string& evidence_name) {
    const auto before = read_counters();
    if (!before) {
        return pass_on(before.error());
    }
    softnic::WirePlan plan;
    plan.mode = mode;
    plan.tunnel_ports = {names().vxlan_port};
    plan.keep_bad_frames = 2048;  // all of them: a failing cell has a few dozen
    if (const Status started = tester_->start_wire(plan); !started) {
        return pass_on(started.error());
    }

    const frame::IpAddress peer = names().pod_b_address;
    agent::Client& pod = *pod_a_;
    auto ping = std::async(std::launch::async, [&] { return pod.ping({.destination = peer}); });
    auto dns_udp = std::async(std::launch::async, [&] {
        return pod.dns_lookup({.server = {peer, kDnsPort}, .name = "service.pathproof.test"});
    });
    auto dns_tcp = std::async(std::launch::async, [&] {
        return pod.dns_lookup({.server = {peer, kDnsPort}, .name = "service.pathproof.test", .tcp = true});
    });
    auto transfer = std::async(std::launch::async, [&] {
        return pod.tcp_transfer({.server = {peer, kTransferPort}, .bytes = kTransferBytes});
    });
    const Result<agent::ProbeResult> outcomes[] = {ping.get(), dns_udp.get(), dns_tcp.get(), transfer.get()};

    const std::string evidence = evidence_path(context_.options.out_dir, evidence_name + ".pcapng");
    auto wire = tester_->stop_wire(evidence);
    if (!wire) {
        return pass_on(wire.error());
    }
    for (const auto& outcome : outcomes) {
        if (!outcome) {
            return pass_on(outcome.error());
        }
    }
    const auto after = read_counters();
    if (!after) {
        return pass_on(after.error());
    }
    OverlayObservation seen{.ping = *outcomes[0],
                            .dns_udp = *outcomes[1],
                            .dns_tcp = *outcomes[2],
                            .transfer = *outcomes[3],
                            .wire = std::move(*wire),
                            .node_a = agent::delta((*before)[0], (*after)[0]),
                            .node_b = agent::delta((*before)[1], (*after)[1]),
                            .pod_a = agent::delta((*before)[2], (*after)[2]),
                            .pod_b = agent::delta((*before)[3], (*after)[3]),
                            .capture = ""};
    for (agent::Client* node : {node_a_.get(), node_b_.get()}) {
        auto entries =
            node->conntrack_dump({.protocol = IPPROTO_UDP, .original_destination_port = names().vxlan_port});
        if (!entries) {
            return pass_on(entries.error());
        }
        seen.nat_entries.insert(seen.nat_entries.end(), entries->begin(), entries->end());
    }
    seen.checksums = join::join_checksums(seen.wire.kept, seen.nat_entries, plan.tunnel_ports);
    seen.capture = seen.wire.kept.empty() ? "" : evidence;
    return seen;
}

Status OverlayBench::describe(std::vector<verdict::FactGroup>& environment) {
    for (const std::string& device : {names().underlay, names().vxlan}) {
        auto group = device_facts(*node_a_, device, "DUT device " + device + " (node A; node B has its twin)");
        if (!group) {
            return pass_on(group.error());
        }
        environment.push_back(std::move(*group));
    }
    if (context_.profile) {
        auto group = profile_facts(*node_a_, names().underlay, *context_.profile);
        if (!group) {
            return pass_on(group.error());
        }
        environment.push_back(std::move(*group));
    }
    environment.push_back(port_facts(tester_->ports(), "Tester ports of the overlay lab"));
    return {};
}

}  // namespace pathproof::scenario
