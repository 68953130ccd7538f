// Source NAT on the way to servers, and what a lab is made of in words.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace pathproof::lab {

enum class Snat { kNone, kMasquerade, kMasqueradeRandomFully };

// The end of a rule, "-j MASQUERADE"; of kNone that of a rule which keeps others from translating.
std::string target_of(Snat snat);
// "MASQUERADE", as reports name it; "none".
std::string to_string(Snat snat);
// Source NAT of a tunnel's outer header, as reports name it: "masquerade ...", which draws the port, or "none".
std::string outer_snat_text(bool translated);

struct PortRange {
    std::uint16_t first = 0;
    std::uint16_t last = 0;  // 0: as the kernel has it
    bool operator==(const PortRange&) const = default;
};

// Description of a role for a report: pairs of name and value.
using RoleFacts = std::vector<std::pair<std::string, std::string>>;

}  // namespace pathproof::lab
