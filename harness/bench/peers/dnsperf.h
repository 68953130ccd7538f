// dnsperf of DNS-OARC as a lane.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/base/result.h"

namespace pathproof::bench {

struct DnsperfJob {
    std::string server;
    std::string queries;  // file: a name and a type a line
    unsigned clients = 8;
    unsigned outstanding = 1000;
    double seconds = 2;
};

std::vector<std::string> dnsperf_command(const DnsperfJob& job);

struct DnsperfReport {
    std::uint64_t sent = 0;
    std::uint64_t completed = 0;
    std::uint64_t lost = 0;
    double seconds = 0;
    double queries_per_second = 0;
};

// kFailed without its statistics.
Result<DnsperfReport> parse_dnsperf(const std::string& text);

}  // namespace pathproof::bench
