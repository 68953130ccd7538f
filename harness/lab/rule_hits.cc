#include "harness/lab/rule_hits.h"

#include <cstdlib>
#include <string_view>

#include "harness/process/foreign.h"

namespace pathproof::lab {
namespace {

// Sums the packets of the lines that begin so and have the words.
std::uint64_t counted(const std::string& rules, const std::string& begin,
                      const std::string& words) {
    std::uint64_t hits = 0;
    for (const std::string& line : process::lines_of(rules)) {
        if (line.starts_with(begin) && (line + " ").find(words) != std::string::npos) {
            hits += std::strtoull(line.c_str() + line.find('[') + 1, nullptr, 10);
        }
    }
    return hits;
}

}  // namespace

std::uint64_t hits_of(const std::string& rules, const std::string& words) {
    return counted(rules, "[",
                   words + " ");  // "[12:624] -A FORWARD -d 198.51.100.10/32 -p udp ..."
}

std::uint64_t policy_hits_of(const std::string& rules, const std::string& chain) {
    return counted(rules, ":" + chain + " DROP ", "[");  // ":INPUT DROP [12:624]"
}

std::uint64_t nft_hits_of(const std::string& table, const std::string& words) {
    constexpr std::string_view kCounter = "counter packets ";
    std::uint64_t hits = 0;
    for (const std::string& line : process::lines_of(table)) {
        // "meta l4proto tcp counter packets 12 bytes 624 dnat to 203.0.113.16:8080"
        if (const std::size_t at = line.find(kCounter);
            at != std::string::npos && line.ends_with(words)) {
            hits += std::strtoull(line.c_str() + at + kCounter.size(), nullptr, 10);
        }
    }
    return hits;
}

}  // namespace pathproof::lab
