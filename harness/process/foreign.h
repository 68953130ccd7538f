// What another program or host says: it may be too much, or made to do harm.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace pathproof::process {

// As it is, but for control characters (C0, DEL and C1 as RFC 3629 writes it) other than tabs and
// line ends, which a terminal would obey: they become '?'.
std::string without_controls(std::string text);

// JSON whose texts hold no such characters. Null: it is none, or has more than 64 lists and objects
// in each other (what takes them apart does so recursively).
nlohmann::json parse_foreign(std::string_view text);

// A part of an object; null where it is none, or has no such part.
const nlohmann::json& part(const nlohmann::json& whole, const char* key);
// Empty, and 0, of what is of another type.
std::string text_of(const nlohmann::json& value);
std::uint64_t number_of(const nlohmann::json& value);

// The end of it, for a message: at most 2000 bytes; "nothing" for nothing.
std::string last_words(std::string_view said);

}  // namespace pathproof::process
