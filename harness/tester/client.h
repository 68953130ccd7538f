// The controller's handle on the tester: the process in which the EAL lives, in the lab's tester
// namespace. It may die on bad hardware; then every call says so and the controller carries on.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/judge/pair_report.h"
#include "dataplane/measure/path_load.h"
#include "dataplane/pairs/pair_plan.h"
#include "dataplane/port/port.h"
#include "dataplane/port/port_request.h"
#include "dataplane/softnic/nic_link.h"
#include "dataplane/softnic/wire.h"
#include "dataplane/traffic/answer_rule.h"
#include "dataplane/traffic/exchange.h"
#include "dataplane/traffic/recorder.h"
#include "harness/process/rpc.h"

namespace pathproof::tester {

// In place of ports: a software NIC in the tester (softnic/nic_stand.h). It takes a worker of its
// own, the last one. Its ports are called "device" and "far".
struct SoftwareNic {
    std::vector<std::string> faults;  // as softnic::parse_fault() reads them
    std::uint64_t seed = 1;
    bool operator==(const SoftwareNic&) const = default;
};

struct TesterOptions {
    std::string netns;  // where the EAL starts; empty: the caller's
    std::vector<port::PortRequest> ports;
    std::vector<int> worker_cpus;  // one lcore each; the control thread never polls
    bool hugepages = false;
    std::optional<SoftwareNic> software_nic;
};

// The tester's account of itself once its ports are open.
struct Opened {
    std::string dpdk_version;
    std::vector<port::PortInfo> ports;
};

// The tester's own account at the end of a load.
struct LoadEnd {
    load::OwnBias bias;  // latency that it adds itself
    // Lead of the tester's counter over its host's clock (CLOCK_MONOTONIC), in millionths; nothing
    // within the first second.
    std::optional<double> clock_ppm;
};

class Client {
  public:
    static Result<std::unique_ptr<Client>> start(const TesterOptions& options);

    const std::vector<port::PortInfo>& ports() const { return opened_.ports; }
    std::string dpdk_version() const { return opened_.dpdk_version; }
    pid_t pid() const { return rpc_.pid(); }
    bool alive() const { return rpc_.alive(); }

    // Runs the plan to its end (pairs / rate + delays + drain) and reports. Without a responder the
    // answers come from elsewhere. With `evidence_path`, bad and misdelivered frames are written
    // there as pcapng.
    Result<judge::PairReport> run_pairs(const pairs::PairPlan& plan,
                                        const std::optional<traffic::ResponderPlan>& responder,
                                        const std::string& evidence_path = "");
    // Runs the plan like run_pairs(), but returns only the outcome of the whole, as a search takes
    // it (measure/pair_trial.h).
    Result<search::TrialOutput> try_pairs(const pairs::PairPlan& plan,
                                          const std::optional<traffic::ResponderPlan>& responder,
                                          double offered_tolerance);
    // Makes a run_pairs() that another thread waits for end soon, with an objection in its report.
    Status cancel();

    // A wire forwards on one lcore until it is stopped. There is one for each two ports in their order: wire 0 joins the
    // first two, on worker 0.
    Status start_wire(const softnic::WirePlan& plan, std::uint32_t wire = 0);
    // True once a port of wire 0 lost its kernel interface for good: nothing more will pass.
    Result<bool> wire_broken();
    // Stops the wire; with `evidence_path`, writes the kept bad frames there as pcapng.
    Result<softnic::WireReport> stop_wire(const std::string& evidence_path = "",
                                          std::uint32_t wire = 0);

    // Runs the plan to its end, on one lcore.
    Result<traffic::ExchangeReport> exchange(const traffic::ExchangePlan& plan);
    // Ends the software NIC and gives its counters; directions[1] is what it received.
    Result<softnic::NicLinkReport> stop_software_nic();

    // Records raw what arrives at one port, on one lcore, until it is stopped.
    Status start_recording(const traffic::RecordPlan& plan);
    Result<traffic::Recording> stop_recording(const traffic::RecordEnd& end);
    // Writes frames that came in at the first port as pcapng; `about` becomes the file's comment.
    Status write_frames(const std::string& path, const std::string& about,
                        const std::vector<std::vector<std::uint8_t>>& frames);

    // Has all lcores send one stream over a path, trial by trial, until it is stopped. Errors: those
    // of measure::plan_of() and LoadRun::start().
    Status start_load(const measure::PathLoad& load);
    Result<search::TrialOutput> run_trial(const search::TrialInput& trial);
    Result<LoadEnd> stop_load();

  private:
    Client(process::Child child, const std::string& who) : rpc_(std::move(child), who) {}

    process::RpcClient rpc_;
    Opened opened_;
};

// The trials of a search that a tester makes: between start_load() and stop_load() of the client,
// which must outlive it.
class RemoteMeasurer final : public search::Measurer {
  public:
    explicit RemoteMeasurer(Client& tester) : tester_(tester) {}
    Result<search::TrialOutput> measure(const search::TrialInput& input) override {
        return tester_.run_trial(input);
    }

  private:
    Client& tester_;
};

// Checks before a run that a file can be made at `path` (empty: none is wanted, which is fine),
// since a run whose evidence cannot be written would be in vain.
Status check_evidence_path(const std::string& path);

}  // namespace pathproof::tester
