// Hands a trial to the workers and takes it back. The trial is one snapshot, written before the
// workers are woken and left alone until all of them are done. Between trials they sleep.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <semaphore>

#include "dataplane/load/load_run.h"
#include "dataplane/load/pacer.h"
#include "dataplane/load/rendezvous.h"

namespace pathproof::load {

struct Trial {
    TrialOrder order;
    const std::atomic<bool>* stop = nullptr;
};

// One worker's counts for a progress line. One writer each.
struct alignas(64) LiveCounts {
    std::atomic<std::uint64_t> sent = 0;
    std::atomic<std::uint64_t> received = 0;
    std::atomic<std::uint64_t> arrived = 0;  // kept up to date in the drain only
    std::atomic<std::uint64_t> bad = 0;
    std::atomic<std::uint64_t> answered = 0;  // by the worker's responder

    void clear() noexcept {
        for (auto* count : {&sent, &received, &arrived, &bad, &answered}) {
            count->store(0, std::memory_order_relaxed);
        }
    }
};

class TrialBoard {
  public:
    // `workers` take part in each trial, `senders` of them send, `listeners` receive.
    TrialBoard(std::size_t workers, std::size_t senders, std::size_t listeners);

    // The controlling thread: hands a trial out; waits at most `time` and says whether all workers
    // are done; sends the workers home for good.
    void publish(const Trial& trial);
    bool wait_done(std::chrono::milliseconds time);
    // Ends the trial before its time.
    void call_off() noexcept { called_off_.store(true, std::memory_order_relaxed); }
    void quit();

    // A worker: waits for the trial after the one it has `seen`; null when there will be none.
    const Trial* next(std::uint64_t& seen) noexcept;
    // Waits for the other workers. All get the same start, a little later than now.
    Tsc arrive(Tsc lead) noexcept;
    void sending_is_over() noexcept { sending_.fetch_sub(1, std::memory_order_acq_rel); }
    void listening_is_over() noexcept { listening_.fetch_sub(1, std::memory_order_acq_rel); }
    bool somebody_sends() const noexcept { return sending_.load(std::memory_order_acquire) > 0; }
    // Returns whether a worker listens, or will listen once all was sent.
    bool somebody_listens() const noexcept {
        return listening_.load(std::memory_order_acquire) > 0;
    }
    // Returns the meeting point of the two senders that leave together, where the plan says so.
    Rendezvous& rendezvous() noexcept { return rendezvous_; }
    bool called_off() const noexcept {
        return called_off_.load(std::memory_order_relaxed) ||
               trial_.stop->load(std::memory_order_relaxed);
    }
    void done() noexcept { done_.release(); }

  private:
    const std::size_t workers_;
    const std::size_t senders_;
    const std::size_t listeners_;
    Trial trial_;
    std::atomic<std::uint64_t> generation_ = 0;
    std::atomic<bool> quit_ = false;
    std::atomic<bool> called_off_ = false;
    std::atomic<std::size_t> arrived_ = 0;
    std::atomic<Tsc> start_ = 0;
    std::atomic<std::size_t> sending_ = 0;
    std::atomic<std::size_t> listening_ = 0;
    Rendezvous rendezvous_;
    std::size_t done_seen_ = 0;
    std::counting_semaphore<1024> done_{0};
};

}  // namespace pathproof::load
