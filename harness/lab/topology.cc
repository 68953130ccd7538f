#include "harness/lab/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <iterator>

namespace pathproof::lab {
namespace {

std::string end_words(const LinkEnd& end, unsigned mtu, bool is_here) {
    std::string words = "name " + end.device;
    words += end.mac.empty() ? "" : " address " + end.mac;
    words += fmt::format(" mtu {}", mtu);
    return words + (is_here || end.netns.empty() ? "" : " netns " + end.netns);
}

std::string command(const Link& link, bool is_inside) {
    return fmt::format("link add {} type veth peer {}\n", end_words(link.one, link.mtu, is_inside),
                       end_words(link.other, link.mtu, false));
}

}  // namespace

const TopologyHost& Topology::host(HostRole role) const {
    const auto found = std::ranges::find_if(hosts, [&](const TopologyHost& host) {
        return !host.roles.empty() && host.roles.front() == role;
    });
    assert(found != hosts.end());
    return *found;
}

const TopologyHost& Topology::host(const std::string& netns) const {
    const auto found = std::ranges::find(hosts, netns, &TopologyHost::netns);
    assert(found != hosts.end());
    return *found;
}

std::vector<std::string> Topology::namespaces() const {
    std::vector<std::string> names;
    std::ranges::transform(hosts, std::back_inserter(names), &TopologyHost::netns);
    return names;
}

std::vector<Link> Topology::links_of(const std::string& netns) const {
    std::vector<Link> found;
    std::ranges::copy_if(links, std::back_inserter(found), [&](const Link& link) {
        return link.one.netns == netns || link.other.netns == netns;
    });
    return found;
}

std::string link_command(const Link& link) {
    return command(link, false);
}

std::string link_command_inside(const Link& link) {
    return command(link, true);
}

}  // namespace pathproof::lab
