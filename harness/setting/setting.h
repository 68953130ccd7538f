// A setting is one thing that is set on a lab's hosts: the changes that their agents carry out and undo,
// the command that a person types for the same, and what it needs. A setting is plain data: nothing here
// touches a machine. A lab carries out settings (lab/hosts.h) and knows which hosts play a role.
//
// Texts of changes name devices and networks by their place in the topology, "$TUNNEL": the lab puts its
// own names there (with_names).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/frame/address.h"
#include "harness/agent/host_change.h"
#include "harness/agent/needs.h"

namespace pathproof::setting {

// A lab may have several hosts of one role: all of them are set.
enum class HostRole {
    kClient,      // begins connections and asks: a client, a pod
    kDut,         // translates and forwards: the DUT, a node
    kServer,      // is connected to and asked
    kNeighbour,   // a second host on the client's network
    kTunnelEnds,  // has a vxlan device
    // Roles of two nodes and of a pod on each, besides their usual ones: a node is also a DUT, a
    // pod also a client.
    kNodeA,
    kNodeB,
    kPodA,
    kPodB,
};

// In every rule of the other settings that has `words` they become `others`, as `iptables -R` makes it.
struct Amendment {
    std::string words;
    std::string others;
    bool operator==(const Amendment&) const = default;
};

struct Setting {
    std::string id;  // "be-liberal"
    HostRole host = HostRole::kDut;
    // In this order. Of rules each setting has a part: chains and rules of a table, of which the lab
    // makes one text a table.
    std::vector<agent::HostChange> changes;
    std::string command;      // that a person types: "sysctl -w net.ipv4.tcp_timestamps=2"
    agent::Needs needs = {};  // missing: the cell is SKIP, with that reason
    std::optional<Amendment> amends = std::nullopt;
    bool operator==(const Setting&) const = default;
};

using Settings = std::vector<Setting>;

// These and those: `more` last, and so of one thing the ones that hold.
Settings both(Settings settings, const Settings& more);
bool has(const Settings& settings, const std::string& id);

// Constructors. The id of one that has none of its own is its command.

Setting sysctl(HostRole host, const std::string& name, const std::string& value,
               const std::string& id = "");
// `on`: "ethtool -K DEVICE FEATURE on"; else off.
Setting feature(HostRole host, const std::string& device, const std::string& feature, bool on,
                const std::string& id = "");
// "net.ipv4.tcp_timestamps=2" -> "tcp_timestamps=2".
std::string bare_sysctl(const std::string& name);
// Receive packet steering of the device's first receive queue, by a hexadecimal CPU mask; "0" for off.
Setting steering(HostRole host, const std::string& device, const std::string& cpu_mask);
// Lines of iptables-restore for one table, without "*TABLE" and COMMIT. `command`: of the rule that
// matters.
Setting rules(HostRole host, const std::string& id, const std::string& table,
              const std::string& lines, const std::string& command = "",
              frame::Family family = frame::Family::kIpv4);
// A table of nftables, "kube-proxy", whose text replaces it as a whole (`nft -f -`).
Setting nft_table(HostRole host, const std::string& id, const std::string& table,
                  const std::string& text, frame::Family family = frame::Family::kIpv4);
// IPVS has these services and endpoints and no others, as `ipvsadm --save -n` prints them.
Setting ipvs(HostRole host, const std::string& id, const std::string& services);
// Commands of ip(8) with those that undo them; `device`: that they are seen from, there before them.
Setting links(HostRole host, const std::string& id, const std::string& device,
              const std::vector<std::pair<std::string, std::string>>& commands);

// The name of a table in a change: "nat", "ip6 nat".
std::string table_name(const std::string& table, frame::Family family);
// Returns the table's name without its family, the reverse of table_name().
std::string bare_table(const std::string& name);
frame::Family family_of(const std::string& name);

// A lab's name for each placeholder, such as "$TO_SERVER".
using Names = std::map<std::string, std::string>;
// The text with the lab's names. One that the lab has not stays as it is.
std::string with_names(std::string text, const Names& names);

// Returns the changes to a host of these roles, with the lab's names. The last setting with an id
// holds, and the last change of a thing. Each table is one text, in which amended rules are as they
// end up.
std::vector<agent::HostChange> merged(const Settings& settings, const std::vector<HostRole>& roles,
                                      const Names& names);

// A table for iptables-restore that has these lines alone: its name, the kernel's own chains with the
// policy that the lines give them, else ACCEPT, and COMMIT.
std::string whole_table(const std::string& table, const std::string& lines);
// The first lines of a table: its name and the kernel's own chains, with the policy ACCEPT.
std::string table_head(const std::string& table);

// The change that takes one back, so that the thing is as it was found.
agent::HostChange taken_back(const agent::HostChange& change);
// Returns whether both change the same thing; a host has one of it.
bool same_thing(const agent::HostChange& one, const agent::HostChange& other);

}  // namespace pathproof::setting
