// One packet held against one condition of a rule.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/hazards/ruleset.h"
#include "harness/netfilter/entry.h"
#include "harness/netfilter/names.h"
#include "harness/predict/simulator.h"

namespace pathproof::predict {

enum class Match : std::uint8_t { kNo, kYes, kMaybe };

struct Packet {
    frame::Endpoint source, destination;
    std::uint8_t protocol = 0;
    std::string protocol_word;
    std::optional<netfilter::Tuple::Icmp> icmp;
    std::string in = "", out = "";
    bool any_in = false;
    std::uint32_t mark = 0, connmark = 0;
    std::string state = "invalid";  // before conntrack has seen it (nf_ct_get() gives nothing)
    bool dnat = false, snat = false;
    std::optional<std::uint32_t> user;
    bool sent_here = false;  // the socket that owns it is on this host

    bool has_ports() const { return netfilter::has_ports(protocol); }
    bool operator==(const Packet&) const = default;
};

using Locals = std::vector<hazards::AddressRange>;  // sorted, without overlaps
bool is_in(const Locals& locals, const frame::IpAddress& address);

// The source addresses and ports for which all comparisons so far end alike.
class Narrow {
  public:
    explicit Narrow(const netfilter::Tuple& tuple)
        : source_(tuple.source), family_(tuple.source.address.family) {}

    // `now`: the packet's source. Once it is translated it does not depend on what it was.
    void by(const frame::Endpoint& now, const std::vector<hazards::AddressRange>& ranges);
    void by_ports(const frame::Endpoint& now,
                  const std::vector<std::pair<std::uint16_t, std::uint16_t>>& ranges);
    // All ranges at once: within one of them, and on one side of the others' ends.
    void by_all(const frame::Endpoint& now, const std::vector<hazards::AddressRange>& ranges);

    Region region;

  private:
    void step_off(const hazards::AddressRange& range);

    frame::Endpoint source_;
    frame::Family family_;
};

// Returns the protocol in the words of rules: "udp", or its number.
std::string word_of(std::uint8_t protocol);

// Holds the packet against the condition; kMaybe: it cannot be decided (doubt_of()).
Match match(const hazards::Condition& condition, const Packet& packet, const Locals& locals,
            Narrow& narrow);
// Returns why a condition may not be decided, in a word or two: "chance", "set blocked".
std::string doubt_of(const hazards::Condition& condition);

}  // namespace pathproof::predict
