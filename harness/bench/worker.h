// Parts of the benchmark that run as processes of their own, to be measured like any other program.
#pragma once

#include <cstdint>
#include <string>

#include "dataplane/base/result.h"

namespace pathproof::bench {

struct Drained {
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
};

// Reads the conntrack table of this namespace and does nothing with it: one recv after the other
// until the kernel's end of the dump, walking the messages' headers only to find it. No reader can
// be faster.
Result<Drained> drain_table();

// Reads the table by our own dump, every entry parsed, into a consumer that does nothing.
Result<Drained> dump_to_nothing();

struct FloodPlan {
    std::string device;  // in this namespace; frames leave it
    std::string source_mac;
    std::string destination_mac;   // of the DUT's device on the other end
    std::string first_source;      // IPv4; further flows take the addresses after it
    std::string destination;       // IPv4
    std::uint64_t first_flow = 0;  // flows of one number are equal in every run
    std::uint64_t flows = 0;
    std::uint64_t flows_per_second = 0;  // 0: as fast as it goes
};

struct Flooded {
    std::uint64_t sent = 0;
    double seconds = 0;  // from the first frame to the last
};

// Sends one UDP packet of each of `plan`'s flows, each of another 5-tuple, through a packet socket
// that bypasses the queueing discipline (PACKET_QDISC_BYPASS). Frames that the device would not
// take are sent again.
Result<Flooded> flood(const FloodPlan& plan);

}  // namespace pathproof::bench
