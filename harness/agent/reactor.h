// One thread that waits for descriptors and for moments in time, and calls back: the loop under the
// servers.
#pragma once

#include <sys/epoll.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <thread>

#include "dataplane/base/result.h"
#include "harness/agent/socket.h"

namespace pathproof::agent {

// All functions but stop() are for the loop's own thread, or for use before start().
class Reactor {
  public:
    using Callback = std::function<void()>;

    static Result<std::unique_ptr<Reactor>> create();
    ~Reactor();

    // Calls back while one of the epoll(7) events holds (level-triggered). The descriptor stays the
    // caller's and must be forgotten before it is closed.
    Status watch(int descriptor, std::uint32_t events, Callback callback);
    void change(int descriptor, std::uint32_t events);
    void forget(int descriptor);

    void after(std::chrono::milliseconds delay, Callback callback);

    void start();
    // Ends the loop and joins its thread. Nothing is called back afterwards.
    void stop();

  private:
    using Clock = std::chrono::steady_clock;
    struct Watch {
        int descriptor;
        std::shared_ptr<Callback> callback;
    };

    Reactor(Fd epoll, Fd wake) : epoll_(std::move(epoll)), wake_(std::move(wake)) {}

    void run();
    int milliseconds_to_next_timer() const;
    void call_due_timers();

    Fd epoll_;
    Fd wake_;  // eventfd: stop() writes to it
    // By a number that is never used twice, so that an event that is still queued for a closed
    // descriptor never reaches the next owner of the same descriptor.
    std::map<std::uint64_t, Watch> watches_;
    std::map<int, std::uint64_t> watch_of_;
    std::uint64_t next_watch_ = 1;
    std::multimap<Clock::time_point, Callback> timers_;
    std::thread thread_;
};

}  // namespace pathproof::agent
