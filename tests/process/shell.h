// Shell scripts that build what a lab test needs.
#pragma once

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <string>

#include "harness/process/program.h"

namespace pathproof {

// Runs a script in a network namespace ("": ours) and returns what it prints; the first command
// that fails fails the test.
inline std::string shell(const std::string& netns, const std::string& script) {
    const auto out = process::run_checked({"sh", "-ec", script},
                                          {.netns = netns, .timeout = std::chrono::minutes(3)});
    BOOST_REQUIRE_MESSAGE(out, out.error().message);
    return *out;
}

}  // namespace pathproof
