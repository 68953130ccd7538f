#include "harness/process/stop.h"

#include <unistd.h>

#include <algorithm>

namespace pathproof::process {
namespace {

using Clock = std::chrono::steady_clock;

std::atomic<bool> stop = false;
static_assert(std::atomic<bool>::is_always_lock_free, "set by a signal handler");

// A write to a program that has ended raises SIGPIPE, too, in the kernel's own words a kill() by
// ourselves: it stops nothing, the writer sees EPIPE. hold_standard_streams() queues its own.
extern "C" void note_stop(int signal, siginfo_t* info, void*) {
    if (signal != SIGPIPE || info->si_code != SI_USER || info->si_pid != getpid()) {
        stop.store(true, std::memory_order_relaxed);
    }
}

void stop_on(int signal) {
    struct sigaction action {};
    action.sa_sigaction = note_stop;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
}

bool is_disposed(int signal, void (*handler)(int)) {
    struct sigaction present {};
    sigaction(signal, nullptr, &present);
    return (present.sa_flags & SA_SIGINFO) == 0 && present.sa_handler == handler;
}

}  // namespace

sigset_t stop_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGHUP}) {
        if (signal != SIGHUP || !is_disposed(SIGHUP, SIG_IGN)) {
            sigaddset(&set, signal);
        }
    }
    return set;
}

const std::atomic<bool>& stop_on_signals() {
    const sigset_t set = stop_signals();
    for (int signal = 1; signal < SIGRTMIN; ++signal) {
        if (sigismember(&set, signal) == 1) {
            stop_on(signal);
        }
    }
    return stop;
}

void stop_on_closed_output() {
    stop_on(SIGPIPE);
}

bool stopping() {
    return stop.load(std::memory_order_relaxed);
}

void sleep_until(Clock::time_point wake) {
    while (!stopping() && Clock::now() < wake) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(wake - Clock::now());
        usleep(static_cast<useconds_t>(std::min<std::int64_t>(left.count(), 100) * 1000));
    }
}

void ignore_closed_pipes() {
    if (is_disposed(SIGPIPE, SIG_DFL)) {
        std::signal(SIGPIPE, SIG_IGN);
    }
}

void give_signals_back() {
    std::signal(SIGPIPE, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace pathproof::process
