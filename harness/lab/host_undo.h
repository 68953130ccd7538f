// Putting back what an agent changed of its host beyond devices and sysctls: iptables tables, and
// receive packet steering.
#pragma once

#include <functional>
#include <string>

#include "dataplane/base/result.h"
#include "harness/lab/undo.h"

namespace pathproof::lab {

// A table of the calling thread's namespace as iptables-save prints it, without comments and
// counters; empty: it is as if it had never been used. kKernelLacks: the kernel has none.
Result<std::string> read_rules(const std::string& table);

// What a note of kRules says is set, until it is known what the kernel made of it: then whatever is
// there is ours.
inline constexpr const char* kRulesBeingLoaded = "being loaded";

// In the calling thread's namespace.
Status undo_rules(const Note& note, UndoReport& report);
Status undo_steering(const Note& note, const KernelFiles& files, UndoReport& report);

// Runs `work` in the namespace that `place` names, if it is still there.
Status at_netns(const std::string& place, const std::function<Status()>& work);

}  // namespace pathproof::lab
