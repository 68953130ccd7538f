#include "harness/bench/veth/device_counters.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <utility>

#include "harness/process/netns.h"

namespace pathproof::bench {

Result<Received> parse_received(std::string_view text, const std::string& device) {
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
        const std::size_t colon = line.find(':');
        const std::size_t name = line.find_first_not_of(' ');
        if (colon == std::string::npos || line.substr(name, colon - name) != device) {
            continue;
        }
        std::istringstream words(line.substr(colon + 1));
        Received received;
        if (words >> received.bytes >> received.frames) {
            return received;
        }
    }
    return fail(ErrorCode::kNotFound, "/proc/net/dev has no device '{}'", device);
}

Result<DeviceCounters> DeviceCounters::open(const std::string& netns, const std::string& device) {
    // A file below /proc/PID/net belongs to the namespace that its thread was in when it was
    // opened.
    Fd file = TRY(process::in_netns(netns, [&]() -> Result<Fd> {
        Fd opened(::open("/proc/thread-self/net/dev", O_RDONLY | O_CLOEXEC));
        if (!opened) {
            return fail(ErrorCode::kFailed, "/proc/net/dev of namespace {}: {}", netns,
                        std::strerror(errno));
        }
        return opened;
    }));
    DeviceCounters counters(std::move(file), device);
    TRY(counters.read());
    return counters;
}

Result<Received> DeviceCounters::read() const {
    std::array<char, 4096> text;
    const ssize_t got = pread(file_.get(), text.data(), text.size(), 0);
    if (got <= 0) {
        return fail(ErrorCode::kFailed, "/proc/net/dev cannot be read: {}", std::strerror(errno));
    }
    return parse_received({text.data(), static_cast<std::size_t>(got)}, device_);
}

}  // namespace pathproof::bench
