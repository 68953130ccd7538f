// The NAT path on a DUT that is somebody's, with two cables: the client and the server are network namespaces of the
// tester's machine, each behind a port of the tester on its cable. The DUT is changed by its agents alone.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/lab/dut_agent.h"
#include "harness/lab/lab_file.h"
#include "harness/lab/nat_path.h"

namespace pathproof::lab {

// The agents of a DUT; both may be the same.
struct DutAgents {
    DutAgent* host = nullptr;  // makes network namespaces
    DutAgent* dut = nullptr;   // where the devices of the file are
    std::string netns;         // what that namespace is called; empty: it has no name
    Tables tables = Tables::kOurs;
    std::shared_ptr<void> parts = nullptr;  // that must outlive what is built with them
};

// Says why the file cannot have one; empty: it can.
std::string missing_for_nat_path(const LabFile& file);

// The file and the agents must outlive it, and nothing may be missing in the file. `facts`: of the DUT.
Result<std::unique_ptr<NatPath>> cabled_nat_path(Journal& journal, const LabFile& file,
                                                 const DutAgents& agents, ClientAt client,
                                                 RoleFacts facts);

// The interface of the tester's namespace behind which a host's network namespace lies: a veth pair, whose other end is
// `device` there. It neither asks nor answers, and hands no frame longer than its MTU to the tester.
Status join_host(const std::string& tester_netns, const std::string& to_host,
                 const std::string& host_netns, const std::string& device);

// Brings a kernel interface up that neither asks nor answers: what is behind it is the tester's.
Status bring_up_unheard(const std::string& netns, const std::string& device);

}  // namespace pathproof::lab
