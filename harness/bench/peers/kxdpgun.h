// kxdpgun of Knot DNS as a lane.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/base/result.h"

namespace pathproof::bench {

struct KxdpgunJob {
    std::string device;
    std::string local_mac;
    std::string remote_mac;
    std::string local_address;
    std::string remote_address;
    std::string queries;  // file: a name and a type a line
    unsigned batch = 32;
    int cpu = 0;
    unsigned seconds = 5;
};

// As fast as it goes: it has no word for that, so a rate that nothing reaches.
std::vector<std::string> kxdpgun_command(const KxdpgunJob& job);

struct KxdpgunReport {
    std::uint64_t queries = 0;
    std::uint64_t replies = 0;
};

// kFailed without its lines of totals.
Result<KxdpgunReport> parse_kxdpgun(const std::string& text);

}  // namespace pathproof::bench
