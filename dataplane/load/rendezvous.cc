#include "dataplane/load/rendezvous.h"

#include <rte_pause.h>
#include <sched.h>

#include <algorithm>

namespace pathproof::load {
namespace {

using traffic::Tsc;

// Waits until more than `unit` units are counted; false: called off before that. Spins while the
// other lcore can be expected at any moment; after that it may wait for the very CPU that we hold
// (two lcores on one CPU, a busy machine), and we step aside.
bool wait_for(const std::atomic<std::uint64_t>& count, std::uint64_t unit,
              const std::atomic<bool>& called_off) noexcept {
    constexpr unsigned kImpatientRounds = 4096;  // about 100 us
    unsigned rounds = 0;
    while (count.load(std::memory_order_acquire) <= unit) {
        // Units counted before the calling off still hold: look once more after it.
        if (called_off.load(std::memory_order_acquire)) {
            return count.load(std::memory_order_acquire) > unit;
        }
        if (++rounds < kImpatientRounds) {
            rte_pause();
        } else {
            sched_yield();
        }
    }
    return true;
}

}  // namespace

void Rendezvous::reset() noexcept {
    ready_.store(0, std::memory_order_relaxed);
    named_.store(0, std::memory_order_relaxed);
    called_off_.store(false, std::memory_order_relaxed);
}

std::optional<Tsc> Rendezvous::lead(std::uint64_t unit, Tsc deadline, Tsc notice) noexcept {
    if (!wait_for(ready_, unit, called_off_)) {
        return std::nullopt;
    }
    instant_ = std::max(deadline, traffic::tsc_now() + notice);
    named_.store(unit + 1, std::memory_order_release);
    return instant_;
}

std::optional<Tsc> Rendezvous::follow(std::uint64_t unit) noexcept {
    ready_.store(unit + 1, std::memory_order_release);
    return wait_for(named_, unit, called_off_) ? std::optional(instant_) : std::nullopt;
}

}  // namespace pathproof::load
