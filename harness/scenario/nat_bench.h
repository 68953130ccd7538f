// The nat-box lab with an agent in the DUT and the tester on three ports: one case of a race experiment is one `run`.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/agent/client.h"
#include "harness/join/pairs.h"
#include "harness/lab/veth_lab.h"
#include "harness/scenario/scenario.h"
#include "harness/tester/client.h"

namespace pathproof::scenario {

// What one run of query pairs through the NAT box showed.
struct PairOutcome {
    traffic::PairPlan plan;
    judge::PairReport report;
    netfilter::EventLog log;
    std::vector<netfilter::CpuStats> stats;  // deltas, per CPU
    join::PairFindings findings;
    std::string capture;  // evidence path of bad and misdelivered frames; empty when not asked for
    unsigned attempts = 1;

    std::uint64_t counter(const std::string& name) const { return netfilter::total(stats, name); }
    // Not empty: why this is no result (the tester lost frames, the listener lost events, totals do not balance).
    std::vector<std::string> objections() const;
};

class NatBench {
  public:
    static Result<std::unique_ptr<NatBench>> build(Context& context);

    Status configure(const lab::NatBoxOptions& options);
    // Two halves from two ports on two lcores, one 5-tuple.
    traffic::PairPlan same_tuple_plan(std::uint64_t pairs) const;
    // Both halves in VXLAN, in one burst of one port; the outer source ports are given.
    traffic::PairPlan carried_plan(std::uint64_t pairs, std::uint16_t first_outer, std::uint16_t second_outer) const;
    // Two clients with different addresses and one source port.
    traffic::PairPlan two_clients_plan(std::uint64_t pairs) const;

    // Sends the plan's pairs, with the server answering after `delay`, while conntrack's events and counters are
    // recorded; then empties the table, so that every entry's end is in the log. A run in which the tester's own
    // ports lost frames says nothing of the DUT: it is made again at half the rate, up to three times in all.
    Result<PairOutcome> run(const traffic::PairPlan& plan, std::chrono::nanoseconds delay,
                            const std::string& evidence_name = "");

    agent::Client& dut() { return *dut_; }
    const lab::NatBoxNames& names() const { return lab_->names(); }
    Status describe(std::vector<verdict::FactGroup>& environment);

  private:
    explicit NatBench(Context& context) : context_(context) {}
    traffic::PairPlan base_plan(std::uint64_t pairs) const;
    Result<PairOutcome> measure(const traffic::PairPlan& plan, std::chrono::nanoseconds delay,
                                const std::string& evidence_name);

    Context& context_;
    std::unique_ptr<lab::NatBox> lab_;
    std::unique_ptr<agent::Client> dut_;
    std::unique_ptr<tester::Client> tester_;
};

}  // namespace pathproof::scenario
