#include "harness/process/children.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <set>

#include "harness/process/netns.h"
#include "harness/process/stop.h"

namespace pathproof::process {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLook{2};
// A process that hangs in the kernel for longer is not waited for.
constexpr milliseconds kLongestKill{10'000};

struct Children {
    std::mutex mutex;
    std::set<pid_t> running;  // not reaped yet: no number stands for another process
    bool ended = false;
};

Children& children() {
    static Children all;
    return all;
}

bool has_ended(pid_t pid) {
    siginfo_t about{};
    const int outcome = waitid(P_PID, static_cast<id_t>(pid), &about, WEXITED | WNOHANG | WNOWAIT);
    return outcome < 0 ? errno == ECHILD : about.si_pid == pid;
}

}  // namespace

pid_t fork_child(Starts starts) {
    Children& all = children();
    const std::lock_guard lock(all.mutex);
    if (all.ended && starts == Starts::kWhileOpen) {
        errno = ECANCELED;
        return -1;
    }
    const pid_t pid = fork();
    if (pid > 0 && starts == Starts::kWhileOpen) {
        all.running.insert(pid);
    }
    return pid;
}

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
    std::vector<char*> pointers;
    for (const std::string& word : words) {
        pointers.push_back(const_cast<char*>(word.c_str()));
    }
    pointers.push_back(nullptr);
    return pointers;
}

void become(const std::vector<std::string>& argv, const std::string& netns) {
    give_signals_back();
    if (const Status entered = enter_netns(netns, SysfsView::kRemount); !entered) {
        dprintf(STDERR_FILENO, "%s\n", entered.error().message.c_str());
        _exit(126);
    }
    const std::vector<char*> words = pointers_to(argv);
    execvp(words[0], words.data());
    dprintf(STDERR_FILENO, "%s: %s\n", words[0], std::strerror(errno));
    _exit(127);
}

bool wait_for_end(pid_t pid, milliseconds patience) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (!has_ended(pid)) {
        if (std::chrono::steady_clock::now() > deadline) {
            return false;
        }
        usleep(static_cast<useconds_t>(std::chrono::microseconds(kLook).count()));
    }
    return true;
}

int reap(pid_t pid) {
    siginfo_t about{};
    while (waitid(P_PID, static_cast<id_t>(pid), &about, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
    }
    Children& all = children();
    const std::lock_guard lock(all.mutex);
    all.running.erase(pid);
    int state = 0;
    while (waitpid(pid, &state, 0) < 0 && errno == EINTR) {
    }
    return state;
}

void end_children() {
    Children& all = children();
    std::set<pid_t> running;
    {
        const std::lock_guard lock(all.mutex);
        all.ended = true;
        running = all.running;
        for (const pid_t pid : running) {
            kill(pid, SIGKILL);
        }
    }
    for (const pid_t pid : running) {
        wait_for_end(pid, kLongestKill);
    }
}

}  // namespace pathproof::process
