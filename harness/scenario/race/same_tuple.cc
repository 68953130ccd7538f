// Two DNS queries leave one socket together: two packets, one 5-tuple, and the service's rules
// choose a backend for each. Three ways make the two packets meet inside conntrack before either
// entry is confirmed.

#include <algorithm>

#include "harness/scenario/race/nat_bench.h"
#include "harness/scenario/race/race_load.h"
#include "harness/setting/cures.h"

namespace pathproof::scenario {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kSameTuplePairs = 5000;
constexpr std::uint64_t kFewSameTuplePairs = 1000;
constexpr std::uint64_t kCalibrationPairs = 200;
// All of so many ports steer to one CPU of two once in 2048 boots.
constexpr std::uint16_t kFirstOuter = 5000;
constexpr std::uint16_t kLastOuter = 5011;
// Loads and skews of the map's points.
constexpr double kMapLoads[] = {1000, 4000};  // pairs a second
constexpr double kMostLoad = 1'000'000;
constexpr std::chrono::microseconds kMapSkews[] = {0us,  1us,  2us,   5us,  10us,
                                                   20us, 50us, 100us, 200us};
constexpr double kSecondsOfPoint = 0.25;
constexpr std::uint64_t kMostPairsOfPoint = 1500;
// The second query of a pair leaves before the next pair does.
constexpr double kShareOfPeriod = 0.8;
constexpr std::chrono::seconds kLongestMap(90);

struct OuterPorts {
    std::uint16_t first = kFirstOuter;
    std::uint16_t second = kFirstOuter + 1;
};

enum class Way { kTwoPorts, kOnePort, kCarried, kCarriedToTwoCpus, kOneOuterPort, kInTurn };

bool is_carried(Way way) {
    return way == Way::kCarried || way == Way::kCarriedToTwoCpus || way == Way::kOneOuterPort;
}

// Target of receive packet steering for packets that arrive on the underlay.
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
    std::vector<Case> all = {
        {{.id = "same-tuple.two-cpus",
          .label = "two ports, two CPUs",
          .way = kPort,
          .setting = "at once",
          .at_once = true}},
        // A veth device has no list receive; a NIC's driver has.
        {{.id = "control.same-tuple.one-cpu",
          .label = "control: one port, one CPU",
          .way = "one port on one CPU",
          .setting = "one burst, no list receive (net.core.gro_normal_batch=1)"},
         Way::kOnePort,
         Steering::kLeft,
         true},
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
          .way = kCarrier,
          .setting = "two outer source ports, no receive packet steering, "
                     "net.core.gro_normal_batch=1"},
         Way::kCarried,
         Steering::kOff,
         true},
        {{.id = "same-tuple.list-receive",
          .label = "one CPU, list receive",
          .way = kList,
          .setting = "net.core.gro_normal_batch as found"},
         Way::kOneOuterPort,
         Steering::kLastCpu},
        {{.id = "control.same-tuple.list-of-one",
          .label = "control: one CPU, lists of one",
          .way = kList,
          .setting = "net.core.gro_normal_batch=1"},
         Way::kOneOuterPort,
         Steering::kLastCpu,
         true},
        // Models resolv.conf's single-request: the second query leaves when the first has its
        // answer.
        {{.id = "cure.single-request",
          .label = "cure: single-request",
          .way = "one port after its answer",
          .setting =
              setting::cure("single-request").command + ": AAAA leaves after A was answered"},
         Way::kInTurn},
        {{.id = "same-tuple.after-cure",
          .label = "after the cure",
          .way = kPort,
          .setting = "at once, without the cure again",
          .at_once = true}},
    };
    for (Case& each : all) {
        give_role(each.cell);
    }
    return all;
}

// The map's cases: those that race, and one that does not.
std::vector<Case> map_cases() {
    std::vector<Case> all = cases();
    std::erase_if(all, [](const Case& each) {
        return each.cell.again || each.cell.role == CellRole::kCure ||
               (each.cell.role == CellRole::kControl && each.way != Way::kOnePort);
    });
    for (Case& each : all) {
        const std::size_t race = each.cell.id.find("same-tuple.");
        each.cell.id.replace(race, std::string("same-tuple").size(), "map");
    }
    return all;
}

// The map's cases, at a load.
std::vector<Case> load_cases() {
    std::vector<Case> all = map_cases();
    for (Case& each : all) {
        each.cell.id.replace(each.cell.id.find("map."), std::string("map.").size(), "load.");
    }
    return all;
}

std::vector<RaceCell> cells_of(const std::vector<Case>& cases) {
    std::vector<RaceCell> cells;
    std::ranges::transform(cases, std::back_inserter(cells), &Case::cell);
    return cells;
}

class SameTuple {
  public:
    SameTuple(Context& context, NatBench& bench)
        : context_(context),
          bench_(bench),
          pairs_(context.options.number("pairs", kSameTuplePairs)) {}

    Result<std::vector<MeasuredCell>> run() {
        std::vector<MeasuredCell> cells;
        for (const Case& which : cases()) {
            if (!asked_for(context_.options, which.cell.id) || leaves_out(which)) {
                continue;
            }
            context_.progress.step(which.cell.id);
            auto measured = TRY(measure(which));
            add_cell(context_, cells, std::move(measured));
        }
        return cells;
    }

    Result<RaceMap> map_all() {
        RaceMap map;
        for (const Case& which : map_cases()) {
            if (leaves_out(which)) {
                continue;
            }
            context_.progress.step(which.cell.id);
            MapWay way{.what = which.cell};
            TRY(in_setting(which, way.hindrances, [&] { return this->map(which, way); }));
            map.ways.push_back(std::move(way));
        }
        return map;
    }

    // Runs each way at its own highest load, and the control at that of the first.
    Result<std::vector<LoadWay>> load_all(LoadRunner& runner) {
        std::vector<LoadWay> ways;
        for (const Case& which : load_cases()) {
            if (leaves_out(which)) {
                continue;
            }
            std::vector<std::string> hindrances;
            TRY(in_setting(which, hindrances, [&]() -> Status {
                LoadRunner::Job job{.what = which.cell, .beyond = ways.empty()};
                job.plan = TRY(plan_of(which, hindrances));
                if (which.cell.role == CellRole::kControl && !ways.empty()) {
                    job.load = LoadRunner::load_of(ways.front());
                }
                auto way = TRY(runner.run(job));
                ways.push_back(std::move(way));
                return {};
            }));
            for (MeasuredCell& cell : ways.back().cells) {
                std::ranges::copy(hindrances, std::back_inserter(cell.seen.hindrances));
            }
        }
        return ways;
    }

  private:
    // Returns whether the lab's clients cannot come that way; if so, takes the step out of the
    // progress.
    bool leaves_out(const Case& which) {
        const bool lacks = bench_.names().vxlan.empty() && is_carried(which.way);
        context_.progress.leave_out(lacks ? 1 : 0);
        return lacks;
    }

    Result<MeasuredCell> measure(const Case& which) {
        std::vector<std::string> hindrances;
        std::optional<MeasuredCell> measured;
        TRY(in_setting(which, hindrances, [&]() -> Status {
            const auto plan = TRY(plan_of(which, hindrances));
            measured = TRY(bench_.measure(which.cell, plan));
            return {};
        }));
        measured->seen.hindrances = std::move(hindrances);
        return std::move(*measured);
    }

    // The highest load that is carried whole, then all loads and skews below it.
    Status map(const Case& which, MapWay& way) {
        pairs::PairPlan plan = TRY(plan_of(which, way.hindrances));
        const auto one = [&](double load, std::chrono::nanoseconds skew,
                             std::uint64_t most) -> Result<MapPoint> {
            plan.pairs_per_second = load;
            plan.skew = skew;
            plan.pairs = std::min(most, static_cast<std::uint64_t>(load * kSecondsOfPoint));
            if (is_carried(which.way)) {
                plan.departure =
                    skew.count() == 0 ? pairs::Departure::kOneBurst : pairs::Departure::kInTurn;
            }
            return bench_.point(plan);
        };
        std::vector<double> loads(std::begin(kMapLoads), std::end(kMapLoads));
        for (double load = 2 * loads.back(); load <= kMostLoad; load *= 2) {
            const MapPoint trial = TRY(one(load, std::chrono::nanoseconds(0), kMostPairsOfPoint));
            if (const std::string why = trial.not_carried(); !why.empty()) {
                way.limit = fmt::format("at {:.0f} pairs/s {}", load, why);
                break;
            }
            way.highest = load;
        }
        if (way.highest > 2 * loads.back()) {
            loads.push_back(way.highest / 2);
        }
        if (way.highest != 0) {
            loads.push_back(way.highest);
        }
        TRY(bench_.start_watch());
        const Status done = [&]() -> Status {
            for (const double load : loads) {
                for (const std::chrono::nanoseconds skew : kMapSkews) {
                    const bool fits =
                        static_cast<double>(skew.count()) < kShareOfPeriod * 1e9 / load;
                    if (!fits || (skew.count() != 0 && which.cell.role == CellRole::kControl)) {
                        continue;
                    }
                    if (std::chrono::steady_clock::now() - began_ > kLongestMap) {
                        way.hindrances.push_back("the time for the map was over");
                        return {};
                    }
                    auto point = TRY(one(load, skew, kMostPairsOfPoint));
                    way.points.push_back(std::move(point));
                }
            }
            return {};
        }();
        const Status watched = bench_.stop_watch(way);
        return done ? watched : done;
    }

    // Runs `work` with the case's steering and lists, and looks whether they stayed.
    template <typename Work>
    Status in_setting(const Case& which, std::vector<std::string>& hindrances, const Work& work) {
        const std::string& underlay = bench_.names().dut_client_devices[0];
        const std::string mask = mask_of(which.steering);
        setting::Settings settings;
        if (which.steering != Steering::kLeft) {
            settings.push_back(setting::steering(lab::HostRole::kDut, underlay, mask));
        }
        if (which.lists_of_one) {
            settings.push_back(lists_of_one());
        }
        TRY(bench_.set(settings));
        const Status done = work();
        if (which.steering != Steering::kLeft && done) {
            const auto found = TRY(bench_.dut().rps(underlay));
            if (std::strtoul(found.c_str(), nullptr, 16) !=
                std::strtoul(mask.c_str(), nullptr, 16)) {
                hindrances.push_back(
                    fmt::format("the RPS mask of {} was set to {} and found as {} after the run",
                                underlay, mask, found));
            }
        }
        return done;
    }

    Result<pairs::PairPlan> plan_of(const Case& which, std::vector<std::string>& hindrances) {
        pairs::PairPlan plan = bench_.same_tuple_plan(
            which.cell.again ? std::min(pairs_, kFewSameTuplePairs) : pairs_);
        switch (which.way) {
            case Way::kTwoPorts: return plan;
            case Way::kOnePort: return bench_.one_port_plan(plan.pairs);
            case Way::kCarriedToTwoCpus: {
                ports_ = TRY(ports_of_two_cpus(hindrances));
                break;
            }
            case Way::kInTurn:
                plan = bench_.one_port_plan(std::min(pairs_, kFewSameTuplePairs));
                plan.departure = pairs::Departure::kInTurn;
                plan.skew = std::chrono::milliseconds(2);
                plan.pairs_per_second = 400;
                return plan;
            case Way::kOneOuterPort: return bench_.carried_plan(pairs_, kFirstOuter, kFirstOuter);
            case Way::kCarried: break;
        }
        return bench_.carried_plan(pairs_, ports_.first, ports_.second);
    }

    // The kernel's hash seed decides which CPU an outer port steers to, so the ports are chosen by
    // trying. The order matters: the sender's CPU takes its own packets at once, and another CPU's
    // packets wait for an interrupt, so pairs race whose first packet goes to the other CPU.
    Result<OuterPorts> ports_of_two_cpus(std::vector<std::string>& hindrances) {
        OuterPorts best;
        std::uint64_t most = 0;
        unsigned tried = 0;
        for (std::uint16_t other = kFirstOuter + 1;
             other <= kLastOuter && most < kCalibrationPairs / 10; ++other) {
            for (const OuterPorts& ports :
                 {OuterPorts{kFirstOuter, other}, OuterPorts{other, kFirstOuter}}) {
                const auto trial = TRY(bench_.measure(
                    {.id = "calibration"},
                    bench_.carried_plan(kCalibrationPairs, ports.first, ports.second),
                    Look::kRaceAlone));
                ++tried;
                if (trial.seen.clash_resolve > most) {
                    most = trial.seen.clash_resolve;
                    best = ports;
                }
            }
        }
        tell(hindrances, most == 0,
             "with none of {} pairs of outer ports two packets met: two CPUs were not found",
             tried);
        return best;
    }

    std::string mask_of(Steering steering) const {
        const unsigned last = 1u << bench_.last_cpu();
        if (steering == Steering::kLastCpu) {
            return fmt::format("{:x}", last);
        }
        return steering == Steering::kAllCpus ? fmt::format("{:x}", 2 * last - 1) : "0";
    }

    Context& context_;
    NatBench& bench_;
    const std::uint64_t pairs_;
    OuterPorts ports_;  // of two CPUs, once they are found
    const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace

setting::Setting lists_of_one() {
    return setting::sysctl(lab::HostRole::kDut, "net.core.gro_normal_batch", "1");
}

std::vector<RaceCell> same_tuple_cells() {
    return cells_of(cases());
}

std::vector<RaceCell> map_cells() {
    return cells_of(map_cases());
}

Result<RaceMap> map_same_tuple(Context& context, NatBench& bench) {
    return SameTuple(context, bench).map_all();
}

Result<std::vector<LoadWay>> load_same_tuple(Context& context, NatBench& bench,
                                             LoadRunner& runner) {
    return SameTuple(context, bench).load_all(runner);
}

Result<std::vector<MeasuredCell>> run_same_tuple(Context& context, NatBench& bench) {
    return SameTuple(context, bench).run();
}

}  // namespace pathproof::scenario
