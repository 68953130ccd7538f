#include "harness/scenario/performance/path_bench.h"

#include <algorithm>

#include "dataplane/port/device_name.h"
#include "harness/agent/device_info.h"
#include "harness/ports/open.h"
#include "harness/scenario/device_facts.h"

namespace pathproof::scenario::performance {
namespace {

constexpr std::size_t kFrom = 0;  // index of the first client port among the tester's
constexpr std::size_t kTo = 2;    // and of the server port
constexpr std::uint16_t kEcho = 7;
constexpr unsigned kHeaderAndFcs = 18;

}  // namespace

Result<std::unique_ptr<PathBench>> PathBench::open(Context& context) {
    std::unique_ptr<PathBench> bench(new PathBench(context));
    bench->lab_ = TRY(context.lab.nat_box(context.journal));
    bench->dut_ = bench->lab_->agent();
    TRY(bench->open_ports());
    std::vector<frame::MacAddress> addresses;
    for (const port::PortInfo& port : bench->tester_->ports()) {
        addresses.push_back(port.mac);
    }
    TRY(bench->lab_->meet(addresses));
    bench->measurer_ = std::make_unique<tester::RemoteMeasurer>(*bench->tester_);
    const auto in = TRY(bench->dut_->device(bench->in_device()));
    const auto out = TRY(bench->dut_->device(bench->out_device()));
    bench->mtu_ = std::min(in.mtu, out.mtu);
    context.measured.know_dpdk(bench->tester_->dpdk_version());
    TRY(bench->describe());
    return bench;
}

PathBench::~PathBench() {
    // The lab puts back what is left: its agent hears no more of us then.
    static_cast<void>(set({}));
}

Status PathBench::open_ports() {
    std::vector<port::PortRequest> ports;
    const lab::NatBoxNames& names = lab_->names();
    const std::vector<lab::PortPlan> plans = lab_->port_plans();
    for (const std::string& name :
         {names.client_ports[0], names.client_ports[1], names.server_port}) {
        if (plans.empty()) {
            ports.push_back({name, port::af_packet_device(name)});
            continue;
        }
        const lab::PortPlan& plan = plans[ports.size()];
        auto port = TRY(ports::choose_port(name, names.tester, plan.queues, &plan.addresses));
        ports.push_back(std::move(port));
    }
    tester_ = TRY(ports::open_tester({.netns = names.tester,
                                      .ports = ports,
                                      .worker_cpus = context_.options.cpus,
                                      .hugepages = context_.options.hugepages},
                                     plans.empty() ? std::vector<port::PortRequest>() : ports,
                                     context_.journal));
    return {};
}

Medium PathBench::medium() const {
    const port::PortInfo& from = tester_->ports().at(kFrom);
    const port::PortInfo& to = tester_->ports().at(kTo);
    const bool physical =
        from.evidence == port::Evidence::kPhysical && to.evidence == port::Evidence::kPhysical;
    return {.line_mbps = physical ? std::min(from.link_mbps, to.link_mbps) : 0.0,
            .is_software = !physical};
}

std::string PathBench::too_long(std::uint16_t bytes) const {
    return bytes <= mtu_ + kHeaderAndFcs
               ? ""
               : fmt::format("the DUT's devices have an MTU of {}, and frames of {} bytes take {}",
                             mtu_, bytes, bytes - kHeaderAndFcs);
}

Status PathBench::start(const std::vector<measure::FrameShare>& frames) {
    if (is_started_) {
        TRY(stop());
    }
    const lab::NatBoxNames& names = lab_->names();
    const std::vector<lab::PortPlan> plans = lab_->port_plans();
    const measure::PathLoad load{.from = kFrom,
                                 .to = kTo,
                                 .queues = plans.empty()
                                               ? std::uint16_t{1}
                                               : std::min(plans[kFrom].queues, plans[kTo].queues),
                                 .frames = frames,
                                 .source_mac = names.tester_client_mac[0],
                                 .destination_mac = names.dut_client_mac[0],
                                 .source = names.first_client[0],
                                 .destination = {names.servers.front(), kEcho},
                                 .seed = context_.options.seed};
    TRY(tester_->start_load(load));
    is_started_ = true;
    return {};
}

Result<tester::LoadEnd> PathBench::stop() {
    is_started_ = false;
    return tester_->stop_load();
}

const std::string& PathBench::in_device() const {
    return lab_->names().dut_client_devices[0];
}

const std::string& PathBench::out_device() const {
    return lab_->names().dut_server_device;
}

unsigned PathBench::dut_cpus() const {
    return std::max(1u, static_cast<unsigned>(dut_->hello().cpus));
}

Status PathBench::set(const setting::Settings& settings) {
    return lab_->set(settings);
}

Status PathBench::describe() {
    if (const lab::RoleFacts facts = lab_->facts(); !facts.empty()) {
        context_.measured.know(role_facts(facts, "What the NAT box is made of"));
    }
    if (!is_shared()) {
        const auto of_host = TRY(host_facts(*dut_));
        for (const verdict::FactGroup& each : of_host) {
            context_.measured.know(each);
        }
    }
    for (const std::string& device : {in_device(), out_device()}) {
        auto group = TRY(device_facts(*dut_, device, "DUT device " + device + " (NAT box)"));
        context_.measured.know(std::move(group));
    }
    context_.measured.know(port_facts(tester_->ports(), "Tester ports of the NAT box lab"));
    return {};
}

}  // namespace pathproof::scenario::performance
