// The work of one lcore in a trial: it looks at its receive queues, sends what is due, and keeps
// account of its own time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dataplane/load/sender.h"
#include "dataplane/load/trial_board.h"
#include "dataplane/port/counter_rate.h"

namespace pathproof::load {

// Account of a worker's time in one trial.
struct WorkerTime {
    // Cycles between two looks at the receive queues: their sum and that of their squares.
    double looked = 0;
    double looked_squared = 0;
    Tsc busy = 0;  // cycles of the turns that moved frames
    std::uint64_t stalls = 0;
    Tsc stalled = 0;
    Tsc longest_stall = 0;
    std::uint64_t ran_ns = 0;
    std::uint64_t waited_ns = 0;
    Tsc began = 0;
    Tsc ended = 0;
    // Clocks on the worker's CPU, before the first frame and after the last.
    port::ClockReading clocks_before;
    port::ClockReading clocks_after;
};

// A receive queue, and the number of its port among the run's.
struct Receiver {
    Roles::Queue queue;
    std::size_t port_number = 0;
    bool only_errors = false;         // Roles::listeners
    neighbour::Desk* desk = nullptr;  // answers what comes in there; null: nobody does
};

class LoadWorker {
  public:
    // All of the engine's workers, for the question whether everything has arrived.
    using List = std::vector<std::unique_ptr<LoadWorker>>;

    LoadWorker(unsigned number, const LoadPlan& plan, const traffic::RunClock& clock,
               TrialBoard& board, const List& all);
    void add(Sender sender) { senders_.push_back(std::move(sender)); }
    void add(const Receiver& receiver) { receivers_.push_back(receiver); }
    // Answers for its receivers; the desk's address stays as it is.
    neighbour::Desk& add(neighbour::Desk desk) {
        return *desks_.emplace_back(std::make_unique<neighbour::Desk>(std::move(desk)));
    }
    // Sends what desks of other lcores answer on a port of which it owns a transmit queue.
    neighbour::Relay& add(std::unique_ptr<neighbour::Relay> relay) {
        return *relays_.emplace_back(std::move(relay));
    }
    neighbour::Relay* relay_to(const port::Port& port) noexcept;
    // Sets the intake. A worker with receivers needs one, of either kind, before the first trial.
    void set_intake(TrackedIntake intake, Returns returns) {
        intake_ = &tracked_.emplace(std::move(intake));
        returns_.emplace(std::move(returns));
    }
    void set_intake(Intake& intake) { intake_ = &intake; }
    void set_responder(traffic::RespondWorker& responder) { responder_ = &responder; }
    // Once all workers are there: lets the senders see what comes back anywhere.
    void watch_returns();

    // Serves trials until there are no more: the function of the lcore.
    int serve() noexcept;

    unsigned number() const noexcept { return number_; }
    const std::vector<Sender>& senders() const noexcept { return senders_; }
    const Intake* intake() const noexcept { return intake_; }
    // Null: it receives nothing, or not by stamps. For other threads between trials only.
    TrackedIntake* tracked() noexcept { return tracked_ ? &*tracked_ : nullptr; }
    const WorkerTime& time() const noexcept { return time_; }
    const LiveCounts& live() const noexcept { return live_; }
    // Frames from before the trial.
    std::uint64_t emptied() const noexcept { return emptied_; }
    // Answers to ARP and neighbour discovery in the trial; at ports for which `counts` says so.
    template <typename Counts>
    neighbour::AnswerCounts answers(Counts counts) const {
        neighbour::AnswerCounts sum;
        for (const auto& desk : desks_) {
            add_counts(sum, counts(desk->port()) ? desk->counts() : neighbour::AnswerCounts());
        }
        for (const auto& relay : relays_) {
            add_counts(sum, counts(relay->port()) ? relay->counts() : neighbour::AnswerCounts());
        }
        return sum;
    }
    // The trial ended before its time.
    bool stopped() const noexcept { return stopped_; }

  private:
    void run(const Trial& trial) noexcept;
    void begin(const TrialOrder& order, Tsc start) noexcept;
    void loop(const Trial& trial) noexcept;
    void empty(const Receiver& receiver) noexcept;
    void look_aside(const Receiver& receiver, std::span<rte_mbuf* const> burst) noexcept;
    unsigned pass_on() noexcept;
    std::uint16_t room(Tsc now) const noexcept;
    unsigned receive(std::uint16_t most) noexcept;
    unsigned answer(std::uint16_t most) noexcept;
    unsigned send(Tsc now) noexcept;
    bool all_sent(Tsc now) const noexcept;
    void end_sending() noexcept;
    bool pushed_out(Tsc now) noexcept;
    bool drained(const TrialOrder& order, Tsc now) noexcept;
    void put_off(const TrialOrder& order, Tsc now) noexcept;
    bool everything_arrived() const noexcept;
    Tsc wake(Tsc now) const noexcept;
    void account(Tsc began, Tsc now, unsigned moved) noexcept;
    void note_look(Tsc apart) noexcept;
    bool idle(const TrialOrder& order, Tsc now) noexcept;

    const unsigned number_;
    const bool punctual_;
    const std::uint16_t least_read_;
    const unsigned at_once_;  // frames of one departure
    traffic::RunClock clock_;
    TrialBoard& board_;
    const List& all_;
    std::vector<Sender> senders_;
    std::vector<Receiver> receivers_;
    Intake* intake_ = nullptr;
    std::optional<TrackedIntake> tracked_;
    std::optional<Returns> returns_;  // beside it
    traffic::RespondWorker* responder_ = nullptr;
    std::vector<std::unique_ptr<neighbour::Desk>> desks_;
    std::vector<std::unique_ptr<neighbour::Relay>> relays_;
    std::uint64_t others_ = 0;  // frames that were none of the run's, as last looked
    LiveCounts live_;
    WorkerTime time_;
    traffic::Napper napper_;
    bool sending_ = false;
    bool stopped_ = false;
    Tsc stall_cycles_;
    Tsc busy_stall_cycles_;
    Tsc push_end_ = 0;  // what waits in a driver then stays there; 0: not known yet
    std::uint64_t emptied_ = 0;
    Tsc drain_from_ = 0;  // when all was sent; 0: not known yet
    Tsc drain_end_ = 0;
    std::uint64_t came_ = 0;  // tracked frames, when there was one more last
    Tsc came_at_ = 0;
};

}  // namespace pathproof::load
