// DNS servers that an agent runs: one on kernel sockets, and dnsmasq(8).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dataplane/frame/address.h"
#include "harness/message/fields.h"

namespace pathproof::agent {

using std::chrono::milliseconds;

// A DNS server on kernel sockets, UDP and TCP: every name gets `address` (A) or `address6` (AAAA).
struct DnsServerOptions {
    frame::Endpoint listen;
    frame::IpAddress address;
    frame::IpAddress address6;
    milliseconds delay{0};
};
FIELDS(DnsServerOptions, listen, address, address6, delay)

// dnsmasq(8) as a DNS server on port 53 of these addresses; it reads no file of its host.
struct DnsmasqOptions {
    std::vector<frame::IpAddress> addresses;
    frame::Endpoint upstream;
    std::uint32_t cache_size = 0;
    std::uint32_t max_tcp_connections =
        0;                              // --max-tcp-connections, new in 2.90; 0: as it comes, 20
    std::uint32_t dns_forward_max = 0;  // 0: as it comes, 150
};
FIELDS(DnsmasqOptions, addresses, upstream, cache_size, max_tcp_connections, dns_forward_max)

// Counts of its processes for TCP.
struct DnsmasqWorkers {
    std::uint32_t in_use = 0;
    std::uint32_t highest = 0;
    std::uint32_t most = 0;  // that it starts
    bool operator==(const DnsmasqWorkers&) const = default;
};
FIELDS(DnsmasqWorkers, in_use, highest, most)

struct DnsmasqReport {
    std::string ended;                   // how, with its last line; empty: it runs
    std::uint32_t workers = 0;           // its child processes
    std::optional<DnsmasqWorkers> said;  // by itself
    std::vector<std::string> log;        // the last lines
};
FIELDS(DnsmasqReport, ended, workers, said, log)

}  // namespace pathproof::agent
