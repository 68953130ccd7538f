// JSON to text and back. Both are compiled here only: these two templates of nlohmann/json take a compiler two seconds in
// each unit that names them.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "dataplane/base/result.h"

namespace pathproof::process {

// Without an indent, one line. What is not UTF-8 (names of devices and files need not be) becomes U+FFFD.
std::string to_text(const nlohmann::json& value, int indent = -1);
std::string to_text(const nlohmann::ordered_json& value, int indent = -1);

// The error says where the text stops being JSON, or which number is too large.
Result<nlohmann::json> parse_json(std::string_view text);
// Null: it is none.
nlohmann::json json_or_null(std::string_view text);
nlohmann::ordered_json ordered_json_or_null(std::string_view text);
// As json_or_null, of another program or host: texts hold no control characters (without_controls()), and what has more than 64
// lists and objects in each other is null too (what takes them apart does so recursively).
nlohmann::json parse_foreign(std::string_view text);

// As it is, but that what is not UTF-8 becomes U+FFFD.
std::string valid_utf8(std::string text);

// A part of an object; null where it is none, or has no such part.
const nlohmann::json& part(const nlohmann::json& whole, const char* key);
// Empty, and 0, of what is of another type.
std::string text_of(const nlohmann::json& value);
std::uint64_t number_of(const nlohmann::json& value);
// A text of an object; otherwise where it is none, or has no such text.
std::string text_in(const nlohmann::json& whole, const char* key, const char* otherwise = "");

}  // namespace pathproof::process
