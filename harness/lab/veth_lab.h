// The built-in lab: namespaces, veth pairs, vxlan devices, routes and iptables rules of the running
// kernel as the DUT, in two shapes. Names begin with "pp-RUN-"; nothing in it has a way out.
//
// Addresses: benchmarking (198.18.0.0/15, RFC 2544) and documentation ranges (RFC 5737) only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"
#include "harness/agent/client.h"
#include "harness/lab/journal.h"
#include "harness/lab/lab_file.h"

namespace pathproof::lab {

class Namespaces;

// Name and value.
using Sysctls = std::vector<std::pair<std::string, std::string>>;
using RoleFacts = std::vector<std::pair<std::string, std::string>>;

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
    std::uint32_t vni = 42;
    std::uint16_t vxlan_port = 4789;
};

class Overlay {
  public:
    // The built-in one, with the default options. The journal must outlive it.
    static Result<std::unique_ptr<Overlay>> build(Journal& journal);
    virtual ~Overlay() = default;
    const OverlayNames& names() const { return names_; }
    // What it is made of, for the report; nothing: as the lab is described.
    virtual RoleFacts facts() const { return {}; }
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
    enum class Snat { kNone, kMasquerade, kMasqueradeRandomFully } snat = Snat::kNone;
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
    NatBoxOptions::Snat own_snat = NatBoxOptions::Snat::kNone;
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

// The addresses that a port of the tester may have, and its queues.
struct PortPlan {
    std::vector<Prefix> addresses;
    std::uint16_t queues = 1;
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

// nat-path: a client and a server, each a host of the kernel, with a NAT between them
//
//   client c0 198.18.0.2/24 -- d0 198.18.0.1/24 dut d1 203.0.113.1/24 -- s0 203.0.113.2/24 server
//   with a neighbour: 198.18.0.3/24 n0 -- d2; d0 and d2 are ports of br0, which has d0's address
struct PortRange {
    std::uint16_t first = 0;
    std::uint16_t last = 0;  // 0: as the kernel has it
    bool operator==(const PortRange&) const = default;
};

// A VXLAN tunnel of the client and the server, which are its VTEPs, by way of the DUT as a router.
struct TunnelOptions {
    unsigned mtu = 1450;      // of the vxlan devices
    unsigned hop_mtu = 1400;  // of the DUT's routes to both
    bool df = false;          // in the outer header
    bool icmp = true;         // the DUT's ICMP "fragmentation needed" leaves it
    // The VTEPs take outer fragments; they may discard them silently (RFC 7348, section 4.3).
    bool fragments = true;
    unsigned mss = 0;  // that both set in SYNs through the tunnel; 0: leave it
};

struct NatPathOptions {
    NatBoxOptions::Snat snat = NatBoxOptions::Snat::kMasqueradeRandomFully;  // out of d1
    std::string snat_protocol = "tcp";                                       // or "udp"
    PortRange snat_ports;                                                    // --to-ports
    PortRange client_ports;   // net.ipv4.ip_local_port_range of the client
    unsigned timestamps = 1;  // net.ipv4.tcp_timestamps of the client
    // The service, UDP: without rules, DNAT to its first or second endpoint or to the client's
    // neighbour, or REJECT for want of one.
    enum class Service { kNone, kFirst, kSecond, kNoEndpoint, kNeighbour } service = Service::kNone;
    bool hairpin = false;  // MASQUERADE of UDP from the client's network back to it
    // What the rules of the other service, TCP, name, in the layout of kube-proxy's mode; empty: no
    // such service.
    std::vector<frame::IpAddress> web_endpoints = {};
    // The same of the service on UDP, in place of `service`'s one rule.
    std::vector<frame::IpAddress> dns_endpoints = {};
    // kIpvs: of `service`, first or second endpoint, and of `web_endpoints`, as kube-proxy's IPVS mode
    // has them; IPv4.
    enum class Proxy { kIptables, kNftables, kIpvs } proxy = Proxy::kIptables;
    // net.ipv4.vs.expire_nodest_conn, which kube-proxy sets and the kernel does not.
    bool ipvs_expires_nodest = false;
    unsigned ipvs_reuse_mode = 1;                 // net.ipv4.vs.conn_reuse_mode
    frame::Family family = frame::Family::kIpv4;  // of both services and of what is masqueraded
    unsigned udp_timeout_s = 30;  // nf_conntrack_udp_timeout of the DUT, and that of streams
    enum class Flows { kForget, kKeep } flows = Flows::kForget;  // what conntrack has of before
    bool be_liberal = false;  // nf_conntrack_tcp_be_liberal of the DUT
    // What its FORWARD chain does with TCP that conntrack calls INVALID. kCounted: lets it pass.
    enum class Invalid { kNoRule, kCounted, kDropped } invalid = Invalid::kNoRule;
    bool answers_pass_by = false;  // the server's to the client take the shortcut
    std::optional<TunnelOptions> tunnel = std::nullopt;
};

// A cure on top of whatever is configured, where the path has what it changes: for what it does to
// failures that it is not for.
struct PathCure {
    bool random_fully = false;           // of MASQUERADE where there is one
    std::optional<unsigned> timestamps;  // net.ipv4.tcp_timestamps of the client
    bool be_liberal = false;
    bool drops_invalid = false;
    bool bridge_filters = false;  // net.bridge.bridge-nf-call-iptables of the DUT
    bool hairpin = false;
    bool tunnel_checksums = true;  // tx-checksum-ip-generic of the tunnel's devices
    bool operator==(const PathCure&) const = default;
};

// What is at the address of an endpoint of the TCP service.
enum class EndpointState : std::uint8_t {
    kServes,    // the address is the server's; who listens there is the caller's
    kNobody,    // nobody holds it
    kClosed,    // the server's, and nobody listens
    kSilent,    // the server's, which drops what comes for it
    kStranger,  // the server's; who listens there is the caller's
    kRejected,  // the DUT's FORWARD chain rejects what goes there
};
inline constexpr unsigned kEndpointsOfState = 8;
inline constexpr std::uint16_t kEndpointPort = 8080;
// 203.0.113.16 + 16 * state; 2001:db8:113::10 + 16 * state.
std::vector<frame::IpAddress> endpoints_that(EndpointState state,
                                             frame::Family family = frame::Family::kIpv4);

// What NodeLocal DNSCache has on a node, in its own words (kubernetes/dns, cmd/node-cache): for its
// address and for the service's, of UDP and TCP.
struct NodeCacheRules {
    bool notrack = true;  // raw: queries and answers are not tracked
    bool accept = true;   // filter: and accepted
    // The node's INPUT policy is DROP, and it accepts what conntrack knows alone.
    bool input_by_state = false;
};

inline constexpr const char* kBridgeFilter = "net.bridge.bridge-nf-call-iptables";
inline constexpr const char* kBeLiberal = "net.netfilter.nf_conntrack_tcp_be_liberal";

// Packets that the rules with these words have counted, in what `iptables-save --counters` printed.
std::uint64_t hits_of(const std::string& rules, const std::string& words);
// The same of the rules that end with these words, in what `nft list table` printed.
std::uint64_t nft_hits_of(const std::string& table, const std::string& words);

// What the chains of that name dropped by their policy.
std::uint64_t policy_hits_of(const std::string& rules, const std::string& chain);

struct NatPathNames {
    std::string client, dut, server;  // network namespaces
    std::string neighbour;
    std::string neighbour_device = "n0", dut_neighbour_device = "d2", bridge = "br0";
    frame::IpAddress neighbour_address;
    frame::Endpoint web_service;  // 198.51.100.10:80
    std::string client_device = "c0", dut_client_device = "d0";
    // Where that is a bridge, which asks netfilter before it hands a packet up: its port to the client.
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
    std::string node_cache_device = "nodelocaldns";
    std::string ipvs_device = "kube-ipvs0";  // has the address of the service
    std::string vxlan = "vx";                // of the tunnel: VNI 42, UDP 4789
    frame::IpAddress client_inner, server_inner;
    // See NatBoxNames.
    NatBoxOptions::Snat own_snat = NatBoxOptions::Snat::kNone;
};

class NatPath {
  public:
    // The built-in one, with the default options. The journal must outlive it.
    static Result<std::unique_ptr<NatPath>> build(Journal& journal);
    // Deletes the namespaces and ends what runs in them (unless the journal was kept).
    virtual ~NatPath();
    const NatPathNames& names() const { return names_; }
    virtual RoleFacts facts() const { return {}; }  // see Overlay
    // With the addresses of that family.
    const NatPathNames& names(frame::Family family) const {
        return family == frame::Family::kIpv4 ? names_ : names6_;
    }
    // Replaces the DUT's nat table, and with a service or a tunnel its filter table; sets the
    // sysctls of both and flushes conntrack, as the options say. With a tunnel it makes that anew.
    Status configure(const NatPathOptions& options);
    // Of everything that is configured from now on.
    void apply_cure(const PathCure& cure) { cure_ = cure; }
    // A second host on the client's network, on one bridge of the DUT with the client. kKernelLacks
    // without br_netfilter.
    virtual Status add_neighbour();
    // IPv6 addresses and routes beside those of IPv4. kKernelLacks without IPv6.
    virtual Status add_ipv6();
    // Has each endpoint of the TCP service in its state, of each family that there is.
    Status add_endpoints();
    // Why Proxy::kIpvs cannot be had; empty: it can.
    std::string lacks_ipvs() const;
    // The lines of `ipvsadm -L -c -n`, a space between the words: "UDP 04:58 UDP 198.18.0.2:40000
    // 198.51.100.10:53 203.0.113.2:53".
    Result<std::vector<std::string>> ipvs_connections() const;
    // That of the service on UDP and that source port; empty: IPVS has no such connection.
    Result<std::string> ipvs_connection(std::uint16_t source_port) const;
    // A link of the client and the server beside the DUT. Nothing takes it but what passes by.
    Status add_shortcut();
    // Makes the device of NodeLocal DNSCache on the DUT, with both addresses, and its rules; or takes
    // them away. Gives what the device is: "dummy", or where the kernel lacks that "bridge without
    // ports"; empty: none.
    Result<std::string> set_node_cache(const std::optional<NodeCacheRules>& rules);
    // The rules alone: the device stays.
    Status set_node_cache_rules(const NodeCacheRules& rules);
    // What `iptables-save --counters` says of the DUT, the rules of configure() where its text has them.
    virtual Result<std::string> counted_rules(frame::Family family = frame::Family::kIpv4) const;
    // What the rule of each endpoint of the TCP service counted, as it was configured.
    Result<std::vector<std::uint64_t>> endpoint_hits(const NatPathOptions& options) const;
    // Packets to the client that the DUT's rule for INVALID ones counted.
    Result<std::uint64_t> invalid_hits() const;
    // Packets that the service's rule counted: of DNAT the first ones of flows, of REJECT all.
    Result<std::uint64_t> service_hits(frame::Family family = frame::Family::kIpv4) const;
    // Of the tunnel, since configure(): messages of ICMP that the DUT's rule dropped, and fragments
    // that those of the VTEPs did.
    Result<std::uint64_t> icmp_dropped() const;
    Result<std::uint64_t> fragments_dropped() const;
    // What forgets the flows of the service that go to one of its endpoints, and no others; does it
    // and gives how many they were. kNotSupported without conntrack-tools.
    std::vector<std::string> forget_command(std::size_t endpoint,
                                            frame::Family family = frame::Family::kIpv4) const;
    // The same with another command of conntrack(8).
    Result<std::uint64_t> forget(const std::vector<std::string>& command);

  protected:
    explicit NatPath(Journal& journal);
    // Once its hosts are there: with the default options.
    Status begin();
    // Once the neighbour is on the bridge: answers cross it past conntrack.
    Status begin_bridge();
    // Tables of the DUT, as iptables-restore takes them.
    virtual Status load(const std::string& rules, frame::Family family);

    NatPathNames names_;
    NatPathNames names6_;
    bool has_ipv6_ = false;
    std::unique_ptr<Namespaces> namespaces_;

  private:
    Status make_tunnel(const TunnelOptions& options);
    Status load_proxy_table(const NatPathOptions& options);
    Status load_ipvs(const NatPathOptions& options);
    bool has_proxy_table_ = false;
    bool has_tunnel_ = false;
    bool has_shortcut_ = false;
    PathCure cure_;
    bool has_node_cache_ = false;
    // Of IPVS: protocol (ipvsadm's option), service and endpoint.
    using IpvsRoute = std::tuple<std::string, std::string, std::string>;
    std::set<IpvsRoute> ipvs_routes_;
    std::set<IpvsRoute> ipvs_routes(const NatPathOptions& options) const;
    std::string client_ports_;  // as the kernel gave them
};

}  // namespace pathproof::lab
