// Connects of a client by their port and time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <vector>

#include "harness/agent/connects.h"

namespace pathproof::scenario {

// The port of a connect that failed is free again at once, so that two may have had it.
class ConnectsByPort {
  public:
    explicit ConnectsByPort(const std::vector<agent::Connect>& connects) {
        for (std::size_t i = 0; i < connects.size(); ++i) {
            began_[connects[i].port][connects[i].start_ns] = i;
        }
    }

    // The last one from that port that began before that time. One that had its port alone is it at any time: the host
    // that tells the time may have another clock.
    std::optional<std::size_t> at(std::uint16_t port, std::int64_t time_ns) const {
        const auto of_port = began_.find(port);
        if (of_port == began_.end()) {
            return std::nullopt;
        }
        const auto after = of_port->second.upper_bound(time_ns);
        return after == of_port->second.begin() ? after->second : std::prev(after)->second;
    }

  private:
    std::map<std::uint16_t, std::map<std::int64_t, std::size_t>> began_;
};

}  // namespace pathproof::scenario
