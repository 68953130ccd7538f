// The kernel's counters at one end of a veth pair, read while traffic runs: the referee, since
// neither of the programs that are compared writes them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "dataplane/base/file.h"
#include "dataplane/base/result.h"

namespace pathproof::bench {

struct Received {
    std::uint64_t frames = 0;
    std::uint64_t bytes = 0;
};

// The receive side of one device in the text of /proc/net/dev; kNotFound without the device.
Result<Received> parse_received(std::string_view text, const std::string& device);

// Keeps the file of its namespace open: a reading costs one system call and no thread.
class DeviceCounters {
  public:
    static Result<DeviceCounters> open(const std::string& netns, const std::string& device);
    Result<Received> read() const;

  private:
    DeviceCounters(Fd file, std::string device)
        : file_(std::move(file)), device_(std::move(device)) {}

    Fd file_;
    std::string device_;
};

}  // namespace pathproof::bench
