// Finds by trial how the running kernel behaves when a dump request asks it to select entries.
#pragma once

#include "harness/netfilter/kernel_filter.h"

namespace pathproof::netfilter {

// Makes a network namespace of its own without a name, which ends with this call, puts a few
// entries into its conntrack table and asks for them by these clauses; the others are left untried.
// Needs CAP_SYS_ADMIN and CAP_NET_ADMIN: without them nothing is tried. Each clause costs a few
// walks over the kernel's table, which is one for all namespaces.
KernelFilterSupport probe_kernel_filter(const Clauses& wanted);

// Returns the results for at least the filter's clauses; each clause is probed once in a process.
// Any thread may call it.
KernelFilterSupport kernel_filter_support(const Filter& filter);

}  // namespace pathproof::netfilter
