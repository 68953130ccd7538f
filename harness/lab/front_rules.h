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

// Turns a text for iptables-restore into one for iptables-restore --noflush, which replaces our
// earlier rules of the same tables and nothing else. Rules of the kernel's own chains go to chains of
// ours ("PATHPROOF-POSTROUTING"), to which the kernel's chains jump first; a policy of DROP becomes
// the last rule.
std::string in_front(const std::string& rules, FrontChains& known);

// Rewrites what iptables-save --counters prints on a host with such chains, as if the texts were
// its tables' own: "[12:624] -A PATHPROOF-INPUT ..." counts for INPUT, and its last rule is the
// policy.
std::string without_front(const std::string& saved);

}  // namespace pathproof::lab
