// A lab's shape as data: hosts by their roles, links between them, and commands of ip(8) that give each host its
// addresses, neighbours and routes. Pure: namespaces.h makes it of namespaces, and a lab whose DUT is somebody's has
// that DUT's agent carry out its host's part (link_changes.h).
#pragma once

#include <string>
#include <vector>

#include "harness/setting/setting.h"

namespace pathproof::lab {

using setting::HostRole;
using setting::Settings;

struct TopologyHost {
    std::string netns;
    // The first is this host's alone. None: the tester, which has ports and is set by nobody.
    std::vector<HostRole> roles;
    // For `ip -batch -` on the host, once its ends of links are there.
    std::string commands;
};

struct LinkEnd {
    std::string netns;  // empty: ours
    std::string device;
    std::string mac = "";  // empty: as the kernel likes
};

// A veth pair.
struct Link {
    LinkEnd one, other;
    unsigned mtu = 1500;  // of both ends
};

struct Topology {
    std::vector<TopologyHost> hosts;
    std::vector<Link> links;
    Settings settings = {};  // that each cell has

    // Returns an existing host, by its own role or by its namespace.
    const TopologyHost& host(HostRole role) const;
    const TopologyHost& host(const std::string& netns) const;
    std::vector<std::string> namespaces() const;
    // Returns the links with an end in that namespace.
    std::vector<Link> links_of(const std::string& netns) const;
};

// The command of ip(8) that makes the link from outside of both ends, as `ip -batch -` takes it.
std::string link_command(const Link& link);
// Returns the command that makes the link when run in its first end's namespace.
std::string link_command_inside(const Link& link);

}  // namespace pathproof::lab
