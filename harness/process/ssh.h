// Calls OpenSSH: with the user's own configuration, keys and known hosts, and no questions.
#pragma once

#include <string>
#include <vector>

#include "dataplane/base/result.h"

namespace pathproof::process {

struct SshHost {
    std::string destination;  // as ssh(1) takes it: "root@dut1"
    std::string config;       // a file for its -F; empty: the user's
    bool operator==(const SshHost&) const = default;
};

// ssh ends with this status for what is not the remote command's: no host, no way in, a lost
// connection.
inline constexpr int kSshFailed = 255;

// Runs `words`, joined by blanks, in the shell that the user has there. A connection over which
// nothing comes for 15 s is lost.
std::vector<std::string> ssh_command(const SshHost& host, const std::vector<std::string>& words);

// Explains an ssh that ended with kSshFailed before anything was done: what the user can do, and
// ssh's own words.
Failure ssh_failure(const SshHost& host, const std::string& said);

}  // namespace pathproof::process
