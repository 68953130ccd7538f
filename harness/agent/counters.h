// The kernel's network counters of a namespace, from /proc/net and rtnetlink.
#pragma once

#include <string>
#include <string_view>

#include "dataplane/base/result.h"
#include "harness/agent/counter_set.h"

namespace pathproof::agent {

inline constexpr const char* kProcNet = "/proc/thread-self/net";

// Reads snmp, netstat and snmp6, and asks for every device's statistics ("eth0.rx_packets"), of the
// calling thread's namespace. A file that this kernel lacks (no IPv6, for example) is left out; when
// there is none at all, that is an error.
Result<CounterSet> read_counters();
// Without those of devices.
Result<CounterSet> read_protocol_counters(const std::string& proc_net = kProcNet);

// The format of snmp and netstat: pairs of lines "Udp: InDatagrams NoPorts" and "Udp: 17 0". A pair
// whose lines do not fit each other, and a value that is no count (Tcp.MaxConn is -1), are left
// out: a wrong name for a value would be worse than none.
CounterSet parse_paired_counters(std::string_view text);

// The format of snmp6: lines "Udp6InDatagrams   17".
CounterSet parse_listed_counters(std::string_view text);

// The format of sockstat: lines "TCP: inuse 3 orphan 0 tw 5 alloc 4 mem 1" give "TCP.tw".
CounterSet parse_socket_counts(std::string_view text);

// The format of stat/arp_cache: names, then a line of hexadecimal values for each CPU. Gives sums,
// but for `entries`, which each line has for all CPUs.
CounterSet parse_neighbour_table(std::string_view text);

// Reads the counters of tables and limits besides conntrack's table: "TcpExt.PAWSTimewait",
// "TCP.tw" (sockstat), "Ip.ReasmFails", and "arp.table_fulls", "ndisc.table_fulls" of the neighbour
// tables, which all namespaces share and only the first one can read.
Result<CounterSet> read_limits(const std::string& proc_net = kProcNet);

// Packets that all CPUs of this machine dropped from full backlogs until now.
std::uint64_t backlog_drops();

}  // namespace pathproof::agent
