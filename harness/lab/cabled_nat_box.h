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
#include "harness/lab/nat_box.h"

namespace pathproof::lab {

// Returns what the file lacks for a NAT box, which takes two cabled ports with 'clients' and one
// with 'servers'. Empty: nothing.
std::string missing_for_nat(const LabFile& file);

// A tester port and the DUT's device at the other end of its cable.
struct Cable {
    const TesterPort* port = nullptr;
    const DutDevice* device = nullptr;
};

class CabledNatBox : public NatBox {
  public:
    // Both must outlive it, and nothing may be missing in the file.
    CabledNatBox(const LabFile& file, DutAgent& dut, Tables tables);
    ~CabledNatBox() override { hosts_.end(); }

    std::vector<PortPlan> port_plans() const override {
        std::vector<PortPlan> plans;
        for (const Cable& cable : cables_) {
            plans.push_back({cable.port->addresses, cable.port->queues});
        }
        return plans;
    }
    bool is_of_this_machine() const override { return file_.dut.kind == Dut::Kind::kNetns; }
    Status meet(const std::vector<frame::MacAddress>& tester_ports) override;

  private:
    Status meet_device(const Cable& cable, const agent::DeviceInfo& info,
                       std::vector<agent::HostChange>& changes) const;
    void carry(std::vector<agent::HostChange>& changes) const;

    const LabFile& file_;
    std::vector<Cable> cables_;  // two of clients, that of the servers
};

}  // namespace pathproof::lab
