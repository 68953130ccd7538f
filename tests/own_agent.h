// Like the pathproof binary, a test that starts agents is its own agent.
#pragma once

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstring>

#include "harness/host/service.h"

namespace pathproof::test {

// Runs the agent if the program was started as one; for main().
inline bool was_agent(int argc, char** argv) {
    if (argc != 2 || std::strcmp(argv[1], "agent") != 0) {
        return false;
    }
    host::serve(STDIN_FILENO, STDOUT_FILENO);
    return true;
}

}  // namespace pathproof::test
