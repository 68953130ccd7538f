// Ctrl-C and its like: the machine is put back wherever the run happens to be.
#pragma once

#include <csignal>
#include <functional>
#include <memory>

#include "dataplane/base/result.h"
#include "harness/lab/journal.h"

namespace pathproof::lab {

// While it lives, process::stop_signals() undo the journal from a thread of their own and then
// end the process with exit status 3 (incomplete), whatever the other threads wait for. The
// processes in the lab's namespaces are ended with it; changes that another thread tries to make
// from then on are refused by the journal.
//
// Make it before any other thread is started: the signals are blocked in the calling thread and
// those it starts.
class SignalGuard {
  public:
    // Called in the guard's thread after undoing, with the outcome: the place to tell the user, and
    // to write what is there of a report.
    using Told = std::function<void(int signal, const Status& undone)>;

    // `journal` must outlive the guard.
    SignalGuard(Journal& journal, Told told);
    SignalGuard(const SignalGuard&) = delete;
    SignalGuard& operator=(const SignalGuard&) = delete;
    ~SignalGuard();

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace pathproof::lab
