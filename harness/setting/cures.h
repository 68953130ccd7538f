// Every cure, once: scenarios, prices and hazards name it by its id. A cure is what is set, on hosts or in
// a resolver, and how it is called; its command is the setting's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/setting/setting.h"

namespace pathproof::setting {

inline constexpr const char* kBeLiberal = "net.netfilter.nf_conntrack_tcp_be_liberal";
inline constexpr const char* kBridgeFilter = "net.bridge.bridge-nf-call-iptables";
inline constexpr const char* kTimestamps = "net.ipv4.tcp_timestamps";
inline constexpr const char* kTunnelChecksums = "tx-checksum-ip-generic";
// The end of a MASQUERADE rule that keeps ports where they look free.
inline constexpr const char* kMasquerade = "-j MASQUERADE";

// Lines of the table filter for TCP that conntrack calls INVALID: "DROP", or "ACCEPT" to count it.
std::string invalid_rules(const std::string& target);

struct Cure {
    std::string id;
    std::string command;  // that a person types or writes; empty: it has none
    std::string where;    // "on the DUT"; of one without a command all of it
    // On hosts, where it can be set on top of whatever else is set.
    Settings settings = {};
    std::string resolver = {};  // options of a resolv.conf(5)
    bool dot = false;           // behind the name
    // The command, and the cure in words, for scenarios' sentences that do not use those above.
    std::string told_command = {};
    std::string in_words = {};
    std::string brief = {};  // in labels and values: "tcp_timestamps=2", "--random-fully"

    // "`sysctl -w net.ipv4.tcp_timestamps=2` on the clients".
    std::string text(const Names& names = {{"$TUNNEL", "vx"}}) const;
    // The command alone, in backquotes.
    std::string quoted(const Names& names = {{"$TUNNEL", "vx"}}) const;
    // Returns the cure as scenarios write it: "`modprobe br_netfilter; sysctl -w ...`", or its
    // name.
    std::string told() const;
};

// All cures, in the order in which they are listed.
const std::vector<Cure>& all_cures();
// The id is one of those: anything else is a programmer's mistake.
const Cure& cure(const std::string& id);
// Null for an unknown id.
const Cure* find_cure(std::string_view id);

}  // namespace pathproof::setting
