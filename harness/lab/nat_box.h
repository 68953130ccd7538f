// nat-box: tester c0, c1 (clients) - DUT with kube-proxy-shaped Service rules - tester s0 (servers)
//
//   tester c0 -- d0 198.18.0.1/32 dut       clients 198.18.0.0/17 behind c0, 198.18.128.0/17 behind
//   c1 tester c1 -- d1               dut       (the DUT reaches both through permanent neighbours;
//   198.18.0.x is taken) tester s0 -- ds 203.0.113.1/24 dut      backends 203.0.113.2, .3, ...
//   carrier: vxlan device `vx` (VNI 42, UDP 4789) on d0, for clients 198.19.0.0/16 that come in
//   VXLAN
//
// The service, source NAT and timeouts are settings of cells (lab/hosts.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"
#include "harness/lab/hosts.h"
#include "harness/lab/journal.h"
#include "harness/lab/port_plan.h"
#include "harness/lab/snat.h"

namespace pathproof::lab {

inline constexpr unsigned kUsualBackends = 2;

struct NatBoxNames {
    std::string tester, dut;  // network namespaces
    std::vector<std::string> client_ports = {"c0", "c1"};
    std::string server_port = "s0";
    std::vector<std::string> dut_client_devices = {"d0", "d1"};
    std::string dut_server_device = "ds";
    std::string vxlan = "vx";  // empty: no clients come in VXLAN
    // Source NAT of clients' packets by rules that are there beside those of settings.
    Snat own_snat = Snat::kNone;
    frame::Endpoint service;                // 198.51.100.10:53
    std::vector<frame::IpAddress> servers;  // that the service may have: 203.0.113.2 ...
    frame::IpAddress first_client[2];       // plain clients behind c0 and behind c1
    frame::IpAddress first_carried_client;  // clients that come in VXLAN through c0
    frame::MacAddress tester_client_mac[2], tester_server_mac;  // of c0, c1, s0
    frame::MacAddress dut_client_mac[2], dut_server_mac;        // of d0, d1, ds
    // The VXLAN carrier on c0/d0: outer addresses, and the inner Ethernet addresses on both sides.
    frame::IpAddress carrier_tester, carrier_dut;
    frame::MacAddress carried_tester_mac,
        carried_dut_mac;  // inner: behind the tester's VTEP, and of vx
    std::uint32_t vni = 42;
    std::uint16_t vxlan_port = 4789;
};

class NatBox {
  public:
    // The built-in one. The journal must outlive it.
    static Result<std::unique_ptr<NatBox>> build(Journal& journal);
    virtual ~NatBox() = default;

    const NatBoxNames& names() const { return names_; }
    virtual RoleFacts facts() const { return {}; }  // see Overlay
    // The tester's ports in the order of the names, where they are what a user names. None: they are
    // kernel interfaces of the lab's own.
    virtual std::vector<PortPlan> port_plans() const { return {}; }
    // Returns whether the DUT shares the tester's CPUs.
    virtual bool is_of_this_machine() const { return true; }
    // Tells the addresses of the tester's ports in the order of the names, once they are open:
    // before it the DUT may not reach them.
    virtual Status meet(const std::vector<frame::MacAddress>& /*tester_ports*/) { return {}; }
    // The DUT alone; the tester plays clients and servers. After meet() it has the settings of set({}).
    Hosts& hosts() { return hosts_; }
    std::shared_ptr<agent::Client> agent() const { return hosts_.shared_agent(HostRole::kDut); }

    // The service, spread equally over its first servers (statistic random). kBadInput, with the range, for a number that
    // the lab does not have.
    Result<setting::Setting> service(unsigned backends) const;
    setting::Setting snat(Snat how) const;
    // These settings, and for those of a NAT box that are not among them the usual ones: a service with two backends, no
    // source NAT, UDP timeouts of 30 s. Flows start from nothing.
    Status set(const Settings& settings);

  protected:
    // Once the DUT has its part of the topology: conntrack tells of its entries, and the usual settings are there.
    Status begin();

    NatBoxNames names_;
    Hosts hosts_;
};

}  // namespace pathproof::lab
