#include "harness/lab/signals.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <thread>
#include <utility>

#include "harness/process/stop.h"

namespace pathproof::lab {
namespace {

constexpr int kIncomplete = 3;

}  // namespace

struct SignalGuard::Impl {
    Journal& journal;
    Told told;
    sigset_t before{};
    int signals = -1;
    int stop = -1;
    std::thread watcher;

    void watch() {
        std::array<pollfd, 2> ends{{{signals, POLLIN, 0}, {stop, POLLIN, 0}}};
        while (poll(ends.data(), ends.size(), -1) >= 0 || errno == EINTR) {
            signalfd_siginfo arrived{};
            if ((ends[0].revents & POLLIN) != 0 &&
                read(signals, &arrived, sizeof arrived) == sizeof arrived) {
                const Status undone = journal.undo();
                told(static_cast<int>(arrived.ssi_signo), undone);
                _exit(kIncomplete);
            }
            if (ends[1].revents != 0) {
                return;
            }
        }
    }
};

SignalGuard::SignalGuard(Journal& journal, Told told)
    : impl_(new Impl{.journal = journal, .told = std::move(told)}) {
    const sigset_t set = process::stop_signals();
    pthread_sigmask(SIG_BLOCK, &set, &impl_->before);
    impl_->signals = signalfd(-1, &set, SFD_CLOEXEC);
    impl_->stop = eventfd(0, EFD_CLOEXEC);
    impl_->watcher = std::thread([this] { impl_->watch(); });
}

SignalGuard::~SignalGuard() {
    const std::uint64_t one = 1;
    if (write(impl_->stop, &one, sizeof one) == sizeof one) {
        impl_->watcher.join();
    } else {
        impl_->watcher.detach();
    }
    close(impl_->signals);
    close(impl_->stop);
    pthread_sigmask(SIG_SETMASK, &impl_->before, nullptr);
}

}  // namespace pathproof::lab
