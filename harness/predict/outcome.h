// One way that a packet may take through a host's rules and routes, and how it is told.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dataplane/frame/address.h"
#include "harness/hazards/ruleset.h"

namespace pathproof::predict {

// A rule that the packet met, or, without a rule, the policy of a base chain.
struct Step {
    const hazards::Chain* chain = nullptr;
    const hazards::Rule* rule = nullptr;
};

enum class End : std::uint8_t {
    kDelivered,      // to this host
    kForwarded,      // leaves by `out`
    kBridged,        // from port to port of a bridge, past the rules of IP
    kDropped,        // by a rule or a policy
    kRejected,       // likewise, and the sender is told
    kNoRoute,        // or a route that refuses
    kReversePath,    // no way back by the device it came by
    kNotForwarding,  // the device does not forward
    kUnmodelled,     // handed to what is not modelled: a queue, a proxy
};
const char* name(End end);  // "delivered", "no route", ...

struct Outcome {
    End end = End::kUnmodelled;
    std::vector<Step> steps;
    const hazards::Chain* by_chain = nullptr;  // of kDropped and kRejected
    const hazards::Rule* by_rule = nullptr;    // null: the policy

    bool tracked = true;     // by conntrack
    bool taken_out = false;  // not so for a rule that says so (NOTRACK)
    std::uint16_t zone = 0;  // of both directions
    bool zone_known = true;
    std::uint32_t mark = 0;

    // The destination at the end. With `destinations`: one of these addresses, by chance.
    frame::Endpoint destination;
    const hazards::Rule* destination_rule = nullptr;  // null: not translated
    std::optional<hazards::AddressRange> destinations = std::nullopt;
    std::optional<std::pair<std::uint16_t, std::uint16_t>> destination_ports = std::nullopt;

    // The source at the end: one of these; empty: not translated.
    std::vector<hazards::AddressRange> sources = {};
    const hazards::Rule* source_rule = nullptr;

    std::string in, out;
    std::optional<frame::IpAddress> gateway = std::nullopt;
    std::vector<std::string> doubts = {};  // why this is one outcome of several; empty: certain
    // Every rule on the way is known to have matched, and no other did.
    bool steps_certain = true;
    bool has_doubt(std::string_view about) const;
};

// "nat PREROUTING handle 7 (ip, nftables): ip daddr ... dnat to ...".
std::string place_of(const hazards::Rule& rule);
std::string rule_text(const hazards::Rule& rule);
// "policy DROP of filter FORWARD (ip, iptables (nf_tables))".
std::string policy_text(const hazards::Chain& chain);
// One line a step, and the end: for --rules.
std::vector<std::string> lines_of(const Outcome& outcome);
// "goes to 10.244.1.2:53, leaves by cni0", "is dropped by ...".
std::string sentence_of(const Outcome& outcome);

}  // namespace pathproof::predict
