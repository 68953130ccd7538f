// A /run of the test's own: namespaces' names, journals and the lock are nobody else's.
#pragma once

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace pathproof::lab {

struct OwnRun {
    OwnRun() {
        if (geteuid() != 0) {
            std::puts("skipped: these tests make network namespaces and need root");
            constexpr int kMesonSkip = 77;
            std::exit(kMesonSkip);
        }
        unsetenv("PATHPROOF_RUN_DIR");
        if (unshare(CLONE_NEWNS) != 0 ||
            mount("", "/", "none", MS_REC | MS_PRIVATE, nullptr) != 0 ||
            mount("pathproof-test", "/run", "tmpfs", 0, "mode=755") != 0) {
            std::perror("a /run of our own");
            std::exit(1);
        }
    }
};

}  // namespace pathproof::lab
