// Finds what the running kernel's conntrack counters count by planting two packets whose fate is
// known: one is refused for a clash, one cannot be tracked.
#pragma once

#include <string_view>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/netfilter/stats.h"

namespace pathproof::netfilter {

// Rise of the counters with one packet each.
struct Planted {
    CpuStats refused;  // a TCP SYN whose reply tuple another entry has: dropped
    CpuStats invalid;  // a TCP segment with SYN and FIN
};

// Plants them in a network namespace made for it, without a name, which ends with this call. Takes
// nft(8), CAP_SYS_ADMIN and CAP_NET_ADMIN, and loads no kernel module: where it would it says so.
Result<Planted> plant_packets();
// Plants the packets once in a process and keeps the result.
const Result<Planted>& planted_packets();

// Returns whether nf_tables and nft_ct are there, judged by /proc/modules: nf_conntrack is not
// listed, so it is built in, or all three are listed.
bool needs_no_module(std::string_view proc_modules);

// Returns whether insert_failed, drop and invalid count as they have since Linux 5.10: the first
// two count a refused clash, the third an invalid packet, and none counts anything else.
bool counts_as_known(const Planted& planted);

// Completes the meanings of insert_failed, drop and invalid, which have changed and will change
// again: adds what was measured, or removes the text where nothing was measured.
void put_measured(std::vector<CounterMeaning>& meanings, const Result<Planted>& planted);

}  // namespace pathproof::netfilter
