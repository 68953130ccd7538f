// Two DNS queries leave one socket together: two packets, one 5-tuple, and the service's rules
// choose a backend for each. Three ways make the two packets meet inside conntrack before either
// entry is confirmed.

#include <algorithm>

#include "harness/scenario/nat_bench.h"

namespace pathproof::scenario {
namespace {

using Role = RaceCell::Role;

constexpr std::uint64_t kPairs = 5000;
constexpr std::uint64_t kFewPairs = 1000;
constexpr std::uint64_t kCalibrationPairs = 200;
// All of so many ports steer to one CPU of two once in 2048 boots.
constexpr std::uint16_t kFirstOuter = 5000;
constexpr std::uint16_t kLastOuter = 5011;
constexpr const char* kListReceiveSysctl = "net.core.gro_normal_batch";

struct OuterPorts {
    std::uint16_t first = kFirstOuter;
    std::uint16_t second = kFirstOuter + 1;
};

enum class Way { kTwoPorts, kOnePort, kCarried, kCarriedToTwoCpus, kOneOuterPort, kInTurn };
// Where receive packet steering sends what comes on the underlay.
enum class Steering { kLeft, kOff, kLastCpu, kAllCpus };

struct Case {
    RaceCell cell;
    Way way = Way::kTwoPorts;
    Steering steering = Steering::kLeft;
    bool lists_of_one = false;  // net.core.gro_normal_batch=1
};

std::vector<Case> cases() {
    constexpr const char* kPort = "two ports on two CPUs";
    constexpr const char* kCarrier = "VXLAN carrier";
    constexpr const char* kList = "list receive on one CPU";
    return {
        {{.id = "same-tuple.two-cpus",
          .label = "two ports, two CPUs",
          .way = kPort,
          .setting = "at once",
          .at_once = true}},
        {{.id = "control.same-tuple.one-cpu",
          .label = "control: one port, one CPU, plain veth",
          .role = Role::kControl,
          .way = "one port on one CPU",
          .setting = "one burst, no list receive"},
         Way::kOnePort},
        // Away from the sender's CPU: there both packets wait in one backlog, whatever their ports.
        {{.id = "same-tuple.vxlan-two-outer-ports",
          .label = "VXLAN, two outer ports",
          .way = kCarrier,
          .setting = "two outer source ports, steered to one CPU"},
         Way::kCarried,
         Steering::kLastCpu},
        // With lists of one, only two CPUs can make a pair race.
        {{.id = "same-tuple.vxlan-two-cpus",
          .label = "VXLAN, two outer ports, two CPUs",
          .way = kCarrier,
          .setting = "two outer source ports, two CPUs, net.core.gro_normal_batch=1"},
         Way::kCarriedToTwoCpus,
         Steering::kAllCpus,
         true},
        {{.id = "control.same-tuple.vxlan-no-steering",
          .label = "control: VXLAN, no steering",
          .role = Role::kControl,
          .way = kCarrier,
          .setting = "two outer source ports, no receive packet steering"},
         Way::kCarried,
         Steering::kOff},
        {{.id = "same-tuple.list-receive",
          .label = "one CPU, list receive",
          .way = kList,
          .setting = "net.core.gro_normal_batch as found"},
         Way::kOneOuterPort,
         Steering::kLastCpu},
        {{.id = "control.same-tuple.list-of-one",
          .label = "control: one CPU, lists of one",
          .role = Role::kControl,
          .way = kList,
          .setting = "net.core.gro_normal_batch=1"},
         Way::kOneOuterPort,
         Steering::kLastCpu,
         true},
        // What resolv.conf's single-request does: the second query leaves when the first has its
        // answer.
        {{.id = "cure.single-request",
          .label = "cure: single-request",
          .role = Role::kCure,
          .way = "one port after its answer",
          .setting = "options single-request: AAAA leaves after A was answered"},
         Way::kInTurn},
        {{.id = "same-tuple.after-cure",
          .label = "after the cure",
          .way = kPort,
          .setting = "at once, without the cure again",
          .again = true,
          .at_once = true}},
    };
}

class SameTuple {
  public:
    SameTuple(Context& context, NatBench& bench)
        : context_(context), bench_(bench), pairs_(context.options.number("pairs", kPairs)) {}

    Result<std::vector<MeasuredCell>> run();

  private:
    Result<MeasuredCell> measure(const Case& which);
    Result<traffic::PairPlan> plan_of(const Case& which, std::vector<std::string>& hindrances);
    Result<OuterPorts> ports_of_two_cpus(std::vector<std::string>& hindrances);
    std::string mask_of(Steering steering) const;

    Context& context_;
    NatBench& bench_;
    const std::uint64_t pairs_;
    OuterPorts ports_;  // of two CPUs, once they are found
};

std::string SameTuple::mask_of(Steering steering) const {
    const unsigned last = 1u << bench_.last_cpu();
    return fmt::format("{:x}", steering == Steering::kLastCpu   ? last
                               : steering == Steering::kAllCpus ? 2 * last - 1
                                                                : 0);
}

// Which CPU an outer port steers to depends on the kernel's hash seed, so the ports are chosen by
// trying. The order matters: the sender's CPU takes its own packets at once and another CPU's wait
// for an interrupt, so pairs race whose first packet goes to the other CPU.
Result<OuterPorts> SameTuple::ports_of_two_cpus(std::vector<std::string>& hindrances) {
    OuterPorts best;
    std::uint64_t most = 0;
    unsigned tried = 0;
    for (std::uint16_t other = kFirstOuter + 1;
         other <= kLastOuter && most < kCalibrationPairs / 10; ++other) {
        for (const OuterPorts& ports :
             {OuterPorts{kFirstOuter, other}, OuterPorts{other, kFirstOuter}}) {
            const auto trial = TRY(
                bench_.measure({.id = "calibration"},
                               bench_.carried_plan(kCalibrationPairs, ports.first, ports.second)));
            ++tried;
            if (trial.seen.clash_resolve > most) {
                most = trial.seen.clash_resolve;
                best = ports;
            }
        }
    }
    if (most == 0) {
        hindrances.push_back(fmt::format(
            "with none of {} pairs of outer ports two packets met: two CPUs were not found",
            tried));
    }
    return best;
}

Result<traffic::PairPlan> SameTuple::plan_of(const Case& which,
                                             std::vector<std::string>& hindrances) {
    traffic::PairPlan plan =
        bench_.same_tuple_plan(which.cell.again ? std::min(pairs_, kFewPairs) : pairs_);
    switch (which.way) {
        case Way::kTwoPorts: return plan;
        case Way::kOnePort:
            plan.departure = traffic::Departure::kOneBurst;
            plan.members[1].port = 0;
            plan.members[1].source_mac = plan.members[0].source_mac;
            plan.members[1].destination_mac = plan.members[0].destination_mac;
            return plan;
        case Way::kCarriedToTwoCpus: {
            ports_ = TRY(ports_of_two_cpus(hindrances));
            break;
        }
        case Way::kInTurn:
            plan.pairs = std::min(pairs_, kFewPairs);
            plan.departure = traffic::Departure::kInTurn;
            plan.skew = std::chrono::milliseconds(2);
            plan.pairs_per_second = 400;
            return plan;
        case Way::kOneOuterPort: return bench_.carried_plan(pairs_, kFirstOuter, kFirstOuter);
        case Way::kCarried: break;
    }
    return bench_.carried_plan(pairs_, ports_.first, ports_.second);
}

Result<MeasuredCell> SameTuple::measure(const Case& which) {
    const std::string& underlay = bench_.names().dut_client_devices[0];
    const std::string mask = mask_of(which.steering);
    if (which.steering != Steering::kLeft) {
        TRY(bench_.steer(underlay, mask));
    }
    if (which.lists_of_one) {
        TRY(bench_.set_sysctl(kListReceiveSysctl, "1"));
    }
    std::vector<std::string> hindrances;
    const auto plan = plan_of(which, hindrances);
    auto measured = plan ? bench_.measure(which.cell, *plan) : pass_on(plan.error());
    if (which.lists_of_one) {
        TRY(bench_.set_sysctl(kListReceiveSysctl, ""));
    }
    if (which.steering != Steering::kLeft && measured) {
        const auto found = TRY(bench_.steer(underlay, "0"));
        if (std::strtoul(found.c_str(), nullptr, 16) != std::strtoul(mask.c_str(), nullptr, 16)) {
            hindrances.push_back(
                fmt::format("the RPS mask of {} was set to {} and found as {} after the run",
                            underlay, mask, found));
        }
    }
    if (measured) {
        measured->seen.hindrances = std::move(hindrances);
    }
    return measured;
}

Result<std::vector<MeasuredCell>> SameTuple::run() {
    std::vector<MeasuredCell> cells;
    TRY(bench_.configure({.backends = 2}));
    for (const Case& which : cases()) {
        if (!asked_for(context_.options, which.cell.id)) {
            continue;
        }
        context_.progress.step(which.cell.id);
        auto measured = TRY(measure(which));
        add_cell(context_, cells, std::move(measured));
    }
    return cells;
}

}  // namespace

std::vector<RaceCell> same_tuple_cells() {
    std::vector<RaceCell> cells;
    for (const Case& which : cases()) {
        cells.push_back(which.cell);
    }
    return cells;
}

Result<std::vector<MeasuredCell>> run_same_tuple(Context& context, NatBench& bench) {
    return SameTuple(context, bench).run();
}

}  // namespace pathproof::scenario
