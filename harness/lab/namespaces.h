// Hosts of a lab's own: network namespaces of this machine, made after a topology. Whatever is set on one
// goes through its agent (hosts.h); from here namespaces are made, linked, and given their tester's ports.
#pragma once

#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/lab/hosts.h"
#include "harness/lab/journal.h"
#include "harness/lab/topology.h"

namespace pathproof::lab {

// The namespaces of one lab: deleted, with what runs in them, when this dies. The journal must
// outlive it.
class Namespaces {
  public:
    explicit Namespaces(Journal& journal) : journal_(journal) {}
    Namespaces(const Namespaces&) = delete;
    Namespaces& operator=(const Namespaces&) = delete;
    ~Namespaces();

    // Makes them beside those made before. kOff: without IPv6 (no stray router or
    // multicast-listener frames on the wire). kOn: an address can be used at once, without duplicate address detection.
    enum class Ipv6 { kOff, kOn };
    Status add(const std::vector<std::string>& names, Ipv6 ipv6 = Ipv6::kOff);

  private:
    Journal& journal_;
    std::vector<std::string> names_;
};

// Makes the namespaces and links of a topology, starts an agent on each host with a role, and has the agents carry out
// the hosts' commands and the settings, which stay until the hosts go. kKernelLacks when the kernel lacks a device type.
Status realise(const Topology& topology, Namespaces& namespaces, Hosts& hosts);
// One host of it, whose namespace and links are there: its agent and its commands.
Status realise_host(const TopologyHost& host, Hosts& hosts);
// Links between namespaces that are there.
Status make_links(const std::vector<Link>& links);

// Brings a port of the tester up whose kernel must neither ask nor answer: no address, no ARP, no IPv6.
Status bring_up_unheard(const std::string& netns, const std::string& device);
// Gives a device of a namespace to the tester, whose kernel must neither ask nor answer by it.
Status give_to_tester(const std::string& netns, const std::string& device,
                      const std::string& tester);
// Commands of ip(8), a line each, in a namespace that has no agent, such as the tester's, or has none yet.
Status run_ip_in(const std::string& netns, const std::string& commands);
// Joins devices of a namespace by a bridge of the kernel that sends nothing of its own: two ports of the tester in the
// place of the DPDK wire, or the fabric between nodes.
Status make_switch(const std::string& netns, const std::vector<std::string>& ports);
// Has a device of a namespace without an agent hand over frames, not super-frames: no_super_frames() (link_changes.h).
Status hand_over_frames(const std::string& netns, const std::string& device);

}  // namespace pathproof::lab
