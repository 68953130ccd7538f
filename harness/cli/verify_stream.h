// TCP streams of this kernel's own through a path that is judged: a client and a server in namespaces behind
// its ports, so that the frames are those that kernels make: super-frames, merged ones, retransmissions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dataplane/base/result.h"

namespace pathproof::cli {

// Options as typed.
struct StreamOptions {
    std::vector<std::string> ends;    // --stream: client and server; none: no streams
    std::uint64_t bytes = 16u << 20;  // of one connection
    double mbps = 300;                // 0: as fast as TCP likes

    bool any() const { return !ends.empty(); }
};

// The ports that are judged, and where the ends stand unless they name a place.
struct StreamPlace {
    std::string in;  // empty: ends have to name their ports
    std::string out;
    std::string netns;
    int judge_cpu = 0;  // the ends run on others, where there are any
};

// All connections together.
struct StreamReport {
    std::string from;
    std::string to;
    bool answered = true;  // the server told the digest of what it got
    std::uint64_t connections = 0;
    std::uint64_t whole = 0;  // of them: every byte arrived, in its place
    std::uint64_t bytes = 0;  // that arrived
    double seconds = 0;
    double most_mbps = 0;             // 0: not held back
    std::uint64_t retransmitted = 0;  // segments
    std::uint32_t segment_bytes = 0;  // of payload in a full one
    std::string trouble;              // of the first connection that was not whole

    double mbps() const { return seconds > 0 ? static_cast<double>(bytes) * 8e-6 / seconds : 0; }
};

class StreamEnds {
  public:
    // Makes the namespaces behind the ports, through a journal: they go with this. Errors (kBadInput): ends
    // that cannot be read or do not belong together, a port that is no kernel interface or may not be
    // touched; kNotFound: no such port or namespace. Before any port is opened: it starts processes.
    static Result<std::unique_ptr<StreamEnds>> make(const StreamOptions& options,
                                                    const StreamPlace& place);
    virtual ~StreamEnds() = default;

    // One connection behind the other, until the seconds are over or one of them fails; at least one.
    virtual void begin(double seconds) = 0;
    virtual bool ended() const = 0;
    // Waits for the connection that is under way. Errors: an agent that is gone.
    virtual Result<StreamReport> stop() = 0;
};

}  // namespace pathproof::cli
