#include "harness/scenario/race/nat_bench.h"

#include <netinet/in.h>

#include <array>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "dataplane/measure/pair_trial.h"
#include "dataplane/pairs/query_frames.h"
#include "dataplane/port/device_name.h"
#include "dataplane/port/port_request.h"
#include "harness/agent/cpu_use.h"
#include "harness/ports/open.h"
#include "harness/process/json_text.h"
#include "harness/process/netns.h"
#include "harness/scenario/device_facts.h"
#include "harness/scenario/first_error.h"
#include "harness/scenario/measures.h"

namespace pathproof::scenario {
namespace {

using namespace std::chrono_literals;

constexpr std::uint16_t kTypeA = 1;
constexpr std::uint16_t kTypeAaaa = 28;
constexpr double kCellPairsPerSecond = 5000;
// The search for the highest load: its trials are shorter than RFC 2544's: the table has room for no more
// flows, and the cell at the load that was found lasts longer.
constexpr auto kTrialOfSearch = 500ms;
constexpr double kLeastOfSearch = 200;  // pairs a second
constexpr double kFirstOfSearch = 4000;
constexpr auto kInTime = 50ms;  // a later answer waited in a queue
constexpr double kOfferedTolerance = 0.01;
// Both answers of a pair, and as many to catch up.
constexpr std::uint16_t kReadAtLoad = 4;
// Of the search for the load. What is more than the DUT carries waits in queues at first: the answers
// tell, before anything is lost.
constexpr double kSecondsOfTrial = 0.3;
constexpr std::uint64_t kFewestOfTrial = 60;
constexpr std::int64_t kQueueingNs = 30'000'000;
constexpr double kLeastLoad = 20;
// No cell lasts longer at a load that was found, unless its pairs were asked for.
constexpr double kMostSecondsOfCell = 3;
constexpr std::size_t kServerPort = 2;  // index of s0 among the tester's ports
constexpr unsigned kMostAttempts = 3;
constexpr auto kPauseBetweenAttempts = 500ms;

// Queries that leave, and answers that come, by so much later than they should: the tester was
// short of CPU time, and what is late says nothing of the path.
constexpr std::int64_t kStarvedNs = 100'000'000;

bool starved(const judge::PairReport& report, std::chrono::nanoseconds delay) {
    return report.departures.worst_late_ns > kStarvedNs &&
           report.latency.p50_ns > delay.count() + kStarvedNs;
}

// Why this is no result: the tester was starved or lost frames, the listener lost events, totals do
// not balance.
std::vector<std::string> objections_of(const pairs::PairPlan& plan, const judge::PairReport& report,
                                       const netfilter::EventLog& log,
                                       std::chrono::nanoseconds delay, Look look) {
    std::vector<std::string> all = report.objections;
    tell(all, starved(report, delay),
         "the tester was short of CPU time: queries left up to {} ms late",
         report.departures.worst_late_ns / 1'000'000);
    tell_count(all, report.tester_lost, "the tester's own ports lost {} frames");
    tell(all, report.departures.sent != 2 * plan.pairs, "{} of {} queries left the tester",
         report.departures.sent, 2 * plan.pairs);
    tell_count(all, report.client.bad_checksum + report.server.bad_checksum,
               "{} frames came with a wrong checksum");
    if (look != Look::kAtLoad) {  // there it is a figure: the table tells what was lost
        tell_count(all, log.overruns, "the conntrack listener lost events {} times");
    }
    return all;
}

}  // namespace

struct NatBench::Run {
    pairs::PairPlan plan;
    judge::PairReport report;
    join::DutRecord dut;
    std::string capture;  // path of bad and misdelivered frames; not written when there was none
    unsigned attempts = 1;
    LoadValues load;
    std::map<std::string, std::uint64_t> rings;  // packets that found one full
};

// Has a search's trials made on the bench.
class PairMeasurer final : public search::Measurer {
  public:
    PairMeasurer(NatBench& bench, const pairs::PairPlan& plan, std::uint64_t most)
        : bench_(bench), plan_(plan), most_(most) {}
    Result<search::TrialOutput> measure(const search::TrialInput& input) override {
        return bench_.try_load(plan_, input, most_);
    }

  private:
    NatBench& bench_;
    const pairs::PairPlan& plan_;
    const std::uint64_t most_;
};

NatBench::NatBench(Context& context) : context_(context), load_(kCellPairsPerSecond) {}

Result<std::unique_ptr<NatBench>> NatBench::build(Context& context, Carrier carrier) {
    std::unique_ptr<NatBench> bench(new NatBench(context));
    auto from = std::chrono::steady_clock::now();
    const auto done = [&](const char* what) {
        const auto now = std::chrono::steady_clock::now();
        bench->phases_.emplace_back(
            what, std::chrono::duration_cast<std::chrono::milliseconds>(now - from));
        from = now;
    };
    bench->lab_ = TRY(context.lab.nat_box(context.journal));
    done("lab");
    bench->dut_ = bench->lab_->agent();
    done("agent");
    TRY(bench->open_ports(carrier));
    done("EAL and ports");
    std::vector<frame::MacAddress> addresses;
    for (const port::PortInfo& port : bench->tester_->ports()) {
        addresses.push_back(port.mac);
    }
    TRY(bench->lab_->meet(addresses));
    context.measured.know_dpdk(bench->tester_->dpdk_version());
    return bench;
}

Status NatBench::open_ports(Carrier carrier) {
    std::vector<port::PortRequest> ports;
    const std::vector<lab::PortPlan> plans = lab_->port_plans();
    for (const std::string& name :
         {names().client_ports[0], names().client_ports[1], names().server_port}) {
        if (plans.empty() && carrier == Carrier::kPackets) {
            ports.push_back({name, port::af_packet_device(name)});
            continue;
        }
        if (plans.empty()) {
            auto port = TRY(ports::choose_port("af_xdp:" + name, names().tester));
            ports.push_back(std::move(port));
            continue;
        }
        const lab::PortPlan& plan = plans[ports.size()];
        auto port = TRY(ports::choose_port(name, names().tester, plan.queues, &plan.addresses));
        ports.push_back(std::move(port));
    }
    tester_ = TRY(ports::open_tester({.netns = names().tester,
                                      .ports = ports,
                                      .worker_cpus = context_.options.cpus,
                                      .hugepages = context_.options.hugepages},
                                     plans.empty() ? std::vector<port::PortRequest>() : ports,
                                     context_.journal));
    return {};
}

unsigned NatBench::last_cpu() const {
    constexpr unsigned kMost = 31;
    const unsigned last = lab_->is_of_this_machine()
                              ? static_cast<unsigned>(context_.options.cpus.back())
                              : std::max(1u, dut_->hello().cpus) - 1;
    return std::min(last, kMost);
}

// By pairs in VXLAN, which take most of the DUT. Empty: it was carried whole, and in time.
Result<std::string> NatBench::trouble_at(double load) {
    constexpr std::uint16_t kOuter = 5000;
    pairs::PairPlan plan = carried_plan(0, kOuter, kOuter);
    plan.pairs = std::max(kFewestOfTrial, static_cast<std::uint64_t>(load * kSecondsOfTrial));
    plan.pairs_per_second = load;
    plan.drain = 300ms;
    plan.suffix = fmt::format("r{}.pathproof.test", runs_++);
    const auto report = TRY(tester_->run_pairs(plan, answering(0ms)));
    MapPoint point{.offered = load};
    take(report, point);
    std::string trouble = point.not_carried();
    if (trouble.empty() && report.latency.p50_ns > kQueueingNs) {
        trouble = fmt::format("answers took {} ms (median)", report.latency.p50_ns / 1'000'000);
    }
    return trouble;
}

Status NatBench::find_load() {
    if (lab_->is_of_this_machine()) {
        return {};  // it carries what the tester beside it can send
    }
    double carried = 0;
    std::string first;
    for (double load = load_; load >= kLeastLoad && carried == 0; load /= 4) {
        auto trouble = TRY(trouble_at(load));
        if (!trouble.empty()) {
            trouble = TRY(trouble_at(load));  // not for a moment's pause
        }
        carried = trouble.empty() ? load : 0;
        first = first.empty() && !trouble.empty()
                    ? fmt::format("at {:.0f} pairs/s {}", load, trouble)
                    : first;
    }
    std::string why = ", as planned";
    if (carried == 0) {
        why += fmt::format(", as less is not carried either: {}", first);
    } else if (carried < load_) {
        // Half of what is carried for a moment, for what else the CPUs may do.
        load_ = carried / 2;
        why = ": " + first;
    }
    context_.measured.know(
        {.title = "Offered load of the NAT box lab",
         .facts = {{"at most", fmt::format("{:.0f} pairs/s{}", load_, why),
                    verdict::Fact::Status::kRead, "pairs in VXLAN, before the first cell"}}});
    return {};
}

Result<double> NatBench::line_rate(const pairs::PairPlan& plan) const {
    // An A record behind the question, and an AAAA one.
    constexpr double kRecordBytes[] = {16, 28};
    constexpr double kFcsPreambleAndGap = 4 + 8 + 12;  // IEEE 802.3, clause 4.4.2
    std::map<std::size_t, std::array<double, 2>>
        bits;  // of a pair by port, towards the DUT and from it
    for (const pairs::PairMember& member : plan.members) {
        pairs::PairMember plain = member;
        plain.carrier.reset();
        const auto bytes_of = [&](const pairs::PairMember& one) -> Result<double> {
            const auto frame = TRY(frame::FrameTemplate::make_dns(
                pairs::frame_spec(one, plan.service), "r00.pathproof.test", one.qtype));
            return static_cast<double>(frame.size()) + kFcsPreambleAndGap;
        };
        const double record = kRecordBytes[member.qtype == kTypeAaaa ? 1 : 0];
        const double query = TRY(bytes_of(member));
        const double behind = TRY(bytes_of(plain));
        bits[member.port][0] += 8 * query;
        bits[member.port][1] += 8 * (query + record);
        bits[kServerPort][0] += 8 * (behind + record);
        bits[kServerPort][1] += 8 * behind;
    }
    double least = 0;
    for (const auto& [number, both_ways] : bits) {
        const port::PortInfo& port = tester_->ports()[number];
        if (port.evidence != port::Evidence::kPhysical || port.link_mbps == 0) {
            return 0.0;
        }
        const double pairs =
            measure::pairs_at_share(1, port.link_mbps, std::max(both_ways[0], both_ways[1]));
        least = least == 0 ? pairs : std::min(least, pairs);
    }
    return least;
}

Result<std::uint64_t> NatBench::room(unsigned flows) {
    const auto table = TRY(dut_->conntrack_table());
    // conntrack throws entries out from 95 % on.
    constexpr double kShareOfTable = 0.7;
    return static_cast<std::uint64_t>(
        std::max(1.0, kShareOfTable * static_cast<double>(table.maximum) / flows));
}

Result<search::TrialOutput> NatBench::try_load(const pairs::PairPlan& asked,
                                               const search::TrialInput& input,
                                               std::uint64_t most) {
    pairs::PairPlan plan = asked;
    plan.pairs_per_second = input.load_pps;
    plan.pairs =
        std::clamp(static_cast<std::uint64_t>(input.load_pps * search::seconds(input.duration)),
                   std::min(kFewestOfTrial, most), most);
    plan.warm_up = false;
    plan.least_read = kReadAtLoad;
    plan.drain = 100ms;
    plan.answer_timeout = kInTime;
    plan.suffix = fmt::format("r{}.pathproof.test", runs_++);
    const auto began = std::chrono::steady_clock::now();
    TRY(dut_->conntrack_flush());
    const auto before = TRY(dut_->conntrack_stats());
    const auto counted = TRY(dut_->counters());
    TRY(dut_->start_events({.protocol = IPPROTO_UDP, .brief = true}));
    auto output = tester_->try_pairs(plan, answering(0ms), kOfferedTolerance);
    TRY(dut_->drop_events());
    const auto after = TRY(dut_->conntrack_stats());
    if (!output) {
        return output;
    }
    const std::uint64_t refused =
        netfilter::total(netfilter::delta(before, after), "insert_failed");
    output->lost -= std::min(output->lost, refused);
    const std::uint64_t late = lab_->is_of_this_machine()
                                   ? not_transmitted(agent::delta(counted, TRY(dut_->counters())))
                                   : 0;
    if (late != 0) {
        output->tester_limit += fmt::format("{}the tester's ports did not take {} frames in time",
                                            output->tester_limit.empty() ? "" : "; ", late);
    }
    output->input = input;
    output->input.frames = plan.pairs;
    output->trial_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    return output;
}

Result<LoadSearch> NatBench::find_highest(const pairs::PairPlan& plan, double greatest,
                                          std::uint64_t most) {
    LoadSearch search;
    PairMeasurer measurer(*this, plan, most);
    search::Trials trials(measurer, {.time = std::chrono::seconds(40), .repeats = 1},
                          [&](const search::TrialOutput& trial) {
                              search.tester_limit = trial.tester_limit.empty() ? search.tester_limit
                                                                               : trial.tester_limit;
                              search.objection =
                                  trial.objection.empty() ? search.objection : trial.objection;
                          });
    // Upwards first: nothing is left out of a trial, so that one far beyond the tester's rate would last for a
    // minute.
    double top = std::min(kFirstOfSearch, greatest);
    for (bool carried = true; carried && top < greatest;) {
        const search::TrialOutput* trial =
            TRY(trials.run({.load_pps = top, .duration = kTrialOfSearch}));
        carried = trial != nullptr && trial->loss_ratio() == 0;
        top = carried ? std::min(2 * top, greatest) : top;
    }
    // A load that failed for a moment only and passes now is not the highest.
    for (bool higher = true; higher;) {
        search.result =
            TRY(search::find_throughput({.min_load_pps = std::min(kLeastOfSearch, top / 2),
                                         .max_load_pps = top,
                                         .trial_duration = kTrialOfSearch,
                                         .relative_width = 0.05,
                                         .attempts = 2},
                                        trials));
        higher = search.result.max_load_passes && top < greatest &&
                 trials.ending() == search::Ending::kNone;
        top = higher ? std::min(2 * top, greatest) : top;
    }
    search.trials = trials.log().size();
    search.seconds = search::seconds(trials.spent());
    return search;
}

pairs::PairPlan NatBench::same_tuple_plan(std::uint64_t pairs) const {
    const lab::NatBoxNames& names = lab_->names();
    pairs::PairPlan plan;
    plan.pairs = pairs;
    if (load_ < kCellPairsPerSecond && !context_.options.has("pairs")) {
        plan.pairs = std::min(pairs, static_cast<std::uint64_t>(load_ * kMostSecondsOfCell));
    }
    plan.pairs_per_second = load_;
    plan.service = names.service;
    plan.seed = context_.options.seed;
    // The race is judged pair by pair; lateness is reported as a measure.
    plan.late_share_allowed = 1;
    for (std::size_t half = 0; half < 2; ++half) {
        pairs::PairMember& member = plan.members[half];
        member.port = half;
        member.source_mac = names.tester_client_mac[half];
        member.destination_mac = names.dut_client_mac[half];
        member.first_client = names.first_client[0];
        member.qtype = half == 0 ? kTypeA : kTypeAaaa;
    }
    return plan;
}

pairs::PairPlan NatBench::one_port_plan(std::uint64_t pairs) const {
    pairs::PairPlan plan = same_tuple_plan(pairs);
    plan.departure = pairs::Departure::kOneBurst;
    plan.members[1].port = plan.members[0].port;
    plan.members[1].source_mac = plan.members[0].source_mac;
    plan.members[1].destination_mac = plan.members[0].destination_mac;
    return plan;
}

pairs::PairPlan NatBench::two_clients_plan(std::uint64_t pairs) const {
    pairs::PairPlan plan = same_tuple_plan(pairs);
    plan.members[1].first_client = lab_->names().first_client[1];
    plan.members[1].qtype = kTypeA;
    return plan;
}

pairs::PairPlan NatBench::carried_plan(std::uint64_t pairs, std::uint16_t first_outer,
                                       std::uint16_t second_outer) const {
    const lab::NatBoxNames& names = lab_->names();
    pairs::PairPlan plan = same_tuple_plan(pairs);
    plan.departure = pairs::Departure::kOneBurst;
    for (std::size_t half = 0; half < 2; ++half) {
        pairs::PairMember& member = plan.members[half];
        member.port = 0;
        member.source_mac = names.carried_tester_mac;
        member.destination_mac = names.carried_dut_mac;
        member.first_client = names.first_carried_client;
        member.carrier = pairs::VxlanCarrier{
            .vni = names.vni,
            .source_mac = names.tester_client_mac[0],
            .destination_mac = names.dut_client_mac[0],
            .source = {names.carrier_tester, half == 0 ? first_outer : second_outer},
            .destination = {names.carrier_dut, names.vxlan_port},
        };
    }
    return plan;
}

Result<MeasuredCell> NatBench::measure(const RaceCell& what, const pairs::PairPlan& plan,
                                       Look look) {
    Run done = TRY(run(what, plan, look));
    const judge::PairReport& report = done.report;
    const join::DutRecord& dut = done.dut;
    MeasuredCell cell{
        .what = what,
        .seen = {.objections = objections_of(done.plan, report, dut.log, what.delay, look),
                 .found = join::join_pairs(done.plan, report, dut, what.delay),
                 .clash_resolve = dut.counter("clash_resolve"),
                 .insert_failed = dut.counter("insert_failed"),
                 .drop = dut.counter("drop"),
                 .early_drop = dut.counter("early_drop"),
                 .table = dut.table,
                 .untraced = dut.untraced,
                 .not_followed = dut.own.not_followed,
                 .answer_p50_ns = report.latency.p50_ns,
                 .skew_p50_ns = report.departures.skew_p50_ns,
                 .late_departures = report.departures.late,
                 .tester_lost = report.tester_lost,
                 .attempts = done.attempts,
                 .offered = done.plan.pairs_per_second}};
    for (const drops::Outage& outage : dut.outages) {
        cell.seen.outages.push_back(outage.device);
    }
    if (look == Look::kAtLoad) {
        tell_count(
            cell.seen.objections, done.load.undelivered,
            "the tester's ports did not take {} frames in time (tx_dropped at the DUT's end)");
        cell.seen.load = done.load;
        cell.seen.load->line_rate = TRY(line_rate(done.plan));
        cell.seen.load->disturbances = report.disturbances;
    }
    if (!cell.seen.found.clashed.empty()) {
        cell.timeline = tell(done, cell.seen.found.clashed.front());
    }
    keep_evidence_of(done, cell);
    return cell;
}

Result<NatBench::Run> NatBench::run(const RaceCell& what, const pairs::PairPlan& plan, Look look) {
    Run run{.plan = plan};
    const bool at_load = look == Look::kAtLoad;
    run.plan.pairs_per_second =
        at_load ? plan.pairs_per_second : std::min(plan.pairs_per_second, load_);
    run.plan.drain = look == Look::kRaceAlone ? 20ms : 300ms;
    run.plan.warm_up = plan.warm_up && !at_load;
    run.plan.least_read = at_load ? kReadAtLoad : plan.least_read;
    run.capture = evidence_path(context_.options.out_dir, what.id + ".pcapng");
    for (;; ++run.attempts) {
        TRY(record(what, look, run));
        // Where the load was looked for, more of it than the DUT carries now is none of its faults.
        const bool looked_for = !lab_->is_of_this_machine() && !at_load;
        const bool overloaded =
            looked_for &&
            run.report.latency.p50_ns > std::chrono::nanoseconds(what.delay).count() + kStarvedNs;
        const bool sound = run.report.tester_lost == 0 && run.report.objections.empty() &&
                           !overloaded && !starved(run.report, what.delay) &&
                           (!at_load || (run.load.offered() && run.load.undelivered == 0));
        if (sound || run.attempts == kMostAttempts) {
            return run;
        }
        run.plan.pairs_per_second /= at_load ? 1 : 2;
        if (looked_for) {
            load_ = std::min(load_, run.plan.pairs_per_second);  // the next cell's too
        }
        std::this_thread::sleep_for(kPauseBetweenAttempts);
    }
}

Status NatBench::record(const RaceCell& what, Look look, Run& run) {
    const traffic::ResponderPlan responder = answering(what.delay);
    // Names of its own for each run: an answer to an earlier one's query is none to this one's.
    run.plan.suffix = fmt::format("r{}.pathproof.test", runs_++);
    if (!run.capture.empty()) {
        std::error_code none;
        std::filesystem::remove(run.capture, none);
    }
    TRY(dut_->conntrack_flush());
    const auto before = TRY(dut_->conntrack_stats());
    const bool at_load = look == Look::kAtLoad;
    const bool whole = look != Look::kRaceAlone;
    TRY(dut_->start_events({.protocol = IPPROTO_UDP, .brief = at_load}));
    if (whole) {
        TRY(dut_->start_path_watch());
        TRY(dut_->start_fate({.flows = flows(), .only_drops = true}));
    }
    agent::CounterSet counted;
    agent::CpuUse used;
    if (at_load) {
        counted = TRY(dut_->counters());
        used = TRY(dut_->cpu_use(names().dut_client_devices[0]));
    }
    const auto began = std::chrono::steady_clock::now();
    auto report = tester_->run_pairs(run.plan, responder, run.capture);
    if (at_load && report) {
        TRY(note_load(run, *report, used, counted,
                      std::chrono::duration<double>(std::chrono::steady_clock::now() - began)));
    }
    const auto after = dut_->conntrack_stats();
    const auto table = dut_->conntrack_table();
    auto seen = whole ? dut_->stop_path_watch()
                      : Result<agent::PathEvents>({.untraced = "not asked for in this cell"});
    const auto fates = whole ? dut_->stop_fate()
                             : Result<fate::Fates>({.not_followed = "not asked for in this cell"});
    // Every entry that still lives is destroyed now, the hidden ones among them: the log then names
    // them all.
    auto events = dut_->finish_events(whole ? 20ms : 0ms);
    TRY(first_error(report, after, table, seen, events));
    run.load.overruns = events->log.overruns;
    run.report = std::move(*report);
    run.dut = {.log = std::move(events->log),
               .stats = netfilter::delta(before, *after),
               .table = *table,
               .flushed_ns = events->flushed_ns,
               .drops = std::move(seen->drops),
               .untraced = std::move(seen->untraced),
               .own = join::own_drops(fates),
               .outages = {},
               .backlog = seen->backlog,
               .rings = std::move(run.rings),
               .began_ns = seen->began_ns};
    const std::set<std::string> path{names().dut_client_devices[0], names().dut_client_devices[1],
                                     names().dut_server_device, names().vxlan};
    for (const drops::Outage& outage : seen->outages) {
        if (path.contains(outage.device)) {
            run.dut.outages.push_back(outage);
        }
    }
    return {};
}

// Frames that the DUT's devices could not transmit. Between two ends of a veth pair that is the ring of the other
// end, which the tester's port did not empty in time.
std::uint64_t NatBench::not_transmitted(const agent::CounterSet& grown) const {
    std::uint64_t lost = 0;
    for (const std::string& device :
         std::set<std::string>{names().dut_client_devices[0], names().dut_client_devices[1],
                               names().dut_server_device}) {
        lost += value_in(grown, device + ".tx_dropped");
    }
    return lost;
}

// The run's load, and what the DUT's host counted meanwhile.
Status NatBench::note_load(Run& run, const judge::PairReport& report, const agent::CpuUse& before,
                           const agent::CounterSet& counted,
                           std::chrono::duration<double> lasting) {
    const auto after = TRY(dut_->cpu_use(names().dut_client_devices[0]));
    const auto grown = agent::delta(counted, TRY(dut_->counters()));
    run.load = {.asked = run.plan.pairs_per_second,
                .sent = measure::pairs_per_second(report),
                .cpus = after.cpus,
                .busy = (after.busy_seconds - before.busy_seconds) / lasting.count(),
                .softirq = (after.softirq_seconds - before.softirq_seconds) / lasting.count(),
                .shares_cpus = lab_->is_of_this_machine(),
                .disturbances = {}};
    run.rings.clear();
    for (const std::string& device : {names().dut_client_devices[0], names().dut_client_devices[1],
                                      names().dut_server_device}) {
        for (const char* counter : {"rx_missed_errors", "rx_fifo_errors", "rx_over_errors"}) {
            if (const std::uint64_t lost = value_in(grown, device + "." + counter); lost != 0) {
                run.rings[fmt::format("the receive ring of {} ({})", device, counter)] = lost;
            }
        }
    }
    if (const std::uint64_t lost = not_transmitted(grown); lost != 0) {
        if (lab_->is_of_this_machine()) {
            run.load.undelivered = lost;
        } else {
            run.rings["the transmit queues of the DUT's devices (tx_dropped)"] = lost;
        }
    }
    // gro_cells_receive() tells no reason for what finds the queue of its CPU full.
    if (const std::uint64_t lost = value_in(grown, names().vxlan + ".rx_dropped"); lost != 0) {
        run.rings["the queue of the vxlan device (rx_dropped)"] = lost;
    }
    return {};
}

// The queries and their answers, before DNAT and behind it. By addresses: where a frame comes in its ports may
// not be read yet. They are looked at where they are dropped alone, as a watch of their whole way would take
// time from the race.
std::vector<fate::Flow> NatBench::flows() const {
    std::vector<fate::Flow> flows{
        {.protocol = IPPROTO_UDP, .destination = names().service.address}};
    // Those that a cell's service has; each filter costs the kernel's verifier time.
    const std::size_t backends = std::min<std::size_t>(lab::kUsualBackends, names().servers.size());
    for (std::size_t i = 0; i < backends; ++i) {
        flows.push_back({.protocol = IPPROTO_UDP, .destination = names().servers[i]});
    }
    return flows;
}

traffic::ResponderPlan NatBench::answering(std::chrono::milliseconds delay) const {
    traffic::ResponderPlan responder;
    responder.port = kServerPort;
    responder.seed = context_.options.seed;
    responder.rules.push_back(
        {.suffix = "",
         .addresses = {frame::IpAddress::v4(0xCB007101), *frame::parse_ip("2001:db8::1")},
         .cname = "",
         .delay = delay});
    return responder;
}

Result<MapPoint> NatBench::point(const pairs::PairPlan& asked) {
    pairs::PairPlan plan = asked;
    plan.drain = 100ms;  // a responder that had to wait for its CPU is no loss
    plan.suffix = fmt::format("r{}.pathproof.test", runs_++);
    MapPoint point{.offered = plan.pairs_per_second, .asked_ns = plan.skew.count()};
    // More than enough for the queries of the names and types of a run, nothing of longer frames.
    const auto most = static_cast<std::uint32_t>(4 * plan.pairs + 1000);
    const auto listener = process::in_netns(names().tester, [&] {
        return agent::FrameListener::start(
            {.device = names().server_port, .most_frames = most, .most_bytes = 256});
    });
    point.untimed = listener ? "" : listener.error().message;
    TRY(dut_->conntrack_flush());
    const auto before = TRY(dut_->conntrack_stats());
    const auto report = TRY(tester_->run_pairs(plan, answering(0ms)));
    const auto counted = netfilter::delta(before, TRY(dut_->conntrack_stats()));
    point.clash_resolve = netfilter::total(counted, "clash_resolve");
    point.insert_failed = netfilter::total(counted, "insert_failed");
    take(report, point);
    if (listener) {
        take((*listener)->stop(), plan.pairs, point);
    }
    return point;
}

Status NatBench::start_watch() {
    counted_ = TRY(dut_->counters());
    return dut_->start_path_watch();
}

Status NatBench::stop_watch(MapWay& way) {
    const auto watched = TRY(dut_->stop_path_watch());
    const auto counted = agent::delta(counted_, TRY(dut_->counters()));
    // gro_cells_receive() tells no reason for what finds the queue of its CPU full.
    way.take_drops(watched, value_in(counted, names().vxlan + ".rx_dropped"));
    return {};
}

verdict::Proof NatBench::tell(const Run& run, std::uint32_t pair) const {
    const judge::QueryRecord* halves = &run.report.records[2 * pair];
    const auto since = [](std::int64_t ns) {
        return fmt::format("{:+.1f} us", static_cast<double>(ns) / 1e3);
    };
    const auto type = [&](const judge::QueryRecord& half) {
        return run.plan.members[half.member].qtype == kTypeA ? "A" : "AAAA";
    };
    verdict::Proof proof{.title = fmt::format("Pair {}, packet by packet and entry by entry", pair),
                         .columns = {"when", "of", "what", "tuple"}};
    const auto add = [&](const judge::QueryRecord& half, std::int64_t at_ns,
                         const std::string& what, const frame::Endpoint& from,
                         const frame::Endpoint& to) {
        proof.rows.push_back({at_ns < 0 ? "" : since(at_ns - halves[0].sent_ns), type(half), what,
                              fmt::format("{} > {}", to_string(from), to_string(to))});
    };
    for (const judge::QueryRecord* half : {halves, halves + 1}) {
        add(*half, half->sent_ns, "left the tester", run.plan.client(pair, half->member),
            run.plan.service);
    }
    bool told_hidden = false;  // it has several events, and no NEW
    for (const netfilter::Event& event : run.dut.log.events) {
        const netfilter::Entry& entry = event.entry;
        if (entry.original.source != run.plan.client(pair, 0)) {
            continue;
        }
        const bool hidden = (entry.status & netfilter::status::kNatClash) != 0;
        if (hidden ? told_hidden : event.kind != netfilter::EventKind::kNew) {
            continue;
        }
        told_hidden |= hidden;
        // Whose it is tells the backend that its query came to.
        const auto* owner = std::find_if(halves, halves + 2, [&](const judge::QueryRecord& half) {
            return half.server == entry.reply.source;
        });
        proof.rows.push_back(
            {"", owner == halves + 2 ? "" : type(*owner),
             hidden ? "conntrack: a hidden entry of the same tuple (NAT_CLASH)"
                    : "conntrack: an entry",
             fmt::format("{} > {}, reply {} > {}", to_string(entry.original.source),
                         to_string(entry.original.destination), to_string(entry.reply.source),
                         to_string(entry.reply.destination))});
    }
    for (const judge::QueryRecord* half : {halves, halves + 1}) {
        add(*half, -1, "came to the server", half->seen_client, half->server);
    }
    for (const judge::QueryRecord* half : {halves, halves + 1}) {
        add(*half, half->answered_ns, fmt::format("answer: {}", judge::name(half->state)),
            half->answer_source, run.plan.client(pair, half->member));
    }
    proof.conclusion = fmt::format(
        "The two queries left {:.1f} us apart. Both went past conntrack's lookup before either "
        "entry was confirmed, so that one tuple has two entries.",
        static_cast<double>(std::abs(halves[1].sent_ns - halves[0].sent_ns)) / 1e3);
    return proof;
}

// Of a cell that is not clean: conntrack's events of the pairs that prove it (of the first pairs
// where none of them is known), the counters per CPU, and the frames that the tester kept.
void NatBench::keep_evidence_of(const Run& run, MeasuredCell& cell) const {
    const join::PairFindings& found = cell.seen.found;
    if (conclude(cell.what, cell.seen).verdict == verdict::CellVerdict::kPass &&
        !shows_race(cell.what, cell.seen)) {
        return;
    }
    std::set<std::uint32_t> pairs(found.clashed.begin(), found.clashed.end());
    for (const join::QueryStory& story : found.stories) {
        pairs.insert(story.pair);
    }
    const bool told = !pairs.empty();
    for (std::uint32_t pair = 0;
         !told && pair < std::min<std::uint64_t>(run.plan.pairs, join::PairFindings::kStories);
         ++pair) {
        pairs.insert(pair);
    }
    std::set<frame::Endpoint> clients;
    for (const std::uint32_t pair : pairs) {
        clients.insert({run.plan.client(pair, 0), run.plan.client(pair, 1)});
    }
    std::string events;
    for (const netfilter::Event& event : run.dut.log.events) {
        if (clients.contains(event.entry.original.source) ||
            clients.contains(event.entry.original.destination)) {
            events += process::to_text(nlohmann::json(event)) + "\n";
        }
    }
    const std::string which = fmt::format("conntrack events of {} of {} pairs{} (JSON lines)",
                                          pairs.size(), found.with(0),
                                          told ? " that clashed or had a query harmed"
                                               : ", the first: none is known to have a part in it");
    const std::string& out = context_.options.out_dir;
    keep_evidence(out, cell.what.id + ".events.json", which, events, cell.evidence);
    keep_evidence(out, cell.what.id + ".counters.txt",
                  "conntrack counters per CPU, as deltas over the cell", stats_text(run.dut.stats),
                  cell.evidence);
    const std::size_t kept = run.report.misdelivered_frames.size();
    const std::uint64_t all = found.count(judge::QueryState::kWrongSource);
    if (!run.capture.empty() && kept + run.report.bad_frames.size() != 0) {
        cell.evidence.push_back(
            {"evidence/" + cell.what.id + ".pcapng",
             fmt::format("{} answers from another address than the one asked{}, and {} frames with "
                         "a wrong checksum (pcapng)",
                         kept, kept < all ? fmt::format(", the first of {}", all) : "",
                         run.report.bad_frames.size())});
    }
}

void add_cell(Context& context, std::vector<MeasuredCell>& cells, MeasuredCell cell) {
    verdict::Cell made = conclude(cell.what, cell.seen);
    made.evidence = cell.evidence;
    context.measured.add(made);
    cells.push_back(std::move(cell));
}

Status NatBench::describe() {
    if (const lab::RoleFacts facts = lab_->facts(); !facts.empty()) {
        context_.measured.know(role_facts(facts, "What the NAT box is made of"));
    }
    if (!lab_->is_of_this_machine()) {
        const auto of_host = TRY(host_facts(*dut_));
        for (const verdict::FactGroup& each : of_host) {
            context_.measured.know(each);
        }
    }
    for (const std::string& device : {names().dut_client_devices[0], names().dut_server_device}) {
        TRY(know_device(context_.measured, *dut_, device, "DUT device " + device + " (NAT box)"));
    }
    context_.measured.know(port_facts(tester_->ports(), "Tester ports of the NAT box lab"));
    return {};
}

}  // namespace pathproof::scenario
