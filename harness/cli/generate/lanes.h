// Ports, queues and lcores of a command that sends and receives at a rate, and who does what.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/load/load_run.h"
#include "harness/ports/open.h"

namespace CLI {
class App;
}

namespace pathproof::cli {

// Options as typed.
struct LaneOptions {
    std::string port;
    std::string receive;  // empty: what comes back comes to the sending port
    std::string netns;
    std::vector<int> cpus = {0};
    std::uint16_t queues = 0;  // 0: one for each lcore

    std::uint16_t queue_count() const {
        return queues > 0 ? queues : static_cast<std::uint16_t>(cpus.size());
    }
};

void add_lane_options(CLI::App& command, LaneOptions& options);

// Checks the options before any port is opened. Errors: more lcores than CPUs or than queues.
Status check_lanes(const LaneOptions& options);

// Shares out the queues with load::share_queues().
load::Roles roles_of(const LaneOptions& options, port::Port& sending, port::Port& receiving);

// Reaction of a device in this kernel to a sender on AF_XDP that is faster than it.
enum class SlowDevice : std::uint8_t { kHoldsUp, kLosesFrames };

struct Lanes {
    ports::OwnPorts ports;

    port::Port& sending() { return ports.set.ports.front(); }
    port::Port& receiving() { return ports.set.ports.back(); }

    // Errors: what check_lanes and OwnPorts::open() say.
    static Result<Lanes> open(const LaneOptions& options, std::uint64_t tx_offloads,
                              SlowDevice slow_device = SlowDevice::kHoldsUp);
};

}  // namespace pathproof::cli
