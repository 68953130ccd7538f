// SHA-256 (FIPS 180-4) of what is hashed for others to check.
#pragma once

#include <string>
#include <string_view>

#include "dataplane/base/result.h"

namespace pathproof::process {

// 64 hexadecimal digits.
std::string sha256_of(std::string_view bytes);
// Likewise, of a file that need not fit into memory. kNotFound, kNotPermitted, kFailed: it cannot be read.
Result<std::string> sha256_of_file(const std::string& path);

}  // namespace pathproof::process
