// Requirements of a host before something can be set on it.
#pragma once

#include <string>
#include <vector>

#include "harness/message/fields.h"

namespace pathproof::agent {

struct Needs {
    // A command that fails where the kernel has no such thing; it changes nothing. Empty: nothing is
    // needed.
    std::vector<std::string> probe;
    std::string package;  // that has its program
    std::string kernel;   // the kernel's part: "IPVS (module ip_vs)"
    bool operator==(const Needs&) const = default;
};
FIELDS(Needs, probe, package, kernel)

// Returns why the calling thread's namespace lacks it, a sentence; empty: it is there.
std::string lacks(const Needs& needs);

}  // namespace pathproof::agent
