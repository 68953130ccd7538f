#include "dataplane/port/memory.h"

#include <fstream>
#include <sstream>
#include <string>

namespace pathproof::port {

std::optional<std::uint64_t> available_memory_mib() {
    std::ifstream meminfo("/proc/meminfo");
    return available_memory_mib(meminfo);
}

std::optional<std::uint64_t> available_memory_mib(std::istream& meminfo) {
    for (std::string line; std::getline(meminfo, line);) {
        std::istringstream words(line);
        std::string key;
        std::uint64_t kib = 0;
        if (words >> key >> kib && key == "MemAvailable:") {
            return kib / 1024;
        }
    }
    return std::nullopt;
}

}  // namespace pathproof::port
