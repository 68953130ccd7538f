// Rules of the lab's own on a node whose tables others have filled: a text that would replace tables
// is laid in front of what is there.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"

namespace pathproof::lab {

// Chains of each table that earlier texts made.
using FrontChains = std::map<std::string, std::set<std::string>>;

// What iptables-restore --noflush takes so that a text for iptables-restore takes the place of the
// earlier ones of its tables, and of nothing else: the rules of the kernel's own chains are in chains
// of ours ("PATHPROOF-POSTROUTING"), to which those jump first; a policy of DROP is the last rule.
std::string in_front(const std::string& rules, FrontChains& known);

// What iptables-save --counters says of a host with such chains, as if the texts were its tables'
// own: "[12:624] -A PATHPROOF-INPUT ..." is of INPUT, and its last rule is the policy.
std::string without_front(const std::string& saved);

}  // namespace pathproof::lab
