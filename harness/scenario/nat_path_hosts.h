// The lab of a client, a DUT and a server, with the agent on each.
#pragma once

#include <memory>

#include "harness/agent/client.h"
#include "harness/lab/nat_path.h"
#include "harness/lab/path_settings.h"
#include "harness/scenario/host_wires.h"
#include "harness/scenario/scenario.h"

namespace pathproof::scenario {

struct NatPathHosts {
    static Result<NatPathHosts> open(Context& context,
                                     lab::ClientAt client = lab::ClientAt::kAnywhere);

    // IPv6 on all three. Gives what the kernel lacks for it; empty: nothing.
    Result<std::string> add_ipv6();

    // The hosts have these settings from now on, and those of a cure that is tried on top.
    Status set(const lab::Settings& settings, lab::Flows flows = lab::Flows::kForget);

    // Packets of the client's wire, both ways, since it is there.
    Result<std::uint64_t> client_packets() const;

    const lab::NatPathNames& names() const { return lab->names(); }

    std::unique_ptr<lab::NatPath> lab;
    std::unique_ptr<HostWires> wires;  // null: the kernel joins the hosts
    std::shared_ptr<agent::Client> client, dut, server;
    lab::Settings cure = {};
};

}  // namespace pathproof::scenario
