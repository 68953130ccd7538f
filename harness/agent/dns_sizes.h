// Asks for one name with several EDNS sizes (RFC 6891), to see which sizes of answers come through.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"

namespace pathproof::agent {

struct SizeTrial {
    std::uint16_t udp_size = 0;  // what the query says that it takes; 0: it has no EDNS
    bool tcp = false;            // over TCP, where no size counts
    unsigned asked = 0;
    unsigned whole = 0;         // answers with all that they promise
    unsigned truncated = 0;     // answers with TC set: none
    std::uint32_t bytes = 0;    // of the longest whole answer's message
    std::uint16_t records = 0;  // in its answer section
    std::string trouble;        // what the last one that failed met: "no answer within 2000 ms"

    unsigned lost() const { return asked - whole - truncated; }
};

struct SizeQuestion {
    frame::Endpoint server;
    std::string name;
    std::uint16_t type = 1;  // A
    std::chrono::milliseconds timeout{2000};
    unsigned tries = 3;  // the first that is answered ends a trial
};

// Asks with that EDNS size over UDP, each time from a socket of its own. An error: the name is none, or no socket
// could be made.
Result<SizeTrial> ask_with_size(const SizeQuestion& question, std::uint16_t udp_size);
// Asks over TCP, once.
Result<SizeTrial> ask_over_tcp(const SizeQuestion& question);

}  // namespace pathproof::agent
