// Work handed to one thread: requests come in on threads of their own, but all that touches DPDK is
// done, one after the other, by the thread on which the EAL was started.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>

namespace pathproof::tester {

class WorkQueue {
  public:
    // Does what is handed in until close(), and what was handed in before it.
    void serve() {
        std::unique_lock lock(mutex_);
        for (;;) {
            changed_.wait(lock, [this] { return closed_ || !waiting_.empty(); });
            if (waiting_.empty()) {
                return;
            }
            const std::function<void()> work = std::move(waiting_.front());
            waiting_.pop_front();
            lock.unlock();
            work();
            lock.lock();
        }
    }

    // Hands `work` in and waits for what it gives. Not after close().
    template <typename Work>
    auto ask(Work work) {
        std::packaged_task<decltype(work())()> task(std::move(work));
        auto outcome = task.get_future();
        {
            const std::lock_guard lock(mutex_);
            waiting_.emplace_back([&task] { task(); });
        }
        changed_.notify_one();
        return outcome.get();
    }

    void close() {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        changed_.notify_one();
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> waiting_;
    bool closed_ = false;
};

}  // namespace pathproof::tester
