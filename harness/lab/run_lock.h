// One run at a time: a lock on a file that the kernel releases when its holder dies.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "dataplane/base/file.h"
#include "dataplane/base/result.h"

namespace pathproof::lab {

class RunLock {
  public:
    // Makes `directory` if it is missing and takes the lock in it. kBusy names the pid and
    // the command line of the holder.
    static Result<RunLock> take(const std::string& directory, const std::string& command_line);

    // Takes the lock of the agent in the network namespace with that inode, in a folder of its own
    // in `directory`: a host has one controller at a time.
    static Result<RunLock> take_host(const std::string& directory, std::uint64_t netns,
                                     const std::string& command_line);

    RunLock(RunLock&&) noexcept = default;
    RunLock& operator=(RunLock&&) = delete;
    RunLock(const RunLock&) = delete;
    RunLock& operator=(const RunLock&) = delete;
    // Removes the file, and the folders when nothing else is in them: the last one out does, be it
    // an agent that ends after its controller.
    ~RunLock();

  private:
    RunLock(Fd file, std::string directory)
        : file_(std::move(file)), directory_(std::move(directory)) {}

    Fd file_;
    std::string directory_;
    std::string around_;  // of an agent's: the folder that its own is in
};

// Takes away the locks of agents that were killed.
void remove_stale_host_locks(const std::string& directory);

// Opens `path` and locks it. None: somebody else holds the lock (EWOULDBLOCK) or
// the file went away (ENOENT). It tries for so long: the children of a killed process hold its
// locks for the moment that they take to die too.
Fd open_locked(const std::string& path, int open_flags,
               std::chrono::milliseconds patience = std::chrono::seconds(1));

}  // namespace pathproof::lab
