// Facts read of a host before anything is concluded about it. Plain values: nothing here touches
// the host.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/hazards/ruleset.h"

namespace pathproof::hazards {

struct Address {
    frame::IpAddress address;
    AddressRange network;
    bool secondary = false;        // behind another one of its network
    std::string scope = "global";  // as ip(8) has it: "host", "link"
};

struct Device {
    std::string name;
    std::string kind = "";    // "veth", "bridge", "vxlan", ...; empty: hardware, or the loopback
    std::string master = "";  // the bridge that it is a port of
    std::uint32_t mtu = 0;
    bool promiscuous = false;
    std::optional<bool> hairpin = std::nullopt;  // of a bridge's port
    bool calls_iptables = false;                 // of a bridge, for itself: nf_call_iptables
    // The fields of a tunnel.
    std::string below = "";
    std::optional<frame::IpAddress> local = std::nullopt;
    std::vector<frame::IpAddress> remotes = {};  // that its packets go to; empty: not known
    std::uint16_t port = 0;                      // of a vxlan device
    bool udp_checksum = false;
    std::optional<bool> tx_checksum = std::nullopt;  // tx-checksum-ip-generic
    std::vector<Address> addresses = {};
    std::string mac = "";
    bool has_learned_address = false;  // of IPv6, by router advertisement
    // A bridge's: how long it knows a sender, and the MACs in its forwarding database.
    std::uint64_t ageing_s = 0;
    std::vector<std::string> known_macs = {};
};

// An entry of the neighbour table (ARP, ND).
struct NeighbourEntry {
    frame::IpAddress address;
    std::string device;
    std::string state = "";  // "FAILED", "REACHABLE", ...
    std::string mac = "";
    std::optional<std::uint64_t> confirmed_s = std::nullopt;  // so long ago
};

// A file of the CNI plug-in host-local.
struct Lease {
    std::string file;
    std::string network;  // its folder
    frame::IpAddress address;
    std::string container;
    bool in_use = false;  // a network namespace of this machine has the address
};
// The folder in which host-local keeps them without its "dataDir".
inline constexpr const char* kLeases = "/var/lib/cni/networks";

// Protocols that answer by another flow than they were asked by, and what conntrack's helper of each
// is called.
struct HelpedProtocol {
    const char* name;
    std::uint8_t protocol;
    std::uint16_t port;
};
inline constexpr HelpedProtocol kHelped[] = {
    {"tftp", 17, 69}, {"ftp", 6, 21}, {"sip", 17, 5060}, {"irc", 6, 6667}, {"amanda", 17, 10080}};

struct Route {
    AddressRange to;
    std::vector<std::string> devices;  // several: one of them is taken, flow by flow
    std::string table = "main";
    std::uint32_t mtu = 0;  // that it sets; 0: none
};

struct Unread {
    std::string what;
    std::string why;
};

// A virtual service of IPVS: packets to it go where IPVS sends them, whatever NAT's rules say.
struct IpvsService {
    std::uint8_t protocol = 0;
    frame::Endpoint at = {};
    bool operator==(const IpvsService&) const = default;
};

struct Facts {
    Ruleset rules;
    std::vector<Device> devices;
    std::vector<Route> routes;
    // Addresses that are the host's own: routes of type local.
    std::vector<AddressRange> locals;
    // Prefixes of routes and routing rules. Routing treats all addresses within the narrowest one alike.
    std::vector<AddressRange> prefixes;
    // Source prefixes of routing rules.
    std::vector<AddressRange> rule_sources;
    std::vector<NeighbourEntry> neighbours;
    // Entries of conntrack that have no answer, by the names of kHelped.
    std::map<std::string, std::uint64_t> unanswered;
    std::vector<IpvsService> ipvs;
    std::vector<Lease> leases;
    unsigned routing_rules = 0;  // `ip rule`, beside the three that there always are
    std::map<std::string, std::string> sysctls;  // by their names with dots; missing: there is none
    std::map<std::string, std::uint64_t> counters;
    std::vector<Unread> unread;
};

// Parses the output of `ip -d -j link show`, `ip -j address show` and `bridge -j fdb show`.
// kBadInput: it is no such JSON.
Result<std::vector<Device>> parse_devices(std::string_view links, std::string_view addresses,
                                          std::string_view fdb);
// Parses the output of `ip -j route show table all`; routes that lead to no device are left out.
Result<std::vector<Route>> parse_routes(std::string_view text);
// Read the same text: destinations of routes of type local, and destinations of all routes.
Result<std::vector<AddressRange>> parse_locals(std::string_view text);
Result<std::vector<AddressRange>> parse_prefixes(std::string_view text);
// Prefixes that `ip -j rule show` printed: of sources and of destinations.
Result<std::vector<AddressRange>> parse_rule_prefixes(std::string_view text);
Result<std::vector<AddressRange>> parse_rule_sources(std::string_view text);
// Reads the output of `ip -s -j neigh show`.
Result<std::vector<NeighbourEntry>> parse_neighbours(std::string_view text);
// The services of /proc/net/ip_vs that have an address; other lines are passed over.
std::vector<IpvsService> parse_ipvs(std::string_view text);
// Returns the number of rules that `ip -j rule show` printed beside the three.
Result<unsigned> parse_routing_rules(std::string_view text);

// Reads them in a network namespace (empty: the caller's), and changes nothing. What cannot be read is
// in `unread`. An error: there is no such namespace, or not the privilege.
enum class ConntrackTable {
    kRead,     // for Facts::unanswered: some seconds for a million entries
    kNotRead,  // for who only asks what the rules do
};
enum class Handles {
    kRead,   // for rules of iptables-nft too: nft takes a second for 15,000 of them
    kLater,  // with_handle() asks for those that are shown
};
Result<Facts> read_facts(const std::string& netns, ConntrackTable table = ConntrackTable::kRead,
                         Handles handles = Handles::kRead);
// The rule with its handle; as it is where it has one, and where nft does not show it.
Rule with_handle(const std::string& netns, const Facts& facts, const Rule& rule);
// The leases in the folders of that one, and whether they are in use; none where it is not there.
Result<std::vector<Lease>> read_leases(const std::string& folder);

}  // namespace pathproof::hazards
