#include "harness/process/log.h"

#include <fmt/format.h>

#include <cstdio>

namespace pathproof::process {

void log(std::string_view sentence) {
    fmt::print(stderr, "pathproof: {}\n", sentence);
}

}  // namespace pathproof::process
