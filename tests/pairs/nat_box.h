// A DUT of namespaces for the races: client devices d0 and d1, server device ds, a service of two
// backends by DNAT with equal chances, as kube-proxy writes it. The test's own process is the
// tester, in the other namespace.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dataplane/frame/dns.h"
#include "dataplane/pairs/pair_plan.h"
#include "dataplane/port/port.h"
#include "dataplane/traffic/answer_rule.h"

namespace pathproof::pairs {

// Makes the namespaces and enters the tester's; to be made before the EAL starts.
class NatBox {
  public:
    NatBox();
    NatBox(const NatBox&) = delete;
    NatBox& operator=(const NatBox&) = delete;
    ~NatBox();

    // A counter of `conntrack -S`, summed over the CPUs.
    std::uint64_t conntrack(const std::string& counter) const;
    // Runs a script in the DUT's namespace and returns what it prints.
    std::string in_dut(const std::string& script) const;

    // Pairs from one socket by c0 and c1 (ports 0 and 1) to the service; answers come to c0.
    PairPlan plan(std::uint64_t pairs) const;
    // Plan of the responder on s0 (port 2).
    traffic::ResponderPlan responder() const;

  private:
    std::string tester_;
    std::string dut_;
};

inline const std::array<std::string, 3> kTesterPorts = {"c0", "c1", "s0"};

}  // namespace pathproof::pairs
