#include "dataplane/load/load_run.h"

#include <algorithm>
#include <iterator>

#include "dataplane/base/clock.h"
#include "dataplane/base/counts.h"
#include "dataplane/load/clock_check.h"
#include "dataplane/load/make_workers.h"
#include "dataplane/load/own_bias.h"
#include "dataplane/load/placement.h"
#include "dataplane/load/plan_check.h"
#include "dataplane/load/self_check.h"
#include "dataplane/load/trial_report.h"
#include "dataplane/port/eal.h"

namespace pathproof::load {
namespace {

// Time between two looks at the links while a trial runs.
constexpr std::chrono::milliseconds kLook(100);

class Engine final : public LoadRun {
  public:
    Engine(port::Eal& eal, const Roles& roles, const LoadPlan& plan)
        : eal_(eal),
          roles_(roles),
          plan_(plan),
          ports_(roles_),
          clock_{traffic::TscClock::of_this_machine(), traffic::tsc_now()},
          unix_start_ns_(realtime_ns()),
          began_(port::read_clocks()),
          board_(workers_of(roles_).size(), workers_of(roles_.senders).size(),
                 workers_of(roles_.receivers).size()) {}
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;
    ~Engine() override {
        board_.quit();
        for (const auto& worker : workers_) {
            eal_.join(worker->number());
        }
    }

    Status set_up() {
        TRY(make_workers(roles_, plan_, ports_, clock_, board_, workers_));
        TRY(measure_bias());
        for (const auto& worker : workers_) {
            TRY(eal_.launch(worker->number(), [&worker] { return worker->serve(); }));
        }
        facts_ = {.sender_ports = names_of(ports_.senders),
                  .receiver_ports = names_of(ports_.receivers),
                  .counter_invariant = invariant_counter(),
                  .troubles = placement_troubles(roles_)};
        return {};
    }

    double mean_frame_bytes() const override {
        return workers_.front()->senders().front().source().mean_frame_bytes();
    }

    Status check(const TrialOrder& order) const override {
        return check_order(order, plan_, mean_frame_bytes(), roles_);
    }

    Result<TrialReport> run(const TrialOrder& order, const std::atomic<bool>& stop) override {
        TRY(check(order));
        const Tsc ordered = traffic::tsc_now();
        const port::PortCounters sent_before = counters_of(ports_.senders);
        const port::PortCounters received_before = counters_of(ports_.receivers);
        const port::ClockReading start = port::read_clocks();
        readings_.clear();
        board_.publish({order, &stop});
        RunFacts facts = facts_;
        const std::string source = clock_source();
        std::ranges::move(watch_links(), std::back_inserter(facts.troubles));
        TrialReport report = assemble(workers_, clock_, order);
        report.sender_port = counts_between(sent_before, counters_of(ports_.senders));
        report.receiver_port = counts_between(received_before, counters_of(ports_.receivers));
        report.bias.floor_ns = bias_.floor_ns;
        report.bias.single_ns = bias_.single_ns;
        report.bias.burst_ns = bias_.burst_ns;
        report.clock_ppm = ppm_since(began_, clock_.tsc);
        for (const auto& worker : workers_) {
            readings_.push_back(worker->time().clocks_before);
            readings_.push_back(worker->time().clocks_after);
        }
        report.counter = watch_counter(start, readings_, clock_.tsc);
        // A clock source that was changed meanwhile was perhaps the counter itself.
        facts.clock_source = clock_source() == source ? source : "changed";
        check_trial(report, facts);
        report.overhead_ns = clock_.tsc.nanoseconds(ordered, traffic::tsc_now()) -
                             (report.ended_ns - report.began_ns);
        return report;
    }

    Live live() const override {
        Live sum;
        for (const auto& worker : workers_) {
            const LiveCounts& counts = worker->live();
            sum.sent += counts.sent.load(std::memory_order_relaxed);
            sum.received += counts.received.load(std::memory_order_relaxed);
            sum.bad_checksums += counts.bad.load(std::memory_order_relaxed);
        }
        return sum;
    }

    std::int64_t unix_start_ns() const override { return unix_start_ns_; }

    std::vector<judge::KeptFrame> take_bad_frames() override {
        return gather<judge::KeptFrame>([](TrackedIntake& one) { return one.take_bad_frames(); });
    }
    std::vector<WrongFrame> take_wrong_frames() override {
        return gather<WrongFrame>([](TrackedIntake& one) { return one.take_wrong_frames(); });
    }
    std::vector<WrongFrame> take_damaged_frames() override {
        return gather<WrongFrame>([](TrackedIntake& one) { return one.take_damaged_frames(); });
    }
    std::vector<Anomaly> take_anomalies() override {
        return gather<Anomaly>([](TrackedIntake& one) { return one.take_anomalies(); });
    }

  private:
    // Measures the bias on the first sender's lcore: it is that lcore's code that adds it.
    Status measure_bias() {
        if (plan_.make_source) {
            return {};  // what the frames are is not known here, and they may not be many
        }
        auto source = TRY(make_source(plan_, 0, 1));
        const Roles::Queue& sender = roles_.senders.front();
        Result<OwnBias> measured;
        TRY(eal_.launch(sender.worker, [&] {
            measured = measure_own_bias(*source, sender.port->pool(), plan_.burst, clock_.tsc);
            return 0;
        }));
        eal_.join(sender.worker);
        bias_ = TRY(measured);
        return {};
    }

    // Watches the links until the trial is over. A link that is lost ends it: frames would only be
    // thrown away.
    std::vector<std::string> watch_links() {
        std::vector<std::string> troubles;
        while (!board_.wait_done(kLook)) {
            readings_.push_back(port::read_clocks());
            if (troubles.empty()) {
                troubles = ports_.link_troubles();
            }
            if (!troubles.empty() && plan_.link_loss == LoadPlan::LinkLoss::kEnds) {
                board_.call_off();
            }
        }
        return troubles.empty() ? ports_.link_troubles() : troubles;
    }

    template <typename T, typename Take>
    std::vector<T> gather(Take take) {
        std::vector<T> all;
        for (const auto& worker : workers_) {
            if (TrackedIntake* intake = worker->tracked(); intake != nullptr) {
                std::ranges::move(take(*intake), std::back_inserter(all));
            }
        }
        return all;
    }

    port::Eal& eal_;
    Roles roles_;
    LoadPlan plan_;
    RunPorts ports_;
    traffic::RunClock clock_;
    std::int64_t unix_start_ns_;
    port::ClockReading began_;
    TrialBoard board_;
    LoadWorker::List workers_;
    OwnBias bias_;
    RunFacts facts_;
    std::vector<port::ClockReading> readings_;  // of both clocks, all over a trial
};

}  // namespace

Result<std::unique_ptr<LoadRun>> LoadRun::start(port::Eal& eal, const Roles& roles,
                                                const LoadPlan& plan) {
    TRY(check_roles(roles, eal.workers()));
    TRY(check_plan(plan, roles));
    auto engine = std::make_unique<Engine>(eal, roles, plan);
    TRY(engine->set_up());
    return std::unique_ptr<LoadRun>(std::move(engine));
}

}  // namespace pathproof::load
