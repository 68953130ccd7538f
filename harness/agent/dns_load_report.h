// DNS lookups at a rate, and what became of each.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"
#include "harness/message/fields.h"

namespace pathproof::agent {

using std::chrono::milliseconds;

// Lookups over UDP, each from a socket of its own.
struct DnsLoadOptions {
    enum class Asks : std::uint8_t {
        kA,
        kPairOneByOne,  // A, then AAAA
        kPairTogether,  // by two threads on one socket at the same moment
    };
    frame::Endpoint server;
    std::string name;
    bool own_names = false;  // each asks for one of its own below it (frame::sequence_name)
    Asks asks = Asks::kA;
    std::uint32_t lookups = 1;
    double per_second = 0;  // 0: at once
    milliseconds timeout{5000};
};
ENUM_VALUES(DnsLoadOptions::Asks, 3)
FIELDS(DnsLoadOptions, server, name, own_names, asks, lookups, per_second, timeout)
Status check(const DnsLoadOptions& options);

struct DnsLoadReport {
    struct Lookup {
        std::uint16_t port = 0;
        std::int64_t start_ns = 0;  // CLOCK_REALTIME
        std::uint8_t asked = 0;
        std::uint8_t answered = 0;
        std::uint8_t truncated = 0;  // an answer came with TC set, which is none
        std::uint8_t rcode = 0;      // of an answer that has one other than NOERROR
        std::int32_t error = 0;      // errno that an ICMP message brought
        double milliseconds = 0;     // to its last answer
        bool operator==(const Lookup&) const = default;
    };
    std::vector<Lookup> lookups;
};
PACKED_FIELDS(DnsLoadReport::Lookup, port, start_ns, asked, answered, truncated, rcode, error,
              milliseconds)
FIELDS(DnsLoadReport, lookups)

}  // namespace pathproof::agent
