#include "dataplane/traffic/rendezvous.h"

#include <rte_pause.h>
#include <sched.h>

#include <algorithm>

namespace pathproof::traffic {
namespace {

// Spins while the other lcore can be expected at any moment; after that it may wait for the very
// CPU that we hold (two lcores on one CPU, a busy machine), and we step aside.
class PatientSpin {
  public:
    void wait() noexcept {
        if (++rounds_ < kImpatientRounds) {
            rte_pause();
            return;
        }
        sched_yield();
    }

  private:
    static constexpr unsigned kImpatientRounds = 4096;  // about 100 us
    unsigned rounds_ = 0;
};

}  // namespace

Tsc Rendezvous::lead(std::uint64_t pair, Tsc deadline, Tsc notice) noexcept {
    PatientSpin spin;
    while (ready_.load(std::memory_order_acquire) <= pair) {
        spin.wait();
    }
    instant_ = std::max(deadline, tsc_now() + notice);
    named_.store(pair + 1, std::memory_order_release);
    return instant_;
}

void Rendezvous::call_off() noexcept {
    called_off_.store(true, std::memory_order_release);
}

std::optional<Tsc> Rendezvous::follow(std::uint64_t pair) noexcept {
    ready_.store(pair + 1, std::memory_order_release);
    PatientSpin spin;
    while (named_.load(std::memory_order_acquire) <= pair) {
        // What was named before the calling off still holds: look once more after it.
        if (called_off_.load(std::memory_order_acquire) &&
            named_.load(std::memory_order_acquire) <= pair) {
            return std::nullopt;
        }
        spin.wait();
    }
    return instant_;
}

}  // namespace pathproof::traffic
