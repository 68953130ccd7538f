#include "harness/scenario/nat_bench.h"

#include <netinet/in.h>

#include <thread>

#include "harness/scenario/device_facts.h"
#include "harness/scenario/measures.h"

namespace pathproof::scenario {
namespace {

using namespace std::chrono_literals;

constexpr std::uint16_t kTypeA = 1;
constexpr std::uint16_t kTypeAaaa = 28;
constexpr double kPairsPerSecond = 5000;
constexpr std::size_t kServerPort = 2;  // index of s0 among the tester's ports
constexpr unsigned kMostAttempts = 3;
constexpr auto kPauseBetweenAttempts = 500ms;

}  // namespace

std::vector<std::string> PairOutcome::objections() const {
    std::vector<std::string> all = report.objections;
    if (report.tester_lost != 0) {
        all.push_back(fmt::format("the tester's own ports lost {} frames", report.tester_lost));
    }
    if (!report.client.balances() || !report.server.balances()) {
        all.push_back("received frames do not add up to what they were counted as");
    }
    if (report.departures.sent != 2 * plan.pairs) {
        all.push_back(fmt::format("{} of {} queries left the tester", report.departures.sent, 2 * plan.pairs));
    }
    if (report.client.bad_checksum + report.server.bad_checksum != 0) {
        all.push_back(fmt::format("{} frames came with a wrong checksum",
                                  report.client.bad_checksum + report.server.bad_checksum));
    }
    if (log.overruns != 0) {
        all.push_back(fmt::format("the conntrack listener lost events {} times", log.overruns));
    }
    return all;
}

Result<std::unique_ptr<NatBench>> NatBench::build(Context& context) {
    auto lab = lab::NatBox::build(context.journal);
    if (!lab) {
        return pass_on(lab.error());
    }
    std::unique_ptr<NatBench> bench(new NatBench(context));
    bench->lab_ = std::move(*lab);
    const lab::NatBoxNames& names = bench->names();
    auto agent = agent::Client::start_in_netns(names.dut);
    if (!agent) {
        return pass_on(agent.error());
    }
    bench->dut_ = std::move(*agent);
    std::vector<tester::PortRequest> ports;
    for (const std::string& interface : {names.client_ports[0], names.client_ports[1], names.server_port}) {
        ports.push_back({interface, tester::af_packet_device(interface)});
    }
    auto tester = tester::Client::start({
        .netns = names.tester,
        .ports = ports,
        .worker_cpus = context.options.cpus,
        .hugepages = context.options.hugepages,
    });
    if (!tester) {
        return pass_on(tester.error());
    }
    bench->tester_ = std::move(*tester);
    context.dpdk_version = bench->tester_->dpdk_version();
    return bench;
}

Status NatBench::configure(const lab::NatBoxOptions& options) { return lab_->configure(options); }

traffic::PairPlan NatBench::base_plan(std::uint64_t pairs) const {
    const lab::NatBoxNames& names = lab_->names();
    traffic::PairPlan plan;
    plan.pairs = pairs;
    plan.pairs_per_second = kPairsPerSecond;
    plan.service = names.service;
    plan.seed = context_.options.seed;
    plan.late_share_allowed = 1;  // the race is judged pair by pair; lateness is reported as a measure
    for (std::size_t half = 0; half < 2; ++half) {
        traffic::PairMember& member = plan.members[half];
        member.port = half;
        member.source_mac = names.tester_client_mac[half];
        member.destination_mac = names.dut_client_mac[half];
        member.first_client = names.first_client[0];
        member.qtype = half == 0 ? kTypeA : kTypeAaaa;
    }
    return plan;
}

traffic::PairPlan NatBench::same_tuple_plan(std::uint64_t pairs) const { return base_plan(pairs); }

traffic::PairPlan NatBench::two_clients_plan(std::uint64_t pairs) const {
    traffic::PairPlan plan = base_plan(pairs);
    plan.members[1].first_client = lab_->names().first_client[1];
    plan.members[1].qtype = kTypeA;
    return plan;
}

traffic::PairPlan NatBench::carried_plan(std::uint64_t pairs, std::uint16_t first_outer,
                                         std::uint16_t second_outer) const {
    const lab::NatBoxNames& names = lab_->names();
    traffic::PairPlan plan = base_plan(pairs);
    plan.departure = traffic::Departure::kOneBurst;
    for (std::size_t half = 0; half < 2; ++half) {
        traffic::PairMember& member = plan.members[half];
        member.port = 0;
        member.source_mac = names.carried_tester_mac;
        member.destination_mac = names.carried_dut_mac;
        member.first_client = names.first_carried_client;
        member.carrier = traffic::VxlanCarrier{
            .vni = names.vni,
            .source_mac = names.tester_client_mac[0],
            .destination_mac = names.dut_client_mac[0],
            .source = {names.carrier_tester, half == 0 ? first_outer : second_outer},
            .destination = {names.carrier_dut, names.vxlan_port},
        };
    }
    return plan;
}

Result<PairOutcome> NatBench::run(const traffic::PairPlan& plan, std::chrono::nanoseconds delay,
                                  const std::string& evidence_name) {
    traffic::PairPlan slower = plan;
    for (unsigned attempt = 1;; ++attempt) {
        auto outcome = measure(slower, delay, evidence_name);
        if (!outcome) {
            return outcome;
        }
        outcome->attempts = attempt;
        if (outcome->report.tester_lost == 0 || attempt == kMostAttempts) {
            return outcome;
        }
        slower.pairs_per_second /= 2;
        std::this_thread::sleep_for(kPauseBetweenAttempts);
    }
}

Result<PairOutcome> NatBench::measure(const traffic::PairPlan& plan, std::chrono::nanoseconds delay,
                                      const std::string& evidence_name) {
    traffic::ResponderPlan responder;
    responder.port = kServerPort;
    responder.seed = context_.options.seed;
    responder.rules.push_back({.suffix = "",
                               .addresses = {frame::IpAddress::v4(0xCB007101), *frame::parse_ip("2001:db8::1")},
                               .cname = "",
                               .delay = delay});
    PairOutcome outcome{.plan = plan, .capture = ""};
    outcome.plan.drain = 300ms;
    if (!evidence_name.empty()) {
        outcome.capture = evidence_path(context_.options.out_dir, evidence_name + ".pcapng");
    }

    if (const Status flushed = dut_->conntrack_flush(); !flushed) {
        return pass_on(flushed.error());
    }
    const auto before = dut_->conntrack_stats();
    if (!before) {
        return pass_on(before.error());
    }
    if (const Status listening = dut_->start_events({.protocol = IPPROTO_UDP}); !listening) {
        return pass_on(listening.error());
    }
    auto report = tester_->run_pairs(outcome.plan, responder, outcome.capture);
    const auto after = dut_->conntrack_stats();
    // Every entry that still lives is destroyed now, the hidden ones among them: the log then names them all.
    const Status flushed = dut_->conntrack_flush();
    std::this_thread::sleep_for(100ms);
    auto log = dut_->stop_events();
    if (!report) {
        return pass_on(report.error());
    }
    if (!after) {
        return pass_on(after.error());
    }
    if (!flushed) {
        return pass_on(flushed.error());
    }
    if (!log) {
        return pass_on(log.error());
    }
    outcome.report = std::move(*report);
    if (outcome.report.bad_frames.empty() && outcome.report.misdelivered_frames.empty()) {
        outcome.capture.clear();
    }
    outcome.log = std::move(*log);
    outcome.stats = netfilter::delta(*before, *after);
    outcome.findings = join::join_pairs(outcome.plan, outcome.report, outcome.log, outcome.counter("insert_failed"));
    return outcome;
}

Status NatBench::describe(std::vector<verdict::FactGroup>& environment) {
    for (const std::string& device : {names().dut_client_devices[0], names().dut_server_device}) {
        auto group = device_facts(*dut_, device, "DUT device " + device + " (NAT box)");
        if (!group) {
            return pass_on(group.error());
        }
        environment.push_back(std::move(*group));
    }
    environment.push_back(port_facts(tester_->ports(), "Tester ports of the NAT box lab"));
    return {};
}

}  // namespace pathproof::scenario
