// The lab's NAT box with an agent in the DUT and the tester on three ports: one cell of a race
// experiment is one `measure`.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/agent/client.h"
#include "harness/fate/flow.h"
#include "harness/lab/nat_box.h"
#include "harness/scenario/race/race_experiments.h"
#include "harness/scenario/race/race_map.h"
#include "harness/scenario/scenario.h"
#include "harness/tester/client.h"

namespace pathproof::scenario {

// What is recorded beside the pairs.
enum class Look : std::uint8_t {
    kAll,
    // conntrack's events and counters: what the kernel drops is not told, and nothing is waited for.
    kRaceAlone,
};

class NatBench {
  public:
    static Result<std::unique_ptr<NatBench>> build(Context& context);

    // Of a DUT that is another machine the load that it carries whole: as planned, or less. No cell offers
    // more, and where it is less than planned none lasts long, unless its pairs were asked for.
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
    // A point of the exposure map: pairs like those, at once, answered at once.
    Result<MapPoint> point(const pairs::PairPlan& plan);
    // Has the way told what the kernel dropped in between.
    Status start_watch();
    Status stop_watch(MapWay& way);
    // What build() did one after the other, and how long each took.
    const std::vector<std::pair<std::string, std::chrono::milliseconds>>& phases() const {
        return phases_;
    }

    // Of the DUT, one that a CPU mask of 32 bits has: where this is its machine, the last that
    // lcores use.
    unsigned last_cpu() const;
    // See NatBox::set().
    Status set(const setting::Settings& settings) { return lab_->set(settings); }
    const lab::NatBox& lab() const { return *lab_; }
    agent::Client& dut() { return *dut_; }
    const lab::NatBoxNames& names() const { return lab_->names(); }
    Status describe();

  private:
    struct Run;
    explicit NatBench(Context& context);
    Status open_ports();
    Result<std::string> trouble_at(double load);
    Result<Run> run(const RaceCell& what, const pairs::PairPlan& plan, Look look);
    Status record(const RaceCell& what, Look look, Run& run);
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
