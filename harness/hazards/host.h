// A host in which hazards are looked for: its facts, and the questions that several hazards ask of
// them.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "harness/hazards/hazards.h"
#include "harness/hazards/walk.h"

namespace pathproof::hazards {

inline constexpr const char* kFamilies[] = {"ip", "ip6"};

class Host {
  public:
    explicit Host(const Facts& of);

    // Empty: there is none of this name.
    std::string sysctl(const std::string& name) const;
    // Null: there is none.
    const Device* find_device(const std::string& name) const;
    // Returns the bridge's ports that are pods'.
    std::vector<const Device*> ports_of(const Device& bridge) const;
    // Rules that translate what comes in to an address of a network of the bridge.
    std::vector<const Rule*> services_on(const Device& bridge) const;
    // Returns whether packets from port to port pass the rules of iptables.
    bool filters_bridges(const Device& bridge, frame::Family family) const;
    // The device that carries a tunnel's packets; null: not known.
    const Device* below(const Device& tunnel) const;

    // Adds a question that cannot be answered, and the reason, to `unread`, each pair once.
    void doubt(const std::string& what, const std::string& why);

    const Facts& facts;
    Walker walker;
    std::vector<const Rule*> leaving, arriving;  // of nat: POSTROUTING; PREROUTING and OUTPUT
    std::unordered_multimap<std::string, const Rule*>
        arriving_to;  // by the chain that they lead to
    std::vector<Unread> unread;
};

// Returns whether a bridge still has the neighbour's entry, but no longer its MAC.
bool is_gone(const Facts& facts, const NeighbourEntry& neighbour);

bool is_masquerade(const Rule& rule);
bool has(const Rule& rule, Field field, const std::string& word);
// Returns whether the rule's conditions admit packets of the protocol.
bool takes(const Rule& rule, const std::string& protocol);
// The protocol, destination and port that its conditions name, as far as they name one.
Packet packet_of(const Rule& rule);

Evidence evidence_of(const Rule& rule);
Evidence evidence_of(const Chain& chain, std::string text);
Evidence evidence_of(const Device& device, std::string text);

}  // namespace pathproof::hazards
