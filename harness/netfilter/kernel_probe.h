// How the running kernel behaves when a dump request asks it to select entries, found by trying.
#pragma once

#include "harness/netfilter/kernel_filter.h"

namespace pathproof::netfilter {

// Makes a network namespace of its own without a name, which ends with this call, puts a few
// entries into its conntrack table and asks for them in every way. Needs CAP_SYS_ADMIN and
// CAP_NET_ADMIN: without them nothing is tried.
KernelFilterSupport probe_kernel_filter();

// Of the first probe in this process. Any thread may ask.
const KernelFilterSupport& kernel_filter_support();

}  // namespace pathproof::netfilter
