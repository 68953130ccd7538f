// Messages to the person at the terminal.
#pragma once

#include <string_view>

namespace pathproof::process {

// Prints "pathproof: SENTENCE" on standard error.
void log(std::string_view sentence);

}  // namespace pathproof::process
