// One transmit queue in a trial: makes the frames that are due, and offers them to the driver until
// it takes them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "dataplane/base/counts.h"
#include "dataplane/load/load_run.h"
#include "dataplane/load/pacer.h"
#include "dataplane/load/rendezvous.h"
#include "dataplane/load/source.h"
#include "dataplane/load/under_way.h"
#include "dataplane/traffic/pace.h"

namespace pathproof::load {

inline constexpr std::uint16_t kMostInBurst = 64;
// A driver that takes nothing for so long has stopped for good.
inline constexpr Nanoseconds kStuckAfter = std::chrono::milliseconds(100);

// A sender's part in leaving together with another.
struct Meeting {
    Rendezvous* with = nullptr;  // null: it leaves alone
    bool leads = false;
    Nanoseconds skew{0};  // between the two
    const frame::FrameTemplate* warm_up = nullptr;
};

struct SenderSetup {
    port::Port* port = nullptr;
    std::uint16_t queue = 0;
    unsigned number = 0;  // among the senders
    unsigned senders = 1;
    std::uint16_t burst = 32;
    unsigned frames_in_unit = 1;  // 2: pairs
    Nanoseconds pair_skew{0};
    bool punctual = false;
    Meeting meeting;
    Nanoseconds timeout{0};  // of a closed loop
};

// One sender's account of one trial.
struct SenderTally {
    std::uint64_t sent = 0;
    HandOver handed;
    std::int64_t first_ns = 0;  // departures, in the run's clock
    std::int64_t last_ns = 0;
    std::int64_t done_ns = 0;  // the driver had the last of them
    InterDeparture departures;
    PairSkew skew;
    judge::LatencyHistogram hand_over;  // from a burst's stamp until the driver had it
};

class Sender {
  public:
    Sender(const SenderSetup& setup, std::unique_ptr<Source> source,
           const traffic::RunClock& clock);

    // Sets the tallies of the frames that came back of its stream; needed for a closed loop.
    void watch(Window::Tallies tallies) { tallies_ = std::move(tallies); }

    void begin(const TrialOrder& order, Tsc start) noexcept;
    // Sends what is due. Says how many frames the driver took.
    std::uint16_t turn(Tsc now) noexcept;
    bool finished(Tsc now) const noexcept;
    // False: frames that the driver took still wait in it.
    bool push_out() noexcept { return setup_.port->push_out(); }
    // Gives back what never left and closes the account.
    void end() noexcept;

    // Returns when turn() will have something to do.
    Tsc wake() const noexcept;
    const SenderTally& tally() const noexcept { return tally_; }
    ClassCounts sent_by_class() const noexcept {
        return counts_between(made_before_, source_->made());
    }
    const Source& source() const noexcept { return *source_; }
    const SenderSetup& setup() const noexcept { return setup_; }

  private:
    bool one_by_one() const noexcept { return setup_.punctual || setup_.pair_skew.count() > 0; }
    bool make(std::size_t frames, Tsc now) noexcept;
    std::size_t due(Tsc now) noexcept;
    std::uint64_t fitting(Tsc now) noexcept;
    Tsc deadline() const noexcept;
    std::size_t fill(std::span<rte_mbuf*> burst, Tsc now) noexcept;
    void note_lateness(Tsc now) noexcept;
    std::uint16_t offer(Tsc stamp, Tsc instant, std::uint16_t most) noexcept;
    std::uint16_t send_one_by_one(Tsc now) noexcept;
    bool prepare(Tsc now) noexcept;
    bool meet(std::uint64_t unit) noexcept;
    void warm_up() noexcept;
    std::uint16_t leave(Tsc now, std::uint16_t frames) noexcept;
    void note_departure(Tsc instant, Tsc after, std::uint16_t frames) noexcept;
    void note_skew(Tsc instant) noexcept;
    void note_failure(Tsc now) noexcept;
    std::span<rte_mbuf*> waiting() noexcept { return {burst_.data() + offered_, made_ - offered_}; }

    SenderSetup setup_;
    std::unique_ptr<Source> source_;
    traffic::RunClock clock_;
    Pacer pacer_;
    RateWindows windows_;
    Window::Tallies tallies_;
    std::optional<Window> window_;  // of a closed loop
    SenderTally tally_;
    ClassCounts made_before_{};
    // For a source that has times of its own: its time of the first frame, and when that frame
    // left.
    std::optional<std::uint64_t> source_from_ns_;
    Tsc start_ = 0;
    bool source_ended_ = false;
    std::array<rte_mbuf*, kMostInBurst> burst_{};
    std::size_t made_ = 0;     // frames in burst_
    std::size_t offered_ = 0;  // of them the driver has
    bool fresh_ = false;       // the next attempt with them is the first
    unsigned attempts_ = 0;    // in a row that came to nothing
    Tsc failing_since_ = 0;
    Tsc due_at_ = 0;  // of what was made last
    // State of a sender that sends one unit at a time.
    std::int64_t spin_ = 0;  // a departure that is so near is waited for in place
    Tsc ahead_ = 0;          // a unit is made so long before it is due
    Tsc leave_at_ = 0;       // when what waits is to leave
    Tsc stamped_ = 0;        // what the frames that wait say of that
    Tsc first_of_pair_ = 0;
    bool called_off_ = false;  // by the sender that this one leaves together with
    Tsc last_departure_ = 0;
    Tsc done_ = 0;
    Tsc give_up_ = 0;  // no frame leaves later
};

}  // namespace pathproof::load
