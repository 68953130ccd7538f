#include "harness/agent/reactor.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <utility>

namespace pathproof::agent {
namespace {

constexpr std::uint64_t kWake = 0;  // the watch number of the eventfd

}  // namespace

Result<std::unique_ptr<Reactor>> Reactor::create() {
    Fd epoll(epoll_create1(EPOLL_CLOEXEC));
    Fd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!epoll || !wake) {
        return system_failure("make an event loop", errno);
    }
    epoll_event event{.events = EPOLLIN, .data = {.u64 = kWake}};
    if (epoll_ctl(epoll.get(), EPOLL_CTL_ADD, wake.get(), &event) != 0) {
        return system_failure("make an event loop", errno);
    }
    return std::unique_ptr<Reactor>(new Reactor(std::move(epoll), std::move(wake)));
}

Reactor::~Reactor() {
    stop();
}

Status Reactor::watch(int descriptor, std::uint32_t events, Callback callback) {
    const std::uint64_t number = next_watch_++;
    epoll_event event{.events = events, .data = {.u64 = number}};
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) {
        return system_failure("watch a socket", errno);
    }
    watches_[number] = {descriptor, std::make_shared<Callback>(std::move(callback))};
    watch_of_[descriptor] = number;
    return {};
}

void Reactor::change(int descriptor, std::uint32_t events) {
    const auto number = watch_of_.find(descriptor);
    if (number == watch_of_.end()) {
        return;
    }
    epoll_event event{.events = events, .data = {.u64 = number->second}};
    epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, descriptor, &event);
}

void Reactor::forget(int descriptor) {
    const auto number = watch_of_.find(descriptor);
    if (number == watch_of_.end()) {
        return;
    }
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
    watches_.erase(number->second);
    watch_of_.erase(number);
}

void Reactor::after(std::chrono::milliseconds delay, Callback callback) {
    timers_.emplace(Clock::now() + delay, std::move(callback));
}

void Reactor::start() {
    thread_ = std::thread([this] { run(); });
}

void Reactor::stop() {
    if (!thread_.joinable()) {
        return;
    }
    const std::uint64_t one = 1;
    while (write(wake_.get(), &one, sizeof one) < 0 && errno == EINTR) {
    }
    thread_.join();
}

void Reactor::run() {
    std::array<epoll_event, 64> events{};
    for (;;) {
        const int ready = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                     milliseconds_to_next_timer());
        for (int i = 0; i < ready; ++i) {
            const std::uint64_t number = events[static_cast<std::size_t>(i)].data.u64;
            if (number == kWake) {
                return;
            }
            const auto watch = watches_.find(number);
            if (watch == watches_.end()) {
                continue;  // forgotten by a callback earlier in this round
            }
            // It may forget itself.
            const std::shared_ptr<Callback> callback = watch->second.callback;
            (*callback)();
        }
        call_due_timers();
    }
}

int Reactor::milliseconds_to_next_timer() const {
    if (timers_.empty()) {
        return -1;
    }
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(timers_.begin()->first - Clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, INT_MAX));
}

void Reactor::call_due_timers() {
    const Clock::time_point now = Clock::now();
    while (!timers_.empty() && timers_.begin()->first <= now) {
        const Callback callback = std::move(timers_.begin()->second);
        timers_.erase(timers_.begin());
        callback();
    }
}

}  // namespace pathproof::agent
