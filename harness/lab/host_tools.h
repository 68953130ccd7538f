// The programs by which a host is changed, in the calling thread's network namespace: the host's agent runs them, by
// its journal (host_apply.h), and a lab where it makes namespaces of its own.
#pragma once

#include <string>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"

namespace pathproof::lab {

// `ip -batch -` with these commands, a line each. kKernelLacks when the kernel lacks a device type.
Status run_ip(const std::string& commands);

// iptables-restore (or ip6tables-restore) with these tables, which take the place of those that are there. kKernelLacks
// when the kernel lacks what a rule needs.
Status load_rules(const std::string& rules, frame::Family family);

// iptables-restore --noflush (or of IPv6): adds to the tables what the text has.
Status add_rules(const std::string& rules, frame::Family family);

// `nft -f -` with this text. kKernelLacks, with the module's name, when the kernel lacks what it needs, and without nft.
Status load_nft(const std::string& text);

}  // namespace pathproof::lab
