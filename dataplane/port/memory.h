// Memory that this machine could give.
#pragma once

#include <cstdint>
#include <istream>
#include <optional>

namespace pathproof::port {

// MemAvailable of /proc/meminfo: without swapping. Nothing when it cannot be read.
std::optional<std::uint64_t> available_memory_mib();
std::optional<std::uint64_t> available_memory_mib(std::istream& meminfo);

}  // namespace pathproof::port
