#include "harness/scenario/host_wires.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "dataplane/port/device_name.h"
#include "harness/ports/open.h"
#include "harness/scenario/device_facts.h"
#include "harness/scenario/measures.h"

namespace pathproof::scenario {
namespace {

// The kernel puts the fragments of a datagram together before it hands them to packet sockets of DPDK's; through AF_XDP
// they come as they are.
enum class Sockets { kAfXdp, kPacket };

Result<std::unique_ptr<tester::Client>> open_tester(Context& context,
                                                    const std::vector<lab::HostCable>& cables,
                                                    Sockets sockets) {
    const std::string over = sockets == Sockets::kAfXdp ? "af_xdp:" : "af_packet:";
    std::vector<port::PortRequest> ports;
    std::vector<int> cpus;
    for (const lab::HostCable& cable : cables) {
        ports.push_back(
            TRY(ports::choose_port((cable.is_kernel_device ? over : "") + cable.port,
                                   cable.tester_netns, cable.plan.queues, &cable.plan.addresses)));
        ports.push_back(TRY(ports::choose_port(over + cable.to_host, cable.tester_netns)));
        cpus.push_back(context.options.cpus[cpus.size() % context.options.cpus.size()]);
    }
    return ports::open_tester({.netns = cables.front().tester_netns,
                               .ports = ports,
                               .worker_cpus = cpus,
                               .hugepages = context.options.hugepages},
                              ports, context.journal);
}

}  // namespace

Result<std::unique_ptr<HostWires>> HostWires::start(Context& context,
                                                    std::vector<lab::HostCable> cables) {
    std::unique_ptr<HostWires> wires(new HostWires(context));
    wires->cables_ = std::move(cables);
    auto tester = open_tester(context, wires->cables_, Sockets::kAfXdp);
    wires->tester_ =
        tester ? std::move(*tester) : TRY(open_tester(context, wires->cables_, Sockets::kPacket));
    context.measured.know_dpdk(wires->tester_->dpdk_version());
    for (std::uint32_t number = 0; number < wires->cables_.size(); ++number) {
        TRY(wires->tester_->start_wire({}, number));
    }
    return wires;
}

bool HostWires::by_packet_sockets() const {
    return std::ranges::any_of(tester_->ports(), [](const port::PortInfo& port) {
        return port.driver == "net_af_packet";
    });
}

Result<HostWires::Report> HostWires::stop(const std::string& name) {
    Report report;
    report.facts.title = fmt::format("Cables that the tester carried in {}", name);
    for (std::uint32_t number = 0; number < cables_.size(); ++number) {
        const std::string& host = cables_[number].host;
        const std::string file = name + "." + host + "-cable.pcapng";
        const std::string path = evidence_path(context_.options.out_dir, file);
        const auto seen = TRY(tester_->stop_wire(path, number));
        tell(number, seen, report);
        if (!seen.kept.empty() && !path.empty()) {
            report.evidence.push_back(
                {"evidence/" + file,
                 "frames with a wrong checksum on the cable of the " + host + " (Wireshark)"});
        }
    }
    return report;
}

void HostWires::tell(std::uint32_t number, const softnic::WireReport& seen, Report& report) const {
    const lab::HostCable& cable = cables_[number];
    const softnic::WireTally& from_dut = seen.directions[0];
    const softnic::WireTally& to_dut = seen.directions[1];
    const auto know = [&](const std::string& what, std::string value) {
        report.facts.facts.push_back({.name = cable.host + ": " + what,
                                      .value = std::move(value),
                                      .status = verdict::Fact::Status::kRead,
                                      .source = "the tester's wire"});
    };
    know("tester port",
         fmt::format("{}, driver {}", cable.port, tester_->ports()[2 * number].driver));
    know("frames carried",
         fmt::format("{} to the DUT, {} from it", to_dut.forwarded, from_dut.forwarded));
    know("checksums that the tester finished",
         fmt::format("{} of the host's, {} of the DUT's",
                     to_dut.completed + to_dut.completed_by_value,
                     from_dut.completed + from_dut.completed_by_value));
    know("frames with a wrong checksum",
         fmt::format("{} to the DUT, {} from it", to_dut.bad_frames, from_dut.bad_frames));
    const auto object = [&](const std::string& what) {
        report.objections.push_back(fmt::format("cable of the {}: {}", cable.host, what));
    };
    for (const std::string& objection : seen.objections) {
        object(objection);
    }
    const std::uint64_t refused = from_dut.not_forwarded + to_dut.not_forwarded;
    if (refused != 0) {
        object(fmt::format("the tester could not pass on {} frames", refused));
    }
    if (from_dut.bad_frames != 0) {
        object(fmt::format("{} frames left the DUT with a wrong checksum", from_dut.bad_frames));
    }
}

void close_wires(Context& context, verdict::ScenarioResult& result) {
    if (context.wires == nullptr) {
        return;
    }
    auto report = context.wires->stop(context.scenario->id);
    std::string objections =
        report ? fmt::format("{}", fmt::join(report->objections, "; ")) : report.error().message;
    if (report) {
        context.measured.know(std::move(report->facts));
        std::ranges::move(report->evidence, std::back_inserter(result.evidence));
    }
    if (!objections.empty()) {
        result.verdict = verdict::ScenarioVerdict::kInconclusive;
        result.headline =
            fmt::format("{}. What was seen may come of that: {}", objections, result.headline);
    }
}

}  // namespace pathproof::scenario
