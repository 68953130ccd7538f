// What the running kernel's conntrack counts where, found by planting packets whose fate is known: one
// that is refused for a clash, and one that cannot be tracked.
#pragma once

#include <string_view>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/netfilter/stats.h"

namespace pathproof::netfilter {

// By how much the counters rose with one packet each.
struct Planted {
    CpuStats refused;  // a TCP SYN whose reply tuple another entry has: dropped
    CpuStats invalid;  // a TCP segment with SYN and FIN
};

// Plants them in a network namespace made for it, without a name, which ends with this call. Takes
// nft(8), CAP_SYS_ADMIN and CAP_NET_ADMIN, and loads no kernel module: where it would it says so.
Result<Planted> plant_packets();
// Once in a process.
const Result<Planted>& planted_packets();

// Whether nf_tables and nft_ct are there, by what /proc/modules says: nf_conntrack is built in, or they are
// loaded as it is.
bool needs_no_module(std::string_view proc_modules);

// Whether insert_failed, drop and invalid count what they do since Linux 5.10: the first two a refused
// clash, the third what is invalid, and nothing else.
bool counts_as_known(const Planted& planted);

// Of insert_failed, drop and invalid, which changed their meanings and will again: adds what was
// measured, or takes the text away where nothing was.
void put_measured(std::vector<CounterMeaning>& meanings, const Result<Planted>& planted);

}  // namespace pathproof::netfilter
