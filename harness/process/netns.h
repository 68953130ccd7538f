// Entering a network namespace, and running a function inside one.
#pragma once

#include <functional>
#include <string>
#include <type_traits>

#include "dataplane/base/result.h"

namespace pathproof::process {

// Returns whether `ip netns` knows a namespace of this name (a file below /run/netns).
bool netns_exists(const std::string& name);
// kNotFound: it knows none. An empty name is the caller's own.
Status require_netns(const std::string& name);

enum class SysfsView {
    kKeep,     // only the network namespace changes: enough for sockets
    kRemount,  // also a private mount namespace whose /sys shows this namespace's devices
};

// Moves the calling thread into the named network namespace; an empty name stays where it is.
// kRemount is for a child process of its own, never for a thread of a larger process.
Status enter_netns(const std::string& name, SysfsView sysfs);

// Runs `work` on a thread of its own inside the namespace and waits for it; the caller stays where
// it is.
Status in_netns(const std::string& name, const std::function<Status()>& work);

// Work that gives a value.
template <typename Work, typename Outcome = std::invoke_result_t<const Work&>>
requires(!std::is_same_v<Outcome, Status>) Outcome
    in_netns(const std::string& name, const Work& work) {
    Outcome outcome;
    TRY(in_netns(name, [&]() -> Status {
        outcome = work();
        return {};
    }));
    return outcome;
}

}  // namespace pathproof::process
