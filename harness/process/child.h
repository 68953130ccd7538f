// A process of ours that speaks JSON lines with us: it is started inside a namespace (or over
// OpenSSH), has one end of a socket pair as its standard input and output, and never outlives us.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <string>
#include <vector>

#include "dataplane/base/file.h"
#include "dataplane/base/result.h"

namespace pathproof::process {

struct ChildOptions {
    std::string netns;  // named network namespace; empty: the caller's
    // Signal to the child when the calling process dies; a child that puts something back first
    // takes SIGTERM.
    int at_our_death = SIGKILL;
    bool keep_errors = false;  // its standard error goes to errors(); else to ours
};

class Child {
  public:
    // Starts argv[0]. The child gets a signal when the calling process dies (PR_SET_PDEATHSIG, which
    // follows the *thread* that forks: start children from a thread that lives as long as they
    // should).
    static Result<Child> start(const std::vector<std::string>& argv, const ChildOptions& options);

    Child(Child&& other) noexcept;
    Child& operator=(Child&& other) noexcept;
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    // Closes the socket, gives the child two seconds to end by itself, then kills it.
    ~Child();

    pid_t pid() const { return pid_; }
    int socket() const { return socket_.get(); }
    int errors() const { return errors_.get(); }  // to be read until its end; -1: not kept

    // Closes the socket and waits; says how it ended, for example "exit status 0" or "signal 9
    // (Killed)".
    std::string stop();

  private:
    Child(pid_t pid, Fd socket, Fd errors)
        : pid_(pid), socket_(std::move(socket)), errors_(std::move(errors)) {}

    pid_t pid_ = -1;
    Fd socket_;
    Fd errors_;
};

// The path of the running pathproof binary, from which children are started; of one that was replaced
// or deleted meanwhile, the way to it that is left.
std::string own_binary();

}  // namespace pathproof::process
