// The network namespace of a container or a pod that a person names.
#pragma once

#include <string>

#include "dataplane/base/result.h"

namespace CLI {
class Validator;
}

namespace pathproof::cli::inspect {

inline constexpr const char* kCniResults = "/var/lib/cni/results";

// A name of `ip netns`, a PID and a path stay as they are. Else the cache of CNI results in `cache` is
// asked for a pod ("NAMESPACE/NAME", or NAME alone where one namespace has it) or a container's id or
// the first eight letters and more of it, then the runtimes that are there (docker, podman, nerdctl,
// crictl) for a container of that name or id. What nobody knows stays as it is. kBadInput: several fit.
// `programs`: the folder of the runtimes' programs, with its '/'; empty: where programs are.
Result<std::string> netns_of(const std::string& name, const std::string& cache = kCniResults,
                             const std::string& programs = "");

// Puts the namespace in place of such a name when it is parsed.
CLI::Validator named_place();

// The end of each help text of --netns.
inline constexpr const char* kPlaceHelp =
    "its name in 'ip netns', the PID of a process in it, a path such as /proc/PID/ns/net, or the "
    "name "
    "or id of a container or pod (NAMESPACE/POD) that the CNI cache or the runtime knows (default: "
    "this one)";

}  // namespace pathproof::cli::inspect
