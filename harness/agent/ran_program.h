// The end of a program that an agent ran on its host, and its output.
#pragma once

#include <string>

#include "harness/message/fields.h"

namespace pathproof::agent {

struct RanProgram {
    int exit_status = 0;  // 128 + signal number when a signal ended it
    std::string out;
    std::string err;
    bool operator==(const RanProgram&) const = default;
};
FIELDS(RanProgram, exit_status, out, err)

}  // namespace pathproof::agent
