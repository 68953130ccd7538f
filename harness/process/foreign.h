// Text from another program or host: it may be too long, or made to do harm.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pathproof::process {

// As it is, but for control characters (C0, DEL and C1 as RFC 3629 writes it) other than tabs and
// line ends, which a terminal would obey: they become '?'.
std::string without_controls(std::string text);

// Its lines, without their ends.
std::vector<std::string> lines_of(std::string_view said);

// The end of it, for a message: at most 2000 bytes; "nothing" for nothing.
std::string last_words(std::string_view said);

}  // namespace pathproof::process
