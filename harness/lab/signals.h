// Ctrl-C and its like: the machine is put back wherever the run happens to be.
#pragma once

#include <csignal>
#include <functional>
#include <memory>
#include <string>

#include "harness/lab/journal.h"

namespace pathproof::lab {

// While it lives, the signals that stop a run (process::stop_signals()) wait for a guard that takes
// them. In the calling thread and in those that it starts: make it before any other, and before the
// journal is opened.
class SignalHold {
  public:
    SignalHold();
    SignalHold(const SignalHold&) = delete;
    SignalHold& operator=(const SignalHold&) = delete;
    ~SignalHold();

    const sigset_t& signals() const { return signals_; }

  private:
    sigset_t signals_{};
    sigset_t before_{};
};

// While it lives, these signals seal the journal, end all processes that this one started, undo the
// journal, all in a thread of its own, and then end the process with exit status 3 (incomplete),
// whatever the other threads wait for.
class SignalGuard {
  public:
    // Called in the guard's thread after undoing, with Journal::machine(): the place to tell the
    // user, and to write what is there of a report.
    using Told = std::function<void(int signal, const std::string& machine)>;

    // `journal` must outlive the guard; null: nothing is changed. `silence` is called first: what
    // the other threads would still say is of no use any more.
    SignalGuard(Journal* journal, Told told, std::function<void()> silence = {});
    SignalGuard(const SignalGuard&) = delete;
    SignalGuard& operator=(const SignalGuard&) = delete;
    ~SignalGuard();

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace pathproof::lab
