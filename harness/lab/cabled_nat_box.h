// A NAT box whose DUT is not the lab's own namespace: a machine, a namespace of somebody's or a guest.
// It is changed by its agent alone, which puts it back.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/agent/client.h"
#include "harness/agent/device_info.h"
#include "harness/agent/host_change.h"
#include "harness/lab/dut_agent.h"
#include "harness/lab/lab_file.h"
#include "harness/lab/veth_lab.h"

namespace pathproof::lab {

// What the file lacks for one: two cabled ports with 'clients', one with 'servers'. Empty: nothing.
std::string missing_for_nat(const LabFile& file);

// A tester port and the DUT's device at the other end of its cable.
struct Cable {
    const TesterPort* port = nullptr;
    const DutDevice* device = nullptr;
};

class CabledNatBox : public NatBox {
  public:
    // Both must outlive it, and nothing may be missing in the file.
    CabledNatBox(const LabFile& file, DutAgent& dut);
    ~CabledNatBox() override { dut_.put_back(); }

    std::vector<PortPlan> port_plans() const override {
        std::vector<PortPlan> plans;
        for (const Cable& cable : cables_) {
            plans.push_back({cable.port->addresses, cable.port->queues});
        }
        return plans;
    }
    bool is_of_this_machine() const override { return file_.dut.kind == Dut::Kind::kNetns; }
    Result<std::shared_ptr<agent::Client>> agent() override { return agent_; }
    Status meet(const std::vector<frame::MacAddress>& tester_ports) override;
    Status set_sysctl(const std::string& name, const std::string& value) override;
    Result<std::string> steer(const std::string& device, const std::string& cpu_mask) override;

  private:
    Status load(const std::string& nat_table, const Sysctls& sysctls) override;
    Status flush() override;
    Status meet_device(const Cable& cable, const agent::DeviceInfo& info,
                       std::vector<agent::HostChange>& changes) const;
    void carry(std::vector<agent::HostChange>& changes) const;

    const LabFile& file_;
    DutAgent& dut_;
    std::shared_ptr<agent::Client> agent_;
    std::vector<Cable> cables_;  // two of clients, that of the servers
};

}  // namespace pathproof::lab
