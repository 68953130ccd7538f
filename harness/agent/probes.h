// Probes that an agent makes: echo requests, a DNS lookup, a TCP transfer.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"
#include "harness/message/fields.h"

namespace pathproof::agent {

using std::chrono::milliseconds;

struct PingOptions {
    frame::IpAddress destination;
    unsigned count = 3;
    std::uint32_t payload_bytes = 56;
    milliseconds interval{50};
    milliseconds timeout{1000};  // for each
};
FIELDS(PingOptions, destination, count, payload_bytes, interval, timeout)
Status check(const PingOptions& options);

// Both queries from one connected UDP socket in one sendmmsg, or over one TCP connection, as glibc
// does it.
struct DnsLookupOptions {
    frame::Endpoint server;
    std::string name;
    bool tcp = false;
    unsigned attempts = 1;
    milliseconds timeout{5000};
};
FIELDS(DnsLookupOptions, server, name, tcp, attempts, timeout)

struct TransferOptions {
    frame::Endpoint server;
    std::uint64_t bytes = 1'000'000;
    // For the connection, and again for each stretch without progress; the whole may take ten times
    // as long.
    milliseconds timeout{5000};
    std::uint64_t most_per_second = 0;  // bytes (SO_MAX_PACING_RATE); 0: as fast as TCP likes
    // The server is a TransferServer. Else it is anybody's who takes bytes: no head is sent, no digest is
    // waited for, and all arrived when its kernel acknowledged them.
    bool answered = true;
};
FIELDS(TransferOptions, server, bytes, timeout, most_per_second, answered)

struct ProbeResult {
    bool ok = false;
    std::string outcome;  // one clause: "2 answers in 0.4 ms", "connect timed out after 4000 ms"
    double milliseconds = 0;
    std::uint64_t sent = 0;  // echo requests, queries, bytes
    // Echo replies, answers, or bytes of a transfer that the other side has: all of them when the
    // digest of what arrived is right, none when it is wrong, and what its kernel acknowledged when
    // it came to no end.
    std::uint64_t received = 0;
    // Figures of a transfer, as the sender's kernel counted (TCP_INFO).
    std::uint64_t retransmitted = 0;  // segments
    std::uint32_t segment_bytes = 0;  // of payload in a full one
};
FIELDS(ProbeResult, ok, outcome, milliseconds, sent, received, retransmitted, segment_bytes)

}  // namespace pathproof::agent
