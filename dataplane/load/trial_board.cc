#include "dataplane/load/trial_board.h"

#include <rte_pause.h>
#include <sched.h>

namespace pathproof::load {

TrialBoard::TrialBoard(std::size_t workers, std::size_t senders, std::size_t listeners)
    : workers_(workers), senders_(senders), listeners_(listeners) {}

void TrialBoard::publish(const Trial& trial) {
    trial_ = trial;
    called_off_.store(false, std::memory_order_relaxed);
    arrived_.store(0, std::memory_order_relaxed);
    start_.store(0, std::memory_order_relaxed);
    sending_.store(senders_, std::memory_order_relaxed);
    listening_.store(listeners_, std::memory_order_relaxed);
    rendezvous_.reset();
    done_seen_ = 0;
    generation_.fetch_add(1, std::memory_order_release);
    generation_.notify_all();
}

bool TrialBoard::wait_done(std::chrono::milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (done_seen_ < workers_) {
        if (!done_.try_acquire_until(end)) {
            return false;
        }
        ++done_seen_;
    }
    return true;
}

void TrialBoard::quit() {
    quit_.store(true, std::memory_order_relaxed);
    generation_.fetch_add(1, std::memory_order_release);
    generation_.notify_all();
}

const Trial* TrialBoard::next(std::uint64_t& seen) noexcept {
    generation_.wait(seen, std::memory_order_acquire);
    seen = generation_.load(std::memory_order_acquire);
    return quit_.load(std::memory_order_relaxed) ? nullptr : &trial_;
}

Tsc TrialBoard::arrive(Tsc lead) noexcept {
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == workers_) {
        const Tsc start = traffic::tsc_now() + lead;
        start_.store(start, std::memory_order_release);
        return start;
    }
    Tsc start = 0;
    while ((start = start_.load(std::memory_order_acquire)) == 0) {
        // Two workers may have one CPU.
        sched_yield();
    }
    return start;
}

}  // namespace pathproof::load
