// Reads the packet counts of rules from the output of their programs.
#pragma once

#include <cstdint>
#include <string>

namespace pathproof::lab {

// Packets that the rules with these words have counted, in what `iptables-save --counters` printed.
std::uint64_t hits_of(const std::string& rules, const std::string& words);
// Packets that the rules which end with these words have counted, in what `nft list table` printed.
std::uint64_t nft_hits_of(const std::string& table, const std::string& words);

// Packets that the chains of that name dropped by their policy.
std::uint64_t policy_hits_of(const std::string& rules, const std::string& chain);

}  // namespace pathproof::lab
