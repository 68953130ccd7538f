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

#include "dataplane/base/exit_code.h"
#include "dataplane/base/file.h"
#include "harness/process/children.h"
#include "harness/process/stop.h"

namespace pathproof::lab {
namespace {

constexpr const char* kUntouched = "nothing of the machine was changed";

}  // namespace

SignalHold::SignalHold() : signals_(process::stop_signals()) {
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
}

SignalHold::~SignalHold() {
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

struct SignalGuard::Impl {
    Journal* journal;
    Told told;
    std::function<void()> silence;
    SignalHold hold{};
    Fd signals{};
    Fd stop{};
    std::thread watcher{};

    [[noreturn]] void end_run(int signal) {
        if (silence) {
            silence();
        }
        if (journal != nullptr) {
            journal->seal();
        }
        process::end_children();
        try {
            // machine() reports what went wrong.
            static_cast<void>(journal != nullptr ? journal->undo() : Status());
            told(signal, journal != nullptr ? journal->machine() : kUntouched);
        } catch (...) {  // there may be nowhere to tell it
        }
        _exit(kIncomplete);
    }

    void watch() {
        std::array<pollfd, 2> ends{{{signals.get(), POLLIN, 0}, {stop.get(), POLLIN, 0}}};
        while (poll(ends.data(), ends.size(), -1) >= 0 || errno == EINTR) {
            signalfd_siginfo arrived{};
            if ((ends[0].revents & POLLIN) != 0 &&
                read(signals.get(), &arrived, sizeof arrived) == sizeof arrived) {
                end_run(static_cast<int>(arrived.ssi_signo));
            }
            if (ends[1].revents != 0) {
                return;
            }
        }
    }
};

SignalGuard::SignalGuard(Journal* journal, Told told, std::function<void()> silence)
    : impl_(new Impl{.journal = journal, .told = std::move(told), .silence = std::move(silence)}) {
    impl_->signals = Fd(signalfd(-1, &impl_->hold.signals(), SFD_CLOEXEC));
    impl_->stop = Fd(eventfd(0, EFD_CLOEXEC));
    if (process::stopping()) {  // the reader of our output was gone before the guard came
        sigqueue(getpid(), SIGPIPE, {});
    }
    impl_->watcher = std::thread([this] { impl_->watch(); });
}

SignalGuard::~SignalGuard() {
    const std::uint64_t one = 1;
    if (write(impl_->stop.get(), &one, sizeof one) == sizeof one) {
        impl_->watcher.join();
    } else {
        impl_->watcher.detach();
    }
}

}  // namespace pathproof::lab
