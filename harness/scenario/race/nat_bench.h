// The lab's NAT box with an agent in the DUT and the tester on three ports: one cell of a race
// experiment is one `measure`.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dataplane/search/throughput.h"
#include "harness/agent/client.h"
#include "harness/fate/flow.h"
#include "harness/lab/nat_box.h"
#include "harness/scenario/race/race_experiments.h"
#include "harness/scenario/race/race_map.h"
#include "harness/scenario/scenario.h"
#include "harness/tester/client.h"

namespace pathproof::scenario {

// Records kept beside the pairs.
enum class Look : std::uint8_t {
    kAll,
    // conntrack's events and counters: what the kernel drops is not told, and nothing is waited for.
    kRaceAlone,
    // All, as far as it costs the DUT little; at the plan's own rate, whatever becomes of it.
    kAtLoad,
};

// The search for the highest load that is carried whole.
struct LoadSearch {
    search::ThroughputResult result;  // loads are pairs a second
    std::string tester_limit;         // of the last trial that failed by the tester's doing
    std::string objection;            // of one that could not be used
    std::size_t trials = 0;
    double seconds = 0;
};

class NatBench {
  public:
    // Ports on the lab's own interfaces: packet sockets, or AF_XDP, which carries several times as much.
    // Ports of a user's are as they are.
    enum class Carrier : std::uint8_t { kPackets, kFast };
    static Result<std::unique_ptr<NatBench>> build(Context& context,
                                                   Carrier carrier = Carrier::kPackets);

    // Finds the load that a DUT on another machine carries whole: the planned load, or less. No
    // cell offers more. If it is less than planned, cells are kept short, unless the user gave the
    // number of pairs.
    Status find_load();
    // Two halves from two ports on two lcores, one 5-tuple.
    pairs::PairPlan same_tuple_plan(std::uint64_t pairs) const;
    // Both halves in VXLAN, in one burst of one port; the outer source ports are given.
    pairs::PairPlan carried_plan(std::uint64_t pairs, std::uint16_t first_outer,
                                 std::uint16_t second_outer) const;
    // Both halves in one burst of one port.
    pairs::PairPlan one_port_plan(std::uint64_t pairs) const;
    // Two clients with different addresses and one source port.
    pairs::PairPlan two_clients_plan(std::uint64_t pairs) const;

    // Sends the plan's pairs, with the server answering as late as the cell says, while conntrack's
    // events and counters, the kernel's drops and the devices' links are recorded; then empties the
    // table, so that every entry's end is in the log. A run in which the tester's own ports lost
    // frames, or which it had no CPU time for, says nothing of the DUT: it is made again at half
    // the rate, up to three times in all.
    // Keeps the evidence of what is not clean.
    Result<MeasuredCell> measure(const RaceCell& what, const pairs::PairPlan& plan,
                                 Look look = Look::kAll);
    // Pairs a second like those that fill a link of their way, by the speed that its port tells; 0: none does.
    // Of ports that are no hardware a speed means nothing.
    Result<double> line_rate(const pairs::PairPlan& plan) const;
    // Searches for the highest load of pairs like those that comes back whole and in time, up to `greatest`
    // pairs a second, by the rules of dataplane/search: with conntrack's events followed, as in a cell; queries
    // that conntrack counts as refused at insertion are the race's and no loss of the load. `most`: pairs of a
    // trial.
    Result<LoadSearch> find_highest(const pairs::PairPlan& plan, double greatest,
                                    std::uint64_t most);
    // Pairs of `flows` flows each for which conntrack's table has room, and to spare.
    Result<std::uint64_t> room(unsigned flows);
    // A point of the exposure map: pairs like those, at once, answered at once.
    Result<MapPoint> point(const pairs::PairPlan& plan);
    // Has the way told what the kernel dropped in between.
    Status start_watch();
    Status stop_watch(MapWay& way);
    // Steps that build() took, in order, with their durations.
    const std::vector<std::pair<std::string, std::chrono::milliseconds>>& phases() const {
        return phases_;
    }

    // Returns a CPU of the DUT that a 32-bit CPU mask can name: if the DUT is this machine, the
    // last CPU that lcores use.
    unsigned last_cpu() const;
    // See NatBox::set().
    Status set(const setting::Settings& settings) { return lab_->set(settings); }
    const lab::NatBox& lab() const { return *lab_; }
    agent::Client& dut() { return *dut_; }
    const lab::NatBoxNames& names() const { return lab_->names(); }
    Status describe();

  private:
    static constexpr std::size_t kServerPort = 2;  // index of s0 among the tester's ports
    // Answers that a port of the tester reads at once at a load: both of a pair, and as many to catch up.
    static constexpr std::uint16_t kReadAtLoad = 4;

    struct Run;
    explicit NatBench(Context& context);
    Status open_ports(Carrier carrier);
    Result<search::TrialOutput> try_load(const pairs::PairPlan& plan,
                                         const search::TrialInput& input, std::uint64_t most);
    friend class PairMeasurer;
    Result<std::string> trouble_at(double load);
    Result<Run> run(const RaceCell& what, const pairs::PairPlan& plan, Look look);
    Status record(const RaceCell& what, Look look, Run& run);
    std::uint64_t not_transmitted(const agent::CounterSet& grown) const;
    Status note_load(Run& run, const judge::PairReport& report, const agent::CpuUse& before,
                     const agent::CounterSet& counted, std::chrono::duration<double> lasting);
    std::vector<fate::Flow> flows() const;
    traffic::ResponderPlan answering(std::chrono::milliseconds delay) const;
    verdict::Proof tell(const Run& run, std::uint32_t pair) const;
    void keep_evidence_of(const Run& run, MeasuredCell& cell) const;

    Context& context_;
    std::unique_ptr<lab::NatBox> lab_;
    std::shared_ptr<agent::Client> dut_;
    std::unique_ptr<tester::Client> tester_;
    std::vector<std::pair<std::string, std::chrono::milliseconds>> phases_;
    agent::CounterSet counted_;  // when the watch began
    unsigned runs_ = 0;
    double load_;  // pairs a second at most
};

// Adds a cell to those of its experiment, and to those that an interrupted run keeps.
void add_cell(Context& context, std::vector<MeasuredCell>& cells, MeasuredCell cell);

}  // namespace pathproof::scenario
