// The first words of an agent: itself and its host.
#pragma once

#include <string>

namespace pathproof::agent {

// An agent's greeting: itself and its host.
struct Hello {
    std::string version;
    std::string build;   // build_id()
    std::string kernel;  // "Linux 6.1.0 x86_64"
    unsigned cpus = 1;   // online
    std::string copied;  // why our own program was copied to its host; empty: it was not
};

}  // namespace pathproof::agent
