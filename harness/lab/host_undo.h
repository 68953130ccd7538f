// Putting back what an agent changed of its host beyond devices and sysctls: tables of iptables and
// nftables, IPVS, and receive packet steering.
#pragma once

#include <functional>
#include <string>

#include "dataplane/base/result.h"
#include "harness/lab/undo.h"

namespace pathproof::lab {

// A table of the calling thread's namespace as iptables-save prints it, without comments and
// counters; empty: it is as if it had never been used. "ip6 nat": of ip6tables. kKernelLacks: the kernel
// has none.
Result<std::string> read_rules(const std::string& table);

bool has_nft_table(const std::string& table);

// IPVS of the calling thread's namespace as `ipvsadm --save -n` prints it. kKernelLacks without it.
Result<std::string> read_ipvs();
bool same_ipvs(const std::string& one, const std::string& other);
// Makes one of the other as kube-proxy does: what is in both is not touched, what is new comes first.
Status change_ipvs(const std::string& from, const std::string& to);

// Stands for the rules in a note of kRules until the kernel's version of them is read: any rules
// found until then are ours.
inline constexpr const char* kRulesBeingLoaded = "being loaded";

// In the calling thread's namespace.
Status undo_rules(const Note& note, UndoReport& report);
Status undo_nft(const Note& note, UndoReport& report);
Status undo_ipvs(const Note& note, UndoReport& report);
Status undo_steering(const Note& note, const KernelFiles& files, UndoReport& report);

// rps_cpus of the first receive queue of a device of the calling thread's namespace, whichever one /sys shows; with a
// mask it is set before.
Result<std::string> steering(const std::string& device, const std::string& mask = "");

// Runs `work` in the namespace that `place` names, if it is still there.
Status at_netns(const std::string& place, const std::function<Status()>& work);

}  // namespace pathproof::lab
