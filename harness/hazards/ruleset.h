// A host's rules of netfilter as plain values, whatever wrote them: iptables in its nf_tables or its
// legacy form, or nft itself. What a rule asks of a packet is known field by field as far as the
// hazards need it; all else is a condition that may hold or not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"

namespace pathproof::hazards {

enum class Origin : std::uint8_t { kIptablesNft, kIptablesLegacy, kNftables };
const char* name(Origin origin);  // "iptables (nf_tables)", "iptables (legacy)", "nftables"

// From the first to the last of them.
struct AddressRange {
    frame::IpAddress first;
    frame::IpAddress last;
    bool contains(const frame::IpAddress& address) const {
        return first <= address && address <= last;
    }
    bool is_one_address() const { return first == last; }
    bool operator==(const AddressRange&) const = default;
};
// "10.244.0.0/16", "10.244.1.2", "10.0.0.1-10.0.0.9", and the same of IPv6.
Result<AddressRange> parse_range(std::string_view text);
Result<AddressRange> prefix_range(const frame::IpAddress& address, unsigned length);

// Part of a packet, or of its state, that a condition looks at.
enum class Field : std::uint8_t {
    kSource,
    kDestination,
    kProtocol,  // words: "udp"
    kSourcePort,
    kDestinationPort,
    kIn,  // words: devices; one that ends in '+' or '*' stands for all that begin so
    kOut,
    kMark,
    kState,            // words: conntrack's states in lower case, "untracked" too
    kDestinationType,  // words: "local"
    kRandom,           // chance decides
    kOther,            // may hold or not
    kSourceType,       // words: "local"
    kFamily,           // words: "ipv4", "ipv6"
    kEitherPort,       // one of the two is in `ports`
    kIcmpType,         // `ports`: types
    kIcmpCode,         // `ports`: codes
    kTcpFlags,         // mark and mask: bits of the header's byte of flags
    kConnmark,         // mark and mask, of the entry
    kStatus,           // words: "dnat", "snat", of the entry
    kDirection,        // words: "original", "reply"
    kUser,             // words: numbers of users who own the socket
    kAlternatives,     // all of one list of `alternatives`
};

struct Condition {
    Field field = Field::kOther;
    bool negated = false;
    std::vector<AddressRange> addresses = {};
    std::vector<std::pair<std::uint16_t, std::uint16_t>> ports = {};
    std::vector<std::string> words = {};
    std::uint32_t mark = 0, mask = 0xffffffff;
    std::string set = "";  // of addresses whose content is not known
    std::vector<std::vector<Condition>> alternatives = {};
    std::string unknown = "";  // of kOther: the match as its program spells it, "limit"
};

// Changes that a rule makes to a packet or its entry before it decides, or without deciding.
struct Effect {
    enum class Kind : std::uint8_t {
        kMark,          // mark = (mark & ~cleared) ^ flipped
        kConnmark,      // the same of the entry's mark
        kMarkFromConn,  // mark = (mark & ~cleared) ^ (connmark & flipped)
        kConnFromMark,
        kZone,     // of both directions
        kZoneOne,  // of one direction only
        kNotrack,
        kUnknown,  // text says what
    } kind = Kind::kUnknown;
    std::uint32_t cleared = 0, flipped = 0;
    std::uint16_t zone = 0;
    std::string text = "";
};

// One place that a rule of NAT may send a flow to. Without addresses: those the packet has, or, of
// kRedirect and kMasquerade, those of the device.
struct NatTarget {
    std::optional<AddressRange> addresses = std::nullopt;
    std::optional<std::pair<std::uint16_t, std::uint16_t>> ports = std::nullopt;
    bool keeps_host = false;  // the bits of the packet's address behind the network's stay (NETMAP)
    bool operator==(const NatTarget&) const = default;
};

enum class Action : std::uint8_t {
    kNone,  // goes on with the next rule
    kAccept,
    kDrop,  // or rejects
    kReturn,
    kJump,
    kGoto,
    kMasquerade,
    kSnat,
    kDnat,
    kNotrack,
    kSetMark,
    kRedirect,
    kNetmap,  // of the destination or the source, by the hook
};

struct Rule {
    Origin origin = Origin::kIptablesNft;
    std::string family;  // "ip", "ip6", "inet", "bridge"
    std::string table, chain;
    unsigned number = 0;       // in its chain, from 1
    std::uint64_t handle = 0;  // of nftables; 0: none
    std::string text;          // as the program prints it
    std::vector<Condition> conditions = {};
    Action action = Action::kNone;
    std::vector<std::string> targets = {};  // chains of kJump and kGoto: one of them is taken
    bool draws = false;                     // chance takes the target
    // kMasquerade and kSnat: every port is chosen by chance, the first one tried included. Since
    // Linux 5.0 the kernel treats --random and --random-fully alike.
    bool random = false;
    std::optional<frame::IpAddress> to = std::nullopt;  // of kDnat and kSnat
    // Operands of kSetMark: mark = (mark & ~cleared) ^ flipped.
    std::uint32_t cleared = 0, flipped = 0;
    std::vector<Effect> effects = {};
    std::vector<NatTarget> nat = {};  // several: by chance
    bool rejects = false;             // of kDrop: the sender is told
    bool tracks = false;              // it has the kernel track flows, whatever else it does
    // The part that is not modelled and may change the packet's way: "NFQUEUE"; empty: none.
    std::string unmodelled = "";
    std::optional<std::uint64_t> packets = std::nullopt;  // that it has counted
};

struct Chain {
    Origin origin = Origin::kIptablesNft;
    std::string family, table, name;
    std::string hook = "";      // "prerouting", "input", ...; empty: not a base chain
    std::string type = "";      // "nat", "filter", "route"
    bool drops = false;         // its policy
    int priority = 0;           // of a base chain
    std::uint64_t packets = 0;  // that its policy has taken, as far as it is counted
    std::vector<Rule> rules = {};
};

struct Ruleset {
    std::vector<Chain> chains;
    // Tables that iptables-save could not show ("incompatible"): "ip nat".
    std::vector<std::string> incompatible = {};
    // All that iptables-save has shown, likewise.
    std::vector<std::string> tables = {};
};

// Parses the output of `iptables-save` or `ip6tables-save`. `family`: "ip" or "ip6". kBadInput
// names the line that those programs never print.
Result<Ruleset> parse_iptables_save(std::string_view text, Origin origin,
                                    const std::string& family);

// Parses the output of `nft -j list table FAMILY NAME`, of one table or of several. `texts` is the
// output of the same commands with -a in place of -j. A rule whose handle is in `texts` takes its
// text from there; any other rule's text is JSON. kBadInput: `json` is no such JSON.
Result<Ruleset> parse_nft(std::string_view json, std::string_view texts);

// Gives rules that iptables-save showed the handles under which `nft -a list table` shows them, chain
// by chain; chains of which the two show different numbers of rules are left as they are.
void take_handles(std::string_view texts, const std::string& family, const std::string& table,
                  Ruleset& rules);

// A table of nftables: "ip", "nat".
struct Table {
    std::string family, name;
};
// Cuts one table out of `nft -j list ruleset`, as `nft -j list table` prints it.
Result<std::string> table_of_ruleset(std::string_view json, const Table& table);

}  // namespace pathproof::hazards
