#include "harness/bench/load/ring_answers.h"

#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ring.h>

#include <atomic>
#include <thread>

#include "dataplane/traffic/respond_run.h"
#include "harness/bench/load/load_plans.h"
#include "harness/bench/load/load_worker.h"

namespace pathproof::bench {
namespace {

constexpr unsigned kRingFrames = 1024;
constexpr unsigned kResponder = 0;  // worker of the EAL; run_responder() begins at the first
constexpr unsigned kAsker = 1;

Result<rte_ring*> make_ring(const char* name) {
    rte_ring* ring = rte_ring_create(name, kRingFrames, 0, RING_F_SP_ENQ | RING_F_SC_DEQ);
    if (ring == nullptr) {
        return fail(ErrorCode::kFailed, "make the ring {}: {}", name, rte_strerror(rte_errno));
    }
    return ring;
}

Result<port::Port> make_port(const std::string& name, rte_ring* in, rte_ring* out,
                             port::PortConfig config) {
    if (rte_eth_from_rings(name.c_str(), &in, 1, &out, 1, 0) < 0) {
        return fail(ErrorCode::kFailed, "make a port of rings: {}", rte_strerror(rte_errno));
    }
    config.name = name;
    config.device = "net_ring_" + name;
    return port::Port::open(config);
}

Result<traffic::RespondPlan> responder_plan() {
    const auto a = TRY(frame::parse_ip("192.0.2.1"));
    const auto aaaa = TRY(frame::parse_ip("2001:db8::1"));
    traffic::RespondPlan plan;
    plan.responder.rules.resize(2);
    plan.responder.rules[0].qtype = frame::kDnsTypeA;
    plan.responder.rules[0].addresses = {a};
    plan.responder.rules[1].qtype = frame::kDnsTypeAaaa;
    plan.responder.rules[1].addresses = {aaaa};
    plan.responder.tunnel_ports = {4789};
    return plan;
}

// Answers as long as this lives.
class Answering {
  public:
    Answering(port::Eal& eal, port::Port& port, traffic::RespondPlan plan)
        : thread_([this, &eal, &port, plan = std::move(plan)] {
              const auto report = traffic::run_responder(eal, port, plan, stop_);
              outcome_ = report ? Status() : pass_on(report.error());
          }) {}
    Answering(const Answering&) = delete;
    ~Answering() { (void)end(); }

    Status end() {
        stop_ = true;
        if (thread_.joinable()) {
            thread_.join();
        }
        return outcome_;
    }

  private:
    std::atomic<bool> stop_ = false;
    Status outcome_;
    std::thread thread_;
};

Result<LoadOutcome> ask(port::Eal& eal, port::Port& asking, port::Port& answering,
                        const LoadJob& job) {
    auto plan = TRY(responder_plan());
    Answering responder(eal, answering, std::move(plan));
    const load::Roles roles{.senders = {{.worker = kAsker, .port = &asking, .queue = 0}},
                            .receivers = {{.worker = kAsker, .port = &asking, .queue = 0}}};
    const auto outcome = run_job_on(eal, roles, job);
    TRY(doing(responder.end(), "the responder"));
    return outcome;
}

}  // namespace

Result<LoadOutcome> run_ring_answers(const LoadJob& job) {
    port::EalOptions options = eal_options_of(job);
    options.worker_cpus = {job.control_cpu, job.cpus.front()};
    options.vdevs.clear();
    auto eal = TRY(port::Eal::start(options));
    const auto queries = TRY(make_ring("bench_queries"));
    const auto answers = TRY(make_ring("bench_answers"));
    port::PortConfig config = port_config_of(job);
    config.rx_queues = 1;
    config.tx_queues = 1;
    auto asking = TRY(make_port("asking", answers, queries, config));
    auto answering = TRY(make_port("answering", queries, answers, config));
    return ask(eal, asking, answering, job);
}

}  // namespace pathproof::bench
