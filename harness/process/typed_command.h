// The command of this process as it was typed.
#pragma once

#include <string>
#include <vector>

namespace pathproof::process {

// Words as a shell takes them back.
std::string shell_words(const std::vector<std::string>& words);

// From /proc/self/cmdline, the program as "pathproof".
std::string typed_command();

}  // namespace pathproof::process
