// The way of one packet through the chains of a hook. What is not known of the packet, or of a rule,
// may be so or not: both ways are gone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "harness/hazards/ruleset.h"

namespace pathproof::hazards {

// Empty: not known.
struct Packet {
    std::optional<frame::IpAddress> source = {}, destination = {};
    std::string protocol = "";
    std::optional<std::uint16_t> source_port = {}, destination_port = {};
    std::string in = "", out = "";
    std::string state = "";
    std::optional<bool> to_local = {};  // the destination is an address of the host
    std::uint32_t mark = 0;
    bool operator==(const Packet&) const = default;
};

struct Ending {
    enum class Kind : std::uint8_t { kAccept, kDrop, kNat } kind = Kind::kAccept;
    const Rule* rule = nullptr;  // null: the chain's policy
    Packet packet;               // with what the rules on the way have set, or say of it
    bool certain = true;         // no rule on its way was one that may be or not
    std::string doubt;           // the first set whose content is not known, that decided
};

class Walker {
  public:
    // The rules must outlive it.
    explicit Walker(const Ruleset& rules);

    // Base chains of a hook: those of "ip" also see what is in "inet". `type`: "nat", "filter".
    std::vector<const Chain*> bases(const std::string& hook, const std::string& family,
                                    const std::string& type) const;
    // Null for none.
    const Chain* find(const Rule& from, const std::string& chain) const;
    // Rules that a packet of these hooks may meet, in the order in which it does, each once.
    std::vector<const Rule*> reachable(const std::vector<const Chain*>& bases) const;
    // Never empty. A ruleset that has no end (a hundred thousand rules on one way) ends in an
    // acceptance that is not certain.
    std::vector<Ending> walk(const Chain& base, const Packet& packet) const;

    // Rules of a long chain, by the one destination that a rule asks for: a chain of thousands of services
    // has one or two for a packet.
    struct Index {
        std::map<frame::IpAddress, std::vector<std::size_t>> by_destination;
        std::vector<std::size_t> others;
    };
    // Null: the chain is short.
    const Index* index_of(const Chain& chain) const;

  private:
    const Ruleset& rules_;
    std::unordered_map<std::string, const Chain*> chains_;
    std::unordered_map<const Chain*, Index> indexes_;
};

}  // namespace pathproof::hazards
