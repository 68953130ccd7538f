// overlay: pod A - node A - [tester: wire of two DPDK ports] - node B - pod B
//
//   pod-a eth0 198.18.10.2/24 -- pod0 node-a eth0 198.51.100.1/24 -- u0 tester u1 -- eth0
//   198.51.100.2/24 node-b pod0 -- eth0 198.18.20.2/24 pod-b vxlan device `vx` (VNI 42, UDP 4789)
//   on both nodes: 198.18.0.1/30 and 198.18.0.2/30, routes to the far pods.
//
// Names begin with "pp-RUN-"; nothing in it has a way out. Addresses: benchmarking (198.18.0.0/15, RFC 2544) and
// documentation ranges (RFC 5737) only. The tunnel and the outer NAT are settings of cells (lab/hosts.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"
#include "harness/lab/hosts.h"
#include "harness/lab/journal.h"
#include "harness/lab/port_plan.h"
#include "harness/lab/snat.h"

namespace pathproof::lab {

struct OverlayNames {
    std::string tester, node_a, node_b, pod_a, pod_b;  // network namespaces
    std::string tester_port_a = "u0", tester_port_b = "u1";
    std::string underlay = "eth0", vxlan = "vx";
    frame::IpAddress node_a_address, node_b_address;
    frame::IpAddress pod_a_address, pod_b_address;
    // The address of node A's underlay device, where that is not one that the lab makes.
    std::optional<frame::MacAddress> node_a_mac = std::nullopt;
    std::uint32_t vni = 42;
    std::uint16_t vxlan_port = 4789;
};

class Overlay {
  public:
    // The built-in one, with its tunnel. The journal must outlive it.
    static Result<std::unique_ptr<Overlay>> build(Journal& journal);
    virtual ~Overlay() = default;
    const OverlayNames& names() const { return names_; }
    // Its parts, for the report; nothing: as the lab is described.
    virtual RoleFacts facts() const { return {}; }
    // The tester's port on node A's cable, where a user names it. Nothing: both ports are kernel interfaces
    // of the lab's own.
    virtual std::optional<PortPlan> port_plan() const { return std::nullopt; }
    // Nodes A and B, which are DUTs and ends of the tunnel, and pods A and B, which are clients.
    Hosts& hosts() { return hosts_; }

    // Both nodes' vxlan devices, with outer UDP checksums (udpcsum) or without.
    virtual Settings tunnel(bool udp_checksum) const;
    // Outer SNAT on both nodes, which draws the port: POSTROUTING -o eth0 -p udp --dport 4789.
    setting::Setting outer_snat() const;
    // Both, as most clusters have them.
    Settings usual() const { return both(tunnel(true), {outer_snat()}); }
    // The hosts have these settings and no others, with the tunnel's devices made anew, so that they have the features
    // that new ones have; flows and neighbours start from nothing.
    virtual Status set_anew(const Settings& settings);

    // Joins the tester's two ports by a bridge of the kernel, for use without a DPDK wire: the kernel's own control
    // experiment.
    Status join_by_bridge();
    // Has node A's end of the built-in cable, and the tester's, carry packets of this length, until the lab goes.
    Status lengthen_cable(unsigned mtu);

  protected:
    OverlayNames names_;
    Hosts hosts_;
};

}  // namespace pathproof::lab
