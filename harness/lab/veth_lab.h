// The built-in lab: namespaces, veth pairs, vxlan devices, routes and iptables rules of the running
// kernel as the DUT, in two shapes; a third is in nat_path.h. Names begin with "pp-RUN-"; nothing in it has a way out.
//
// Addresses: benchmarking (198.18.0.0/15, RFC 2544) and documentation ranges (RFC 5737) only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"
#include "harness/agent/client.h"
#include "harness/lab/journal.h"
#include "harness/lab/lab_file.h"
#include "harness/lab/port_plan.h"
#include "harness/lab/snat.h"

namespace pathproof::lab {

class Namespaces;

// Name and value.
using Sysctls = std::vector<std::pair<std::string, std::string>>;

// overlay: pod A - node A - [tester: wire of two DPDK ports] - node B - pod B
//
//   pod-a eth0 198.18.10.2/24 -- pod0 node-a eth0 198.51.100.1/24 -- u0 tester u1 -- eth0
//   198.51.100.2/24 node-b pod0 -- eth0 198.18.20.2/24 pod-b vxlan device `vx` (VNI 42, UDP 4789)
//   on both nodes: 198.18.0.1/30 and 198.18.0.2/30, routes to the far pods.
struct OverlayOptions {
    bool udp_checksum = true;  // vxlan udpcsum / noudpcsum
    // Outer SNAT: POSTROUTING -o eth0 -p udp --dport 4789 MASQUERADE --random-fully.
    bool masquerade = true;
};

struct OverlayNames {
    std::string tester, node_a, node_b, pod_a, pod_b;  // network namespaces
    std::string tester_port_a = "u0", tester_port_b = "u1";
    std::string underlay = "eth0", vxlan = "vx";
    frame::IpAddress node_a_address, node_b_address;
    frame::IpAddress pod_a_address, pod_b_address;
    // Of node A's underlay device, where that is not one that the lab makes.
    std::optional<frame::MacAddress> node_a_mac = std::nullopt;
    std::uint32_t vni = 42;
    std::uint16_t vxlan_port = 4789;
};

class Overlay {
  public:
    enum class Place { kNodeA, kNodeB, kPodA, kPodB };
    // The built-in one, with the default options. The journal must outlive it.
    static Result<std::unique_ptr<Overlay>> build(Journal& journal);
    virtual ~Overlay() = default;
    const OverlayNames& names() const { return names_; }
    // What it is made of, for the report; nothing: as the lab is described.
    virtual RoleFacts facts() const { return {}; }
    // The agent there. An own one is started for who asks.
    virtual Result<std::shared_ptr<agent::Client>> agent(Place place) const;
    // Of the tester's port on node A's cable, where that is what a user names. Nothing: both ports are kernel interfaces
    // of the lab's own.
    virtual std::optional<PortPlan> port_plan() const { return std::nullopt; }
    // Makes both nodes' vxlan devices and outer NAT rules anew; flows and neighbours start from
    // nothing.
    virtual Status configure(const OverlayOptions& options) = 0;
    // Joins u0 and u1 by a bridge of the kernel, for use without a DPDK wire: the kernel's own
    // control experiment.
    Status join_by_bridge();

  protected:
    OverlayNames names_;
};

// nat-box: tester c0, c1 (clients) - DUT with kube-proxy-shaped Service rules - tester s0 (servers)
//
//   tester c0 -- d0 198.18.0.1/32 dut       clients 198.18.0.0/17 behind c0, 198.18.128.0/17 behind
//   c1 tester c1 -- d1               dut       (the DUT reaches both through permanent neighbours;
//   198.18.0.x is taken) tester s0 -- ds 203.0.113.1/24 dut      backends 203.0.113.2, .3, ...
//   carrier: vxlan device `vx` (VNI 42, UDP 4789) on d0, for clients 198.19.0.0/16 that come in
//   VXLAN
struct NatBoxOptions {
    // DNAT targets of the service, each with equal probability (statistic random).
    unsigned backends = 2;
    using Snat = lab::Snat;
    Snat snat = Snat::kNone;
    unsigned udp_timeout_s = 30;  // nf_conntrack_udp_timeout of the DUT's namespace
};

struct NatBoxNames {
    std::string tester, dut;  // network namespaces
    std::vector<std::string> client_ports = {"c0", "c1"};
    std::string server_port = "s0";
    std::vector<std::string> dut_client_devices = {"d0", "d1"};
    std::string dut_server_device = "ds";
    std::string vxlan = "vx";  // empty: no clients come in VXLAN
    // What rules that are there beside those of configure() do to clients' packets.
    Snat own_snat = Snat::kNone;
    frame::Endpoint service;                 // 198.51.100.10:53
    std::vector<frame::IpAddress> servers;   // that there may be: 203.0.113.2 ...
    std::vector<frame::IpAddress> backends;  // the first of them: those of the service
    frame::IpAddress first_client[2];        // plain clients behind c0 and behind c1
    frame::IpAddress first_carried_client;   // clients that come in VXLAN through c0
    frame::MacAddress tester_client_mac[2], tester_server_mac;  // of c0, c1, s0
    frame::MacAddress dut_client_mac[2], dut_server_mac;        // of d0, d1, ds
    // The VXLAN carrier on c0/d0: outer addresses, and the inner Ethernet addresses on both sides.
    frame::IpAddress carrier_tester, carrier_dut;
    frame::MacAddress carried_tester_mac,
        carried_dut_mac;  // inner: behind the tester's VTEP, and of vx
    std::uint32_t vni = 42;
    std::uint16_t vxlan_port = 4789;
};

// A DUT that is somebody's is changed by its agent alone; one that is the lab's own namespace goes
// with it, and is changed from here.
class NatBox {
  public:
    // The built-in one, with the default options. The journal must outlive it.
    static Result<std::unique_ptr<NatBox>> build(Journal& journal);
    virtual ~NatBox() = default;

    const NatBoxNames& names() const { return names_; }
    virtual RoleFacts facts() const { return {}; }  // see Overlay
    // The tester's ports in the order of the names, where they are what a user names. None: they are
    // kernel interfaces of the lab's own.
    virtual std::vector<PortPlan> port_plans() const = 0;
    // Whether the DUT runs on the CPUs that the tester runs on.
    virtual bool is_of_this_machine() const { return true; }
    // Tells the addresses of the tester's ports in the order of the names, once they are open:
    // before it the DUT may not reach them.
    virtual Status meet(const std::vector<frame::MacAddress>& tester_ports) = 0;
    // The agent on the DUT.
    virtual Result<std::shared_ptr<agent::Client>> agent() = 0;
    // Replaces the nat table in one step, sets the timeouts, flushes conntrack; `names().backends`
    // follows.
    Status configure(const NatBoxOptions& options);
    // Receive packet steering of a DUT's device; gives the former CPU mask.
    virtual Result<std::string> steer(const std::string& device, const std::string& cpu_mask) = 0;
    // A sysctl of the DUT or of its whole host, until it is set back: an empty value does.
    virtual Status set_sysctl(const std::string& name, const std::string& value) = 0;

  protected:
    // The DUT's nat table, as iptables-restore takes it, and sysctls.
    virtual Status load(const std::string& nat_table, const Sysctls& sysctls) = 0;
    // Forgets the DUT's connections.
    virtual Status flush() = 0;

    NatBoxNames names_;
};

// One whose DUT is a namespace of the lab's own; its host is this one.
class NamespaceNatBox : public NatBox {
  public:
    std::vector<PortPlan> port_plans() const override { return {}; }
    Result<std::shared_ptr<agent::Client>> agent() override;
    Result<std::string> steer(const std::string& device, const std::string& cpu_mask) override;
    Status set_sysctl(const std::string& name, const std::string& value) override;

  protected:
    explicit NamespaceNatBox(Journal& journal) : journal_(journal) {}
    Status flush() override;

  private:
    Journal& journal_;
    std::shared_ptr<agent::Client> agent_;
};

}  // namespace pathproof::lab
