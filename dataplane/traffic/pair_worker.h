// The two lcores of a pair run: they send, and serve the receive queues between departures.
#pragma once

#include <array>
#include <atomic>
#include <optional>
#include <vector>

#include "dataplane/traffic/client_side.h"
#include "dataplane/traffic/departures.h"
#include "dataplane/traffic/query_frames.h"
#include "dataplane/traffic/rendezvous.h"
#include "dataplane/traffic/respond_worker.h"

namespace pathproof::traffic {

// What the lcores of one run share. Everything is set before they start; the atomics and the
// rendezvous are all that both write while they run.
struct PairRun {
    const PairPlan& plan;
    const PairBook& book;
    const std::atomic<bool>& stop;
    RunClock clock;
    Tsc first_deadline = 0;
    std::array<NumberedPort, 2> from;  // where each member leaves
    std::array<frame::FrameTemplate, 2> frames;
    std::array<std::optional<frame::FrameTemplate>, 2> warm_up;
    ClientSide& clients;
    RespondWorker* server = nullptr;        // null: answers come from elsewhere
    Nanoseconds longest_delay{0};           // of the responder's rules
    std::vector<std::int64_t> sent_ns;      // by query
    std::vector<std::int64_t> deadline_ns;  // by query
    Rendezvous rendezvous;
    std::atomic<Tsc> end{~Tsc{0}};  // when to stop listening; known once the last pair left
    std::atomic<std::uint64_t> answers_sent = 0;  // by the responder, once it only listens
};

// One writer each, read when both have ended.
struct alignas(64) PairWorkerCounts {
    std::uint64_t pairs = 0;  // begun
    // Frames that the driver did not take, or that there was no mbuf for.
    std::uint64_t refused = 0;
    std::uint64_t warm_ups = 0;  // frames sent to make the way warm
    std::uint64_t split = 0;     // bursts of two of which the driver first took one
};

class PairWorker {
  public:
    enum class Role : std::uint8_t {
        kAlone,     // sends both members, serves both sides
        kLeader,    // reads the client ports; sends the first member (kTwoPorts) or both
        kFollower,  // plays the responder; sends the second member (kTwoPorts) or nothing
    };

    PairWorker(PairRun& run, Role role);

    // To be run by one lcore; returns 0.
    int work() noexcept;
    const PairWorkerCounts& counts() const { return counts_; }

  private:
    // A pair's frames, ready to go, or null where there was no mbuf.
    using Pair = std::array<rte_mbuf*, 2>;

    bool sends(std::size_t member) const noexcept;
    bool called_off() const noexcept;
    void send_all() noexcept;
    void listen() noexcept;
    // The client side's answers: how many, when the last came, and since when it only listens.
    struct Listening {
        std::uint64_t answers = 0;
        Tsc came = 0;
        Tsc from = 0;
    };
    void wait_for_the_rest(Tsc now, Listening& so_far) noexcept;
    bool serve(Tsc wake) noexcept;
    void serve_until(Tsc wake) noexcept;

    void prepare(std::uint64_t pair, Pair& frames) noexcept;
    void warm_up(std::size_t member) noexcept;
    bool depart(std::uint64_t pair, Tsc deadline, Pair& frames) noexcept;
    bool depart_by_two_ports(std::uint64_t pair, Tsc deadline, Pair& frames) noexcept;
    void depart_in_one_burst(std::uint64_t pair, Tsc deadline, Pair& frames) noexcept;
    void depart_in_turn(std::uint64_t pair, Tsc deadline, Pair& frames) noexcept;
    void send_burst(std::uint64_t pair, Pair& frames) noexcept;
    Tsc send_one(std::uint64_t pair, std::size_t member, rte_mbuf*& frame) noexcept;
    void note_sent(std::uint64_t pair, std::size_t member, Tsc instant) noexcept;

    PairRun& run_;
    Role role_;
    Schedule schedule_;
    Napper napper_;
    Tsc skew_;
    PairWorkerCounts counts_;
};

}  // namespace pathproof::traffic
