// nat-path: a client and a server, each a host of the kernel, with a NAT between them
//
//   client c0 198.18.0.2/24 -- d0 198.18.0.1/24 dut d1 203.0.113.1/24 -- s0 203.0.113.2/24 server
//   with a neighbour: 198.18.0.3/24 n0 -- d2; d0 and d2 are ports of br0, which has d0's address
//
// What the hosts do beyond forwarding is set on them (lab/hosts.h).
#pragma once

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

class Namespaces;

struct NatPathNames {
    std::string client, dut, server;  // network namespaces
    std::string neighbour;
    std::string neighbour_device = "n0", dut_neighbour_device = "d2", bridge = "br0";
    frame::IpAddress neighbour_address;
    frame::Endpoint web_service;  // 198.51.100.10:80
    std::string client_device = "c0", dut_client_device = "d0";
    // Port to the client if dut_client_device is a bridge, which asks netfilter before it hands a
    // packet up.
    std::string dut_client_port;
    const std::string& first_of_dut() const {
        return dut_client_port.empty() ? dut_client_device : dut_client_port;
    }
    std::string dut_server_device = "d1", server_device = "s0";
    frame::IpAddress client_address, dut_client_address;
    frame::IpAddress dut_server_address, server_address;
    frame::Endpoint service;                  // 198.51.100.10:53
    std::vector<frame::IpAddress> endpoints;  // the two of the service, both the server's
    std::string client_shortcut = "c1", server_shortcut = "s1";
    frame::IpAddress node_cache;  // 169.254.20.10
    std::string vxlan = "vx";     // of the tunnel: VNI 42, UDP 4789
    frame::IpAddress client_inner, server_inner;
    // Translation of the client's source by rules that are there beside those of settings.
    Snat own_snat = Snat::kNone;
};

// A host behind a port of the tester, on a cable of a DUT that is somebody's: the tester carries what goes between both,
// and judges it.
struct HostCable {
    std::string host;  // "client"
    std::string tester_netns;
    std::string port;               // of the tester, on the cable, as ports::choose_port() takes it
    bool is_kernel_device = false;  // that port is a kernel interface, over whichever sockets
    PortPlan plan;                  // of it
    std::string to_host;  // the kernel interface in the tester's namespace that leads to the host
};

// kNode: on the DUT itself, as a pod is on its node. What it sends at one instant on two CPUs the DUT takes in on two;
// behind a cable that comes by one receive queue.
enum class ClientAt { kAnywhere, kNode };

class NatPath {
  public:
    // The built-in one. The journal must outlive it.
    static Result<std::unique_ptr<NatPath>> build(Journal& journal);
    // Deletes the namespaces and ends what runs in them (unless the journal was kept).
    virtual ~NatPath();
    const NatPathNames& names() const { return names_; }
    virtual RoleFacts facts() const { return {}; }  // see Overlay
    // Cables that the tester must carry before the hosts reach each other. None: the kernel joins
    // them.
    virtual std::vector<HostCable> cables() const { return {}; }
    // Has the DUT hand no frame longer than its MTU to a cable, as a virtual device may. Behind AF_XDP the kernel sees to
    // that itself.
    virtual Status cut_long_frames() { return {}; }
    // With the addresses of that family.
    const NatPathNames& names(frame::Family family) const {
        return family == frame::Family::kIpv4 ? names_ : names6_;
    }
    // The client, the DUT and the server; both ends of a tunnel are the client and the server.
    Hosts& hosts() { return hosts_; }

    // A second host on the client's network, on one bridge of the DUT with the client. kKernelLacks
    // without br_netfilter.
    virtual Status add_neighbour();
    // IPv6 addresses and routes beside those of IPv4. kKernelLacks without IPv6.
    virtual Status add_ipv6();
    bool has_ipv6() const { return has_ipv6_; }
    // A link of the client and the server beside the DUT. Nothing takes it but what passes by.
    Status add_shortcut();
    // Further addresses of the server, one or more, of one family.
    Status add_server_addresses(const std::vector<frame::IpAddress>& addresses);

    // Returns the output of `iptables-save --counters` on the DUT, with our rules in the chains that
    // their text names (front_rules.h).
    virtual Result<std::string> counted_rules(frame::Family family = frame::Family::kIpv4) const;

  protected:
    explicit NatPath(Journal& journal);
    // Once the three hosts have their agents: sets what every cell has.
    Status begin_settings();
    // Once the neighbour is on the bridge, and has its agent: answers cross it past conntrack.
    Status keep_bridge();
    Status begin_ipv6();
    // Has these devices of a host of the lab's own take IPv6 addresses. kKernelLacks without IPv6.
    Status keep_ipv6(HostRole host, const std::vector<std::string>& devices);

    NatPathNames names_;
    NatPathNames names6_;
    std::unique_ptr<Namespaces> namespaces_;
    Hosts hosts_;

  private:
    bool has_ipv6_ = false;
};

}  // namespace pathproof::lab
