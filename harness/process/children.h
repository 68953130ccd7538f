// The processes that this one starts, so that all of them can be ended at once: what they are asked
// to do is then done by nobody any more.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace pathproof::process {

// Phase in which a process may be started: those that put the machine back may start after
// end_children() too.
enum class Starts { kWhileOpen, kWhileStopping };

// As fork(2); -1 with ECANCELED once the children were ended.
pid_t fork_child(Starts starts = Starts::kWhileOpen);

// As exec(3) takes words, for as long as they live: with a null pointer behind the last.
std::vector<char*> pointers_to(const std::vector<std::string>& words);

// Turns a new child into its program: goes into the network namespace (empty: stays), with the
// namespace's devices in /sys, and becomes the program argv[0]. Says why not, and ends with 126 or
// 127.
[[noreturn]] void become(const std::vector<std::string>& argv, const std::string& netns);

// Waits until the child ended, at most so long, and leaves it to be reaped. False: it still runs.
bool wait_for_end(pid_t pid, std::chrono::milliseconds patience);

// Waits until the child ended and takes it off: its status as waitpid(2) gives it.
int reap(pid_t pid);

// Kills all children (SIGKILL) and waits until they are gone, with what they held: files, memory,
// sockets. Whoever still wants to start one is refused from then on.
void end_children();

}  // namespace pathproof::process
