// Our own program, with its shared libraries and its dynamic loader, for a host that has none of
// them or other ones.
#pragma once

#include <string>
#include <vector>

#include "dataplane/base/result.h"

namespace pathproof::agent {

// The GNU build id of the running program; empty: it has none.
const std::string& build_id();

// The files that the running program is made of, beside its own.
struct ProgramObjects {
    std::string loader;
    std::vector<std::string> paths;  // of the loader and the shared libraries
};
// Errors: a static program.
Result<ProgramObjects> objects_of_program();

// The words behind the program's name that start an agent.
std::vector<std::string> agent_words(const std::string& netns);

struct ProgramCopy {
    // For a shell there: takes the archive from its standard input, unpacks it into a new folder of
    // /run, /tmp or /var/tmp, runs the agent from it, and removes the folder when the agent ends.
    // Takes sh, mktemp, dd, tar and rm.
    std::string command;
    std::string archive;  // tar
};
// `netns`: the network namespace there that the agent works in; empty: the one that it starts in. Errors: no tar here.
Result<ProgramCopy> copy_of_program(const std::string& netns = "");

}  // namespace pathproof::agent
