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
// Limit of a cell's duration at a load that was found, unless the user gave the number of pairs.
constexpr double kMostSecondsOfCell = 3;
constexpr unsigned kMostAttempts = 3;
constexpr auto kPauseBetweenAttempts = 500ms;

// Queries that leave, and answers that come, by so much later than they should: the tester was
// short of CPU time, and what is late says nothing of the path.
constexpr std::int64_t kStarvedNs = 100'000'000;

bool starved(const judge::PairReport& report, std::chrono::nanoseconds delay) {
    return report.departures.worst_late_ns > kStarvedNs &&
           report.latency.p50_ns > delay.count() + kStarvedNs;
}

// Reasons why the run is no result: the tester was starved or lost frames, the listener lost
// events, totals do not balance.
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
        // find_load() chose the load: carrying less of it now is no fault of the DUT.
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
    // Only as many servers as a cell's service has backends: each filter costs the kernel's
    // verifier time.
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
        // The backend that a query reached tells whose entry it is.
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

// Keeps the evidence of a cell that is not clean: conntrack's events of the pairs that prove it (of
// the first pairs if no such pair is known), the counters per CPU, and the frames that the tester
// kept.
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
