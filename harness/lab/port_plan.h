// A port of the tester that is the user's.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/lab/lab_file.h"

namespace pathproof::lab {

// The addresses that it may have, and its queues.
struct PortPlan {
    std::vector<Prefix> addresses;
    std::uint16_t queues = 1;
};

}  // namespace pathproof::lab
