// Values of nft's JSON, and what the left side of a match looks at. For .cc files of this room.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/hazards/ruleset.h"

namespace pathproof::hazards::nft {

using nlohmann::json;

// A value that may be one or several: "udp", ["a", "b"], {"set": [...]}.
std::vector<json> values_of(const json& right);
std::optional<AddressRange> addresses_of(const json& value);
std::optional<std::pair<std::uint16_t, std::uint16_t>> ports_of(const json& value);
std::string protocol_name(const json& value);
// Numbers behind the words that nft prints; nothing for a word that is not known here.
enum class WordKind : std::uint8_t { kIcmp, kIcmpv6, kTcpFlags };
std::optional<std::uint32_t> number_behind(const json& value, WordKind kind);
// A word, or several, of flags.
std::optional<std::uint32_t> bits_of(const json& value);

// The field that a rule looks at, and of a mark through which mask.
struct Looked {
    Field field = Field::kOther;
    std::uint32_t mask = 0xffffffff;
    std::string protocol = "";  // that the field implies: "udp" of "udp dport"
    std::string family = "";    // likewise: "ipv4" of "ip saddr"
    std::string unknown = "";   // of kOther
};
Looked looked_at(const json& left);

bool is_numbered(Field field);

}  // namespace pathproof::hazards::nft
