// The id of a report that has none of its own.
#pragma once

#include <string>
#include <string_view>

namespace pathproof::history {

// A UUID made of the SHA-256 of a text (RFC 9562, version 8).
std::string uuid_of(std::string_view text);

}  // namespace pathproof::history
