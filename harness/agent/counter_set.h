// Counters of a network namespace, by name.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace pathproof::agent {

// Counter values by name: "Udp.InCsumErrors" (/proc/net/snmp), "TcpExt.ListenOverflows"
// (/proc/net/netstat), "Udp6InCsumErrors" (/proc/net/snmp6), "eth0.rx_packets"
// (/sys/class/net/*/statistics).
using CounterSet = std::map<std::string, std::uint64_t>;
// after - before, leaving out the unchanged ones.
CounterSet delta(const CounterSet& before, const CounterSet& after);

}  // namespace pathproof::agent
