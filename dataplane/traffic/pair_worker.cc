#include "dataplane/traffic/pair_worker.h"

#include <rte_mbuf.h>

#include <algorithm>

namespace pathproof::traffic {
namespace {

// How long a driver that refuses a frame is asked again.
constexpr Nanoseconds kRetry{1'000'000};
// What a frame costs at most where the DUT's kernel works inside our sendto(): bounds what is begun
// shortly before a departure.
constexpr Nanoseconds kFrameCost{20'000};
// Between naming an instant and leaving at it: the time the other lcore needs to hear of it.
constexpr Nanoseconds kNotice{3'000};
// How long answers that the responder sent are waited for while none comes.
constexpr Nanoseconds kPatience = std::chrono::seconds(2);
// Once each query has had its answer nothing but a second one could come.
constexpr Nanoseconds kAfterTheLast = std::chrono::milliseconds(100);

}  // namespace

PairWorker::PairWorker(PairRun& run, Role role)
    : run_(run),
      role_(role),
      schedule_(run.first_deadline, run.clock.tsc, run.plan.pairs_per_second),
      napper_(run.clock.tsc),
      skew_(static_cast<Tsc>(run.clock.tsc.cycles(run.plan.skew))) {}

bool PairWorker::sends(std::size_t member) const noexcept {
    const bool by_two = run_.plan.departure == Departure::kTwoPorts;
    switch (role_) {
        case Role::kAlone: return true;
        case Role::kLeader: return member == 0 || !by_two;
        case Role::kFollower: return member == 1 && by_two;
    }
    return false;
}

int PairWorker::work() noexcept {
    std::optional<Promptness> prompt;
    if (run_.plan.pairs_per_second <= kPromptRate) {
        prompt.emplace();
    }
    if (sends(0) || sends(1)) {
        send_all();
    }
    listen();
    return 0;
}

// Only the leader looks at `stop`; it tells the follower, so that both end after the same pair.
bool PairWorker::called_off() const noexcept {
    return role_ != Role::kFollower && run_.stop.load(std::memory_order_relaxed);
}

void PairWorker::send_all() noexcept {
    Tsc last = run_.first_deadline;
    for (std::uint64_t pair = 0; pair < run_.plan.pairs; ++pair) {
        Pair frames{};
        prepare(pair, frames);
        last = schedule_.deadline(pair);
        serve_until(last);
        const bool went = !called_off() && depart(pair, last, frames);
        std::ranges::for_each(frames, [](rte_mbuf* left) { rte_pktmbuf_free(left); });
        if (!went) {
            break;
        }
        ++counts_.pairs;
    }
    if (role_ == Role::kFollower) {
        return;
    }
    run_.rendezvous.call_off();
    const Nanoseconds listening = run_.longest_delay + run_.plan.drain;
    const Tsc base = std::max(last, tsc_now());
    run_.end.store(base + static_cast<Tsc>(run_.clock.tsc.cycles(listening)),
                   std::memory_order_release);
}

// Puts the end off while answers are on their way: some came lately, or the responder sent more
// than came. What is late is then seen to be late; what is lost costs no more than the patience.
void PairWorker::wait_for_the_rest(Tsc now, Listening& so_far) noexcept {
    const auto cycles = [&](Nanoseconds time) {
        return static_cast<Tsc>(run_.clock.tsc.cycles(time));
    };
    const std::uint64_t answers = run_.clients.intake().tally().answers;
    if (answers != so_far.answers || so_far.from == 0) {
        so_far = {answers, now, so_far.from == 0 ? now : so_far.from};
    }
    if (run_.clients.settled() == run_.book.queries() &&
        now - so_far.came >= cycles(kAfterTheLast)) {
        run_.end.store(now, std::memory_order_release);
        return;
    }
    if (now + cycles(std::chrono::milliseconds(4)) < run_.end.load(std::memory_order_relaxed)) {
        return;
    }
    const bool more = now - so_far.came < cycles(run_.plan.drain / 2) ||
                      (answers < run_.answers_sent.load(std::memory_order_relaxed) &&
                       now - so_far.came < cycles(kPatience));
    if (more && now - so_far.from < cycles(run_.longest_delay + run_.plan.answer_timeout)) {
        run_.end.store(now + cycles(run_.plan.drain), std::memory_order_release);
    }
}

void PairWorker::listen() noexcept {
    const Tsc look_again = static_cast<Tsc>(run_.clock.tsc.cycles(std::chrono::milliseconds(1)));
    Listening so_far;
    for (;;) {
        const Tsc now = tsc_now();
        if (role_ != Role::kLeader && run_.server != nullptr) {
            run_.answers_sent.store(run_.server->responder().counts().answered,
                                    std::memory_order_relaxed);
        }
        if (role_ != Role::kFollower) {
            wait_for_the_rest(now, so_far);
        }
        const Tsc end = run_.end.load(std::memory_order_acquire);
        if (now >= end || (end != ~Tsc{0} && run_.stop.load(std::memory_order_relaxed))) {
            return;
        }
        if (serve(now + look_again)) {
            napper_.found_work();
        } else {
            napper_.nap(std::min(end, now + look_again));
        }
    }
}

// One round over the receive queues, smaller the nearer `wake` is; at least one frame, so that
// queues are read at rates that leave no time in between. Says whether there was anything.
bool PairWorker::serve(Tsc wake) noexcept {
    const std::int64_t left = run_.clock.tsc.nanoseconds(tsc_now(), wake);
    const auto most = static_cast<std::uint16_t>(
        std::clamp<std::int64_t>(left / kFrameCost.count(), 1, kMostInBurst));
    std::size_t count = 0;
    if (role_ != Role::kFollower) {
        count += run_.clients.poll(run_.clock, most);
    }
    if (role_ != Role::kLeader && run_.server != nullptr) {
        count += run_.server->serve(run_.clock, most);
    }
    return count > 0;
}

void PairWorker::serve_until(Tsc wake) noexcept {
    const auto spin = static_cast<std::int64_t>(run_.clock.tsc.cycles(kSpin));
    do {
        if (serve(wake)) {
            napper_.found_work();
            continue;
        }
        const bool answers = role_ != Role::kLeader && run_.server != nullptr;
        napper_.nap(answers ? std::min(wake, run_.server->next_due(run_.clock, wake)) : wake);
    } while (static_cast<std::int64_t>(wake - tsc_now()) > spin &&
             !run_.stop.load(std::memory_order_relaxed));
}

void PairWorker::prepare(std::uint64_t pair, Pair& frames) noexcept {
    for (std::size_t member = 0; member < frames.size(); ++member) {
        if (!sends(member)) {
            continue;
        }
        frames[member] = rte_pktmbuf_alloc(run_.from[member].port->pool());
        if (frames[member] == nullptr) {
            ++counts_.refused;
            continue;
        }
        const std::uint64_t number = 2 * pair + member;
        write_query(*frames[member], run_.frames[member], number, run_.book.query(number));
    }
}

void PairWorker::warm_up(std::size_t member) noexcept {
    const std::optional<frame::FrameTemplate>& made = run_.warm_up[member];
    port::Port& port = *run_.from[member].port;
    rte_mbuf* frame = made ? rte_pktmbuf_alloc(port.pool()) : nullptr;
    if (frame == nullptr) {
        return;
    }
    char* start = rte_pktmbuf_append(frame, static_cast<std::uint16_t>(made->size()));
    made->render(reinterpret_cast<std::uint8_t*>(start), {});
    if (port.tx_burst(0, &frame, 1) == 1) {
        ++counts_.warm_ups;
        return;
    }
    rte_pktmbuf_free(frame);
}

// False when the run was called off.
bool PairWorker::depart(std::uint64_t pair, Tsc deadline, Pair& frames) noexcept {
    switch (run_.plan.departure) {
        case Departure::kTwoPorts: return depart_by_two_ports(pair, deadline, frames);
        case Departure::kOneBurst: depart_in_one_burst(pair, deadline, frames); return true;
        case Departure::kInTurn: depart_in_turn(pair, deadline, frames); return true;
    }
    return false;
}

bool PairWorker::depart_by_two_ports(std::uint64_t pair, Tsc deadline, Pair& frames) noexcept {
    const std::size_t member = role_ == Role::kFollower ? 1 : 0;
    warm_up(member);
    const std::int64_t ahead = std::max<std::int64_t>(0, -run_.plan.skew.count());
    const auto notice = static_cast<Tsc>(run_.clock.tsc.cycles(kNotice + Nanoseconds(ahead)));
    std::optional<Tsc> instant =
        member == 1 ? run_.rendezvous.follow(pair) : run_.rendezvous.lead(pair, deadline, notice);
    if (!instant) {
        return false;
    }
    const Tsc own = member == 1 ? *instant + skew_ : *instant;
    run_.deadline_ns[2 * pair + member] =
        run_.clock.at_ns(member == 1 ? deadline + skew_ : deadline);
    spin_until(own);
    send_one(pair, member, frames[member]);
    return true;
}

void PairWorker::depart_in_one_burst(std::uint64_t pair, Tsc deadline, Pair& frames) noexcept {
    run_.deadline_ns[2 * pair] = run_.deadline_ns[2 * pair + 1] = run_.clock.at_ns(deadline);
    spin_until(deadline);
    if (frames[0] != nullptr && frames[1] != nullptr) {
        send_burst(pair, frames);
    }
    send_one(pair, 0, frames[0]);
    send_one(pair, 1, frames[1]);
}

void PairWorker::send_burst(std::uint64_t pair, Pair& frames) noexcept {
    const Tsc give_up = tsc_now() + static_cast<Tsc>(run_.clock.tsc.cycles(kRetry));
    Tsc instant = tsc_now();
    std::uint16_t taken = run_.from[0].port->tx_burst(0, frames.data(), 2);
    while (taken == 0 && instant < give_up) {
        instant = tsc_now();
        taken = run_.from[0].port->tx_burst(0, frames.data(), 2);
    }
    for (std::size_t member = 0; member < taken; ++member) {
        frames[member] = nullptr;
        note_sent(pair, member, instant);
    }
    counts_.split += taken == 1 ? 1 : 0;
}

void PairWorker::depart_in_turn(std::uint64_t pair, Tsc deadline, Pair& frames) noexcept {
    run_.deadline_ns[2 * pair] = run_.clock.at_ns(deadline);
    spin_until(deadline);
    const Tsc second = send_one(pair, 0, frames[0]) + skew_;
    run_.deadline_ns[2 * pair + 1] = run_.clock.at_ns(second);
    if (run_.plan.skew > 2 * (kSpin + kOversleep)) {
        serve_until(second);
    }
    spin_until(second);
    send_one(pair, 1, frames[1]);
}

// Says when the frame left, or when it was given up.
Tsc PairWorker::send_one(std::uint64_t pair, std::size_t member, rte_mbuf*& frame) noexcept {
    Tsc instant = tsc_now();
    if (frame == nullptr) {
        return instant;
    }
    const Tsc give_up = instant + static_cast<Tsc>(run_.clock.tsc.cycles(kRetry));
    for (;; instant = tsc_now()) {
        if (run_.from[member].port->tx_burst(0, &frame, 1) == 1) {
            frame = nullptr;
            note_sent(pair, member, instant);
            return instant;
        }
        if (instant >= give_up) {
            rte_pktmbuf_free(frame);
            frame = nullptr;
            ++counts_.refused;
            return instant;
        }
    }
}

void PairWorker::note_sent(std::uint64_t pair, std::size_t member, Tsc instant) noexcept {
    run_.sent_ns[2 * pair + member] = run_.clock.at_ns(instant);
}

}  // namespace pathproof::traffic
