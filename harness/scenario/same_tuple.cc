// Two DNS queries leave one socket together: two packets, one 5-tuple, and the service's rules choose a backend for
// each. Three ways make the two packets meet inside conntrack before either entry is confirmed.

#include "harness/scenario/measures.h"
#include "harness/scenario/race_experiments.h"
#include "harness/verdict/interval.h"

namespace pathproof::scenario {
namespace {

using verdict::Bar;
using verdict::CellVerdict;

constexpr std::uint64_t kPairs = 5000;
constexpr std::uint64_t kCalibrationPairs = 200;
// All of so many ports steer to one CPU of two once in 2048 boots.
constexpr std::uint16_t kFirstOuter = 5000;
constexpr std::uint16_t kLastOuter = 5011;
constexpr const char* kListReceiveSysctl = "net.core.gro_normal_batch";

struct Case {
    const char* id;
    const char* label;
    const char* way;       // toggle
    const char* setting;   // toggle
    bool control;
};

std::string mask_of(int cpu) { return fmt::format("{:x}", 1u << cpu); }

class SameTuple {
  public:
    SameTuple(Context& context, NatBench& bench)
        : context_(context), bench_(bench), pairs_(context.options.pairs ? context.options.pairs : kPairs) {}

    Result<RaceExperiment> run();

  private:
    Status measure(const Case& which, const traffic::PairPlan& plan);
    Status two_ports();
    Status carrier();
    Status list_receive();
    Status cure();
    struct OuterPorts {
        std::uint16_t first = 0;
        std::uint16_t second = 0;
    };
    Result<OuterPorts> ports_of_two_cpus();
    void conclude();

    Context& context_;
    NatBench& bench_;
    const std::uint64_t pairs_;
    RaceExperiment experiment_;
    verdict::Chart chart_{.title = "Pairs of one 5-tuple that met the race", .unit = "%", .maximum = 100, .bars = {}};
    std::uint64_t raced_ = 0;
    std::uint64_t lost_ = 0;
    bool control_raced_ = false;
    bool error_ = false;
};

Status SameTuple::measure(const Case& which, const traffic::PairPlan& plan) {
    context_.progress.step(which.id);
    const auto outcome = bench_.run(plan, std::chrono::nanoseconds(0), which.control ? "" : which.id);
    if (!outcome) {
        return pass_on(outcome.error());
    }
    verdict::Cell cell = race_cell(
        which.id, {{"experiment", "same 5-tuple"}, {"way", which.way}, {"setting", which.setting}}, *outcome);
    const std::uint64_t raced = outcome->counter("clash_resolve") + outcome->counter("insert_failed");
    const join::PairFindings& found = outcome->findings;
    if (cell.verdict == CellVerdict::kPass && raced != 0) {
        cell.verdict = CellVerdict::kFail;
        cell.cause = "same-tuple-race";
        cell.reason = fmt::format(
            "{} of pairs raced; {} clashes needed a hidden entry, {} queries were lost, {} misdelivered",
            percent(raced, found.pairs), found.hidden_entries, found.lost, found.misdelivered);
    }
    if (cell.verdict == CellVerdict::kFail) {
        if (const Status kept = keep_race_evidence(context_, *outcome, cell); !kept) {
            return kept;
        }
    }
    error_ |= cell.verdict == CellVerdict::kError;
    experiment_.unexplained += found.unexplained + found.two_backends_without_hidden;
    chart_.bars.push_back(verdict::share_bar(which.label, std::min(raced, found.pairs), found.pairs,
                                    raced == 0 ? Bar::Kind::kGood : Bar::Kind::kBad));
    if (which.control) {
        control_raced_ |= raced != 0;
        experiment_.controls.push_back(std::move(cell));
    } else {
        raced_ += raced;
        lost_ += found.lost;
        experiment_.cells.push_back(std::move(cell));
    }
    return {};
}

Status SameTuple::two_ports() {
    const traffic::PairPlan plan = bench_.same_tuple_plan(pairs_);
    if (const Status done = measure({"same-tuple.two-cpus", "two ports, two CPUs", "two ports on two CPUs", "at once", false}, plan);
        !done) {
        return done;
    }
    traffic::PairPlan in_turn = plan;
    in_turn.departure = traffic::Departure::kOneBurst;
    in_turn.members[1].port = 0;
    in_turn.members[1].source_mac = plan.members[0].source_mac;
    in_turn.members[1].destination_mac = plan.members[0].destination_mac;
    return measure({"control.same-tuple.one-cpu", "control: one port, one CPU, plain veth", "one port on one CPU",
                    "one burst, no list receive", true},
                   in_turn);
}

// Which CPU an outer port steers to depends on the kernel's hash seed, so the ports are chosen by trying. The order
// matters: the sender's CPU takes its own packets at once and another CPU's wait for an interrupt, so pairs race whose
// first packet goes to the other CPU.
Result<SameTuple::OuterPorts> SameTuple::ports_of_two_cpus() {
    OuterPorts best{kFirstOuter, kFirstOuter + 1};
    std::uint64_t most = 0;
    for (std::uint16_t other = kFirstOuter + 1; other <= kLastOuter && most < kCalibrationPairs / 10; ++other) {
        for (const OuterPorts& ports : {OuterPorts{kFirstOuter, other}, OuterPorts{other, kFirstOuter}}) {
            const auto outcome = bench_.run(bench_.carried_plan(kCalibrationPairs, ports.first, ports.second), {});
            if (!outcome) {
                return pass_on(outcome.error());
            }
            const std::uint64_t raced = outcome->counter("clash_resolve");
            if (raced > most) {
                most = raced;
                best = ports;
            }
        }
    }
    return best;
}

// One burst of one port, as a tunnel's peer sends it: the outer source ports differ, the inner 5-tuple does not.
Status SameTuple::carrier() {
    const std::string& underlay = bench_.names().dut_client_devices[0];
    // Away from the sender's CPU: there both packets wait in one backlog, whatever their outer ports.
    if (const Status steered = bench_.dut().set_rps(underlay, mask_of(context_.options.cpus.back())); !steered) {
        return steered;
    }
    if (const Status done = measure({"same-tuple.vxlan-two-outer-ports", "VXLAN, two outer ports", "VXLAN carrier",
                                     "two outer source ports, steered to one CPU", false},
                                    bench_.carried_plan(pairs_, kFirstOuter, kFirstOuter + 1));
        !done) {
        return done;
    }
    const std::string every_cpu = fmt::format("{:x}", (1u << context_.options.cpus.back() << 1) - 1);
    if (const Status steered = bench_.dut().set_rps(underlay, every_cpu); !steered) {
        return steered;
    }
    // With lists of one, only two CPUs can make a pair race.
    if (const Status off = context_.journal.set_sysctl(kListReceiveSysctl, "1"); !off) {
        return off;
    }
    const auto ports = ports_of_two_cpus();
    if (!ports) {
        return pass_on(ports.error());
    }
    const traffic::PairPlan plan = bench_.carried_plan(pairs_, ports->first, ports->second);
    const Status across = measure({"same-tuple.vxlan-two-cpus", "VXLAN, two outer ports, two CPUs", "VXLAN carrier",
                                   "two outer source ports, two CPUs, net.core.gro_normal_batch=1", false},
                                  plan);
    if (const Status restored = context_.journal.restore_sysctl(kListReceiveSysctl); !restored) {
        return restored;
    }
    if (!across) {
        return across;
    }
    if (const Status unsteered = bench_.dut().set_rps(underlay, "0"); !unsteered) {
        return unsteered;
    }
    return measure({"control.same-tuple.vxlan-no-steering", "control: VXLAN, no steering", "VXLAN carrier",
                    "two outer source ports, no receive packet steering", true},
                   plan);
}

Status SameTuple::list_receive() {
    const std::string& underlay = bench_.names().dut_client_devices[0];
    if (const Status steered = bench_.dut().set_rps(underlay, mask_of(context_.options.cpus.back())); !steered) {
        return steered;
    }
    const traffic::PairPlan plan = bench_.carried_plan(pairs_, kFirstOuter, kFirstOuter);
    if (const Status done = measure({"same-tuple.list-receive", "one CPU, list receive", "list receive on one CPU",
                                     "net.core.gro_normal_batch as found", false},
                                    plan);
        !done) {
        return done;
    }
    if (const Status off = context_.journal.set_sysctl(kListReceiveSysctl, "1"); !off) {
        return off;
    }
    const Status done = measure({"control.same-tuple.list-of-one", "control: one CPU, lists of one",
                                 "list receive on one CPU", "net.core.gro_normal_batch=1", true},
                                plan);
    if (const Status restored = context_.journal.restore_sysctl(kListReceiveSysctl); !restored) {
        return restored;
    }
    if (!done) {
        return done;
    }
    return bench_.dut().set_rps(underlay, "0");
}

// What resolv.conf's single-request does: the second query leaves when the first has its answer.
Status SameTuple::cure() {
    traffic::PairPlan plan = bench_.same_tuple_plan(std::min<std::uint64_t>(pairs_, 1000));
    plan.departure = traffic::Departure::kInTurn;
    plan.skew = std::chrono::milliseconds(2);
    plan.pairs_per_second = 200;
    const bool raced_before = control_raced_;
    if (const Status done = measure({"cure.single-request", "cure: single-request", "one port after its answer",
                                     "options single-request: AAAA leaves after A was answered", true},
                                    plan);
        !done) {
        return done;
    }
    experiment_.cure_shown = experiment_.controls.back().verdict == CellVerdict::kPass;
    control_raced_ = raced_before || !experiment_.cure_shown;
    return {};
}

void SameTuple::conclude() {
    experiment_.reproduced = raced_ != 0 && !control_raced_ && !error_;
    experiment_.charts.push_back(chart_);
    if (!experiment_.reproduced) {
        return;
    }
    experiment_.headline = fmt::format(
        "Same 5-tuple: {:.1f} % of A/AAAA pairs from two CPUs met inside conntrack; the kernel resolved every clash in "
        "time and {} queries were lost.",
        chart_.bars.front().value, lost_);
    experiment_.cause =
        "A and AAAA leave one socket together. Both packets pass conntrack's lookup before either entry is confirmed, so "
        "each gets an entry and, by the Service's random rule, a backend of its own. The second to be confirmed clashes.";
    experiment_.cure =
        "`options single-request` (shown here) or `single-request-reopen` in resolv.conf; use-vc, one address family, or "
        "NOTRACK with a node-local resolver";
    experiment_.explanation.push_back(
        "It does not take two CPUs: a driver that hands packets up in lists (napi_gro_receive, here gro_cells of the "
        "vxlan device) sends both packets of a pair through PREROUTING before the first is confirmed. With "
        "net.core.gro_normal_batch=1 on the same CPU and the same traffic the race is gone.");
}

Result<RaceExperiment> SameTuple::run() {
    if (const Status ready = bench_.configure({.backends = 2}); !ready) {
        return pass_on(ready.error());
    }
    for (Status (SameTuple::*part)() :
         {&SameTuple::two_ports, &SameTuple::carrier, &SameTuple::list_receive, &SameTuple::cure}) {
        if (const Status done = (this->*part)(); !done) {
            return pass_on(done.error());
        }
    }
    conclude();
    return std::move(experiment_);
}

}  // namespace

Result<RaceExperiment> run_same_tuple(Context& context, NatBench& bench) {
    return SameTuple(context, bench).run();
}

}  // namespace pathproof::scenario
