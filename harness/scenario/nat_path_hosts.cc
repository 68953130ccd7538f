#include "harness/scenario/nat_path_hosts.h"

#include "harness/scenario/device_facts.h"
#include "harness/scenario/measures.h"

namespace pathproof::scenario {

Result<NatPathHosts> NatPathHosts::open(Context& context, lab::ClientAt client) {
    NatPathHosts hosts;
    hosts.lab = TRY(context.lab.nat_path(context.journal, client));
    if (const lab::RoleFacts facts = hosts.lab->facts(); !facts.empty()) {
        context.measured.know(role_facts(facts, "What the NAT path is made of"));
    }
    if (auto cables = hosts.lab->cables(); !cables.empty()) {
        hosts.wires = TRY(HostWires::start(context, std::move(cables)));
        TRY(hosts.wires->by_packet_sockets() ? hosts.lab->cut_long_frames() : Status());
    }
    context.wires = hosts.wires.get();
    hosts.cure = context.options.cure;
    hosts.client = hosts.lab->hosts().shared_agent(lab::HostRole::kClient);
    hosts.dut = hosts.lab->hosts().shared_agent(lab::HostRole::kDut);
    hosts.server = hosts.lab->hosts().shared_agent(lab::HostRole::kServer);
    return hosts;
}

Status NatPathHosts::set(const lab::Settings& settings, lab::Flows flows) {
    return lab->hosts().set(both(settings, cure), flows);
}

Result<std::string> NatPathHosts::add_ipv6() {
    const Status added = lab->add_ipv6();
    if (!added && added.error().code != ErrorCode::kKernelLacks) {
        return pass_on(added.error());
    }
    return added ? "" : added.error().message;
}

Result<std::uint64_t> NatPathHosts::client_packets() const {
    const auto counters = TRY(dut->counters());
    return value_in(counters, names().dut_client_device + ".rx_packets") +
           value_in(counters, names().dut_client_device + ".tx_packets");
}

}  // namespace pathproof::scenario
