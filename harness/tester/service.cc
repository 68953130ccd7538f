#include "harness/tester/service.h"

#include <atomic>
#include <map>
#include <optional>
#include <span>
#include <thread>

#include "dataplane/base/clock.h"
#include "dataplane/measure/pair_trial.h"
#include "dataplane/pairs/pair_run.h"
#include "dataplane/port/capture.h"
#include "dataplane/port/device.h"
#include "dataplane/port/port_set.h"
#include "dataplane/softnic/nic_stand.h"
#include "dataplane/traffic/recorder.h"
#include "harness/message/calls.h"
#include "harness/tester/messages.h"
#include "harness/tester/work_queue.h"

namespace pathproof::tester {
namespace {

class Service {
  public:
    Result<Opened> open(const TesterOptions& options) {
        if (set_) {
            return fail(ErrorCode::kBadInput, "the ports are open already");
        }
        TRY(start(options));
        return Opened{.dpdk_version = port::Eal::dpdk_version(), .ports = describe_ports()};
    }

    Result<judge::PairReport> run_pairs(const pairs::PairPlan& plan,
                                        const std::optional<traffic::ResponderPlan>& responder,
                                        const std::string& evidence) {
        TRY(check_ready());
        TRY(check_evidence_path(evidence));
        cancelled_ = false;
        // The run's own time 0 comes a moment later, once its memory is set aside.
        const std::int64_t began = realtime_ns();
        auto report = TRY(pairs::run_pairs(set_->eal, set_->ports, plan, responder, cancelled_));
        // Without room for the evidence the figures stay; whoever lists it finds it missing.
        static_cast<void>(write_pairs(evidence, report, began));
        return report;
    }

    Result<search::TrialOutput> try_pairs(const pairs::PairPlan& plan,
                                          const std::optional<traffic::ResponderPlan>& responder,
                                          double offered_tolerance) {
        const auto report = TRY(run_pairs(plan, responder, ""));
        return measure::output_of(plan, report, offered_tolerance);
    }

    Status start_wire(const softnic::WirePlan& plan, std::uint32_t number) {
        TRY(check_open());
        if (wires_.contains(number)) {
            return fail(ErrorCode::kBadInput, "wire {} is running: stop it first", number);
        }
        const std::span<port::Port> ports = TRY(ports_of_wire(number));
        wires_[number] = TRY(softnic::Wire::start(set_->eal, number, ports, plan));
        return {};
    }

    Result<bool> wire_broken() {
        const auto wire = wires_.find(0);
        if (wire == wires_.end()) {
            return fail(ErrorCode::kBadInput, "no wire is running");
        }
        return wire->second->broken();
    }

    Result<softnic::WireReport> stop_wire(const std::string& evidence, std::uint32_t number) {
        const auto wire = wires_.find(number);
        if (wire == wires_.end()) {
            return fail(ErrorCode::kBadInput, "no wire is running there (wire {})", number);
        }
        TRY(check_evidence_path(evidence));
        softnic::WireReport report = wire->second->stop();
        wires_.erase(wire);
        const std::span<port::Port> ports = TRY(ports_of_wire(number));
        const Status written =
            evidence.empty() ? Status() : softnic::write_evidence(evidence, report, ports);
        if (!written) {
            report.objections.push_back(written.error().message);  // the figures stay
        }
        return report;
    }

    Result<traffic::ExchangeReport> exchange(const traffic::ExchangePlan& plan) {
        TRY(check_ready());
        return traffic::exchange(set_->eal, 0, set_->ports, plan);
    }

    Result<softnic::NicLinkReport> stop_software_nic() {
        if (!stand_) {
            return fail(ErrorCode::kBadInput, "no software NIC is running");
        }
        return stand_->stop();
    }

    Status start_recording(const traffic::RecordPlan& plan) {
        TRY(check_ready());
        recorder_ = TRY(traffic::Recorder::start(set_->eal, 0, set_->ports, plan));
        return {};
    }

    Result<traffic::Recording> stop_recording(const traffic::RecordEnd& end) {
        if (!recorder_) {
            return fail(ErrorCode::kBadInput, "no recording is running");
        }
        traffic::Recording recording = recorder_->stop(end);
        recorder_.reset();
        return recording;
    }

    Status write_frames(const std::string& path, const std::string& about,
                        const std::vector<std::vector<std::uint8_t>>& bytes) {
        TRY(check_ready());
        TRY(check_evidence_path(path));
        std::vector<port::CapturedFrame> frames;
        for (const auto& frame : bytes) {
            frames.push_back({.port_id = set_->ports.front().id(),
                              .direction = port::CaptureDirection::kIn,
                              .unix_ns = realtime_ns(),
                              .bytes = frame});
        }
        return port::write_capture(path, about, frames);
    }

    Status start_load(const measure::PathLoad& load) {
        TRY(check_ready());
        if (load.from >= set_->ports.size() || load.to >= set_->ports.size()) {
            return fail(ErrorCode::kBadInput, "a load from port {} to port {}: there are {} ports",
                        load.from, load.to, set_->ports.size());
        }
        cancelled_ = false;
        const auto plan = TRY(measure::plan_of(load, set_->ports[load.from], set_->ports[load.to],
                                               set_->eal.workers()));
        load_.reset();
        load_ = TRY(measure::LoadMeasurer::start(set_->eal, plan, cancelled_));
        return {};
    }

    Result<search::TrialOutput> run_trial(const search::TrialInput& trial) {
        TRY(check_load());
        return load_->measure(trial);
    }

    Result<LoadEnd> stop_load() {
        TRY(check_load());
        const LoadEnd end{.bias = load_->own_bias(), .clock_ppm = load_->clock_ppm()};
        load_.reset();
        return end;
    }

    void cancel() { cancelled_ = true; }

  private:
    Status start(const TesterOptions& options) {
        auto set = TRY(port::PortSet::open({.ports = options.ports,
                                            .worker_cpus = options.worker_cpus,
                                            .hugepages = options.hugepages}));
        set_.emplace(std::move(set));
        return options.software_nic ? stand_software_nic(*options.software_nic) : Status();
    }

    Status stand_software_nic(const SoftwareNic& wanted) {
        softnic::NicLinkPlan plan{.seed = wanted.seed};
        for (const std::string& text : wanted.faults) {
            auto fault = TRY(softnic::parse_fault(text));
            plan.faults.push_back(std::move(fault));
        }
        stand_ = TRY(softnic::NicStand::start(set_->eal, set_->eal.workers() - 1, plan));
        set_->ports.push_back(std::move(stand_->device));
        set_->ports.push_back(std::move(stand_->far));
        return {};
    }

    // The rings behind a software NIC are no device of their own.
    std::vector<port::PortInfo> describe_ports() const {
        std::vector<port::PortInfo> ports;
        for (const port::Port& port : set_->ports) {
            ports.push_back(port.info());
        }
        if (stand_) {
            port::PortInfo& device = ports[ports.size() - 2];
            device.driver = softnic::kSoftwareNicName;
            device.tx_offloads = port::tx_names(softnic::tx_capabilities());
            device.rx_offloads = port::rx_names(softnic::rx_capabilities());
        }
        return ports;
    }

    Result<std::span<port::Port>> ports_of_wire(std::uint32_t number) {
        const std::size_t first = 2 * static_cast<std::size_t>(number);
        if (first + 2 > set_->ports.size()) {
            return fail(ErrorCode::kBadInput,
                        "a wire needs two ports, and wire {} has none of the {}", number,
                        set_->ports.size());
        }
        return std::span<port::Port>(set_->ports).subspan(first, 2);
    }

    Status check_open() const {
        if (!set_ || set_->ports.empty()) {
            return fail(ErrorCode::kBadInput, "no port is open: ask for 'open' first");
        }
        return {};
    }

    Status check_load() const {
        return load_ ? Status()
                     : fail(ErrorCode::kBadInput, "no load is started: ask for 'start_load' first");
    }

    Status check_ready() const {
        TRY(check_open());
        if (!wires_.empty()) {
            return fail(ErrorCode::kBadInput, "a wire is running: stop it first");
        }
        if (recorder_) {
            return fail(ErrorCode::kBadInput, "a recording is running: stop it first");
        }
        return {};
    }

    Status write_pairs(const std::string& path, const judge::PairReport& report,
                       std::int64_t began) const {
        std::vector<port::CapturedFrame> frames;
        for (const auto* kept : {&report.bad_frames, &report.misdelivered_frames}) {
            for (const judge::KeptFrame& frame : *kept) {
                frames.push_back({.port_id = set_->ports[frame.port].id(),
                                  .direction = port::CaptureDirection::kIn,
                                  .unix_ns = began + frame.time_ns,
                                  .bytes = frame.bytes});
            }
        }
        if (path.empty() || frames.empty()) {
            return {};
        }
        return port::write_capture(
            path,
            fmt::format("pathproof tester: {} received frames with wrong checksums, then {} "
                        "answers that came from another address than the one asked",
                        report.bad_frames.size(), report.misdelivered_frames.size()),
            frames);
    }

    std::optional<port::PortSet> set_;
    std::map<std::uint32_t, std::unique_ptr<softnic::Wire>>
        wires_;  // before the ports in destruction
    std::unique_ptr<traffic::Recorder> recorder_;
    std::optional<softnic::NicStand> stand_;
    std::unique_ptr<measure::LoadMeasurer> load_;
    std::atomic<bool> cancelled_ = false;
};

}  // namespace

int serve(int input, int output) {
    WorkQueue queue;
    Service service;
    process::RpcServer server;
    // Operations run on the thread on which EAL was started.
    const auto add = [&]<typename R, typename... Args>(const char* name,
                                                       R (Service::*run)(Args...)) {
        server.on(name, message::operation([&queue, &service, run](Args... args) {
                      return queue.ask([&] { return (service.*run)(args...); });
                  }));
    };
    add("open", &Service::open);
    add("run_pairs", &Service::run_pairs);
    add("try_pairs", &Service::try_pairs);
    add("start_wire", &Service::start_wire);
    add("wire_broken", &Service::wire_broken);
    add("stop_wire", &Service::stop_wire);
    add("exchange", &Service::exchange);
    add("stop_software_nic", &Service::stop_software_nic);
    add("start_recording", &Service::start_recording);
    add("stop_recording", &Service::stop_recording);
    add("write_frames", &Service::write_frames);
    add("start_load", &Service::start_load);
    add("run_trial", &Service::run_trial);
    add("stop_load", &Service::stop_load);
    server.on("cancel", message::operation([&service]() -> Status {
                  service.cancel();
                  return {};
              }));
    std::thread reading([&] {
        server.serve(input, output);
        queue.close();
    });
    queue.serve();
    reading.join();
    return 0;
}

}  // namespace pathproof::tester
