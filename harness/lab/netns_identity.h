// A network namespace whatever it is called: a name may be gone, or mean another namespace by the
// time that something is put back.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "dataplane/base/result.h"

namespace pathproof::lab {

struct NetnsIdentity {
    std::uint64_t inode = 0;   // of /proc/PID/ns/net; given again once the namespace is gone
    std::uint64_t cookie = 0;  // SO_NETNS_COOKIE, never given twice; 0 before Linux 5.14
    bool operator==(const NetnsIdentity&) const = default;
};

// That of the calling thread.
Result<NetnsIdentity> current_netns();

// "INODE:COOKIE", and back; kBadInput for anything else.
std::string to_string(const NetnsIdentity& netns);
Result<NetnsIdentity> parse_netns(const std::string& text);

// Runs `work` inside the namespace, on a thread of its own if it is not the caller's. Looks for it
// among the named ones and those of all processes. False: it is gone, and `work` was not run.
Result<bool> run_in(const NetnsIdentity& netns, const std::function<Status()>& work);

// Runs `work` in each network namespace of this machine, the caller's first, as long as it gives
// kNotFound (or may not be entered): what it gave last. For what the kernel has once and shows in
// its first one only.
Status run_where_found(const std::function<Status()>& work);

}  // namespace pathproof::lab
