// A command of pathproof inside a guest of QEMU that runs another kernel: its root folder is this
// machine's, read-only (virtio-9p), what is written stays in the guest's memory, and only the folders
// that are named are this machine's own. Nothing of this machine is changed, and nobody needs to be
// root here.
#pragma once

#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/guest/kernel.h"

namespace pathproof::guest {

struct ProgramPlan {
    Kernel kernel;
    std::vector<std::string> words;     // of the command, without the program
    std::string typed;                  // how the guest was asked for: "guest --kernel ..."
    std::vector<std::string> writable;  // folders, absolute
    unsigned cpus = 2;
    unsigned memory_mib = 2048;
    bool kvm = false;  // in place of emulation (TCG)
};

// Runs it to its end; its output and errors are ours as they come, and so are the signals that stop a
// run (the second one ends the guest at once). Gives its exit status. Errors: the guest did not come
// up, or went away, with the last lines of its console (kUnavailable).
Result<int> run_in_guest(const ProgramPlan& plan);

// Returns the environment variable that a program in such a guest has; empty: this program runs in
// none.
std::string guest_of_this_program();

}  // namespace pathproof::guest
