#include "dataplane/load/sender.h"

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include <algorithm>

namespace pathproof::load {
namespace {

constexpr std::int64_t kLateNs = 10'000;
// Of the schedule: what may be made up for after a stall, unless a burst is more.
constexpr Nanoseconds kCatchUp{100'000};
// A driver is called stuck after so many attempts, too: the sender itself may have lost its CPU.
constexpr unsigned kStuckAttempts = 100;
// The partner of a pair is waited for in place when it is so near.
constexpr Nanoseconds kPartnerSpin{20'000};

std::uint64_t most_behind(const SenderSetup& setup, double frames_per_second) {
    const double own = frames_per_second / setup.senders / setup.frames_in_unit;
    const auto in_time =
        static_cast<std::uint64_t>(own * static_cast<double>(kCatchUp.count()) / 1e9);
    return std::max<std::uint64_t>(setup.burst / setup.frames_in_unit, in_time);
}

// Of a closed loop's frames, whole units, what falls to this sender.
std::uint64_t own_outstanding(std::uint64_t frames, const SenderSetup& setup) {
    return share_of(frames / setup.frames_in_unit, setup.number, setup.senders) *
           setup.frames_in_unit;
}

}  // namespace

Sender::Sender(const SenderSetup& setup, std::unique_ptr<Source> source,
               const traffic::RunClock& clock)
    : setup_(setup), source_(std::move(source)), clock_(clock) {}

void Sender::begin(const TrialOrder& order, Tsc start) noexcept {
    const unsigned in_unit = setup_.frames_in_unit;
    pacer_ = Pacer({.units_per_second = order.frames_per_second / in_unit,
                    .units = order.frames / in_unit,
                    .duration = order.duration,
                    .sender = setup_.number,
                    .senders = setup_.senders,
                    .most_behind = most_behind(setup_, order.frames_per_second)},
                   clock_.tsc, start);
    windows_ = pacer_.paced()
                   ? RateWindows(clock_.tsc, start, order.frames_per_second / setup_.senders)
                   : RateWindows();
    window_.reset();
    if (order.outstanding > 0) {
        window_.emplace(own_outstanding(order.outstanding, setup_), setup_.timeout, tallies_,
                        static_cast<std::uint64_t>(clock_.at_ns(start)));
    }
    tally_ = {};
    made_before_ = source_->made();
    source_from_ns_ = source_->next_due_ns();
    source_ended_ = false;
    start_ = start;
    made_ = offered_ = 0;
    attempts_ = 0;
    last_departure_ = 0;
    const bool lasts = order.duration.count() > 0;
    give_up_ =
        lasts ? start + static_cast<Tsc>(clock_.tsc.cycles(order.duration + kLastFrames)) : ~Tsc{0};
}

std::uint16_t Sender::turn(Tsc now) noexcept {
    if (offered_ == made_ && !make(now)) {
        return 0;
    }
    if (setup_.pair_skew.count() > 0) {
        return send_pair(now);
    }
    if (!fresh_) {
        source_->restamp(waiting(), static_cast<std::uint64_t>(clock_.at_ns(now)));
    }
    return offer(now, now, static_cast<std::uint16_t>(made_ - offered_));
}

// How many frames may be made; at most a burst.
std::size_t Sender::due(Tsc now) noexcept {
    const std::uint64_t units = pacer_.due(now);
    if (units == 0 || source_ended_) {
        return 0;
    }
    if (source_from_ns_) {
        return now >= deadline() ? setup_.burst : 0;
    }
    return std::min(units, fitting(now)) * setup_.frames_in_unit;
}

// Units that a burst, and the window of a closed loop, have room for.
std::uint64_t Sender::fitting(Tsc now) noexcept {
    const std::uint64_t in_burst =
        setup_.pair_skew.count() > 0 ? 1 : setup_.burst / setup_.frames_in_unit;
    if (!window_) {
        return in_burst;
    }
    const std::uint64_t room = window_->room(static_cast<std::uint64_t>(clock_.at_ns(now)));
    return std::min(in_burst, room / setup_.frames_in_unit);
}

Tsc Sender::deadline() const noexcept {
    const auto own = source_->next_due_ns();
    if (!source_from_ns_ || !own) {
        return pacer_.deadline();
    }
    const Nanoseconds after(static_cast<std::int64_t>(*own - *source_from_ns_));
    return start_ + static_cast<Tsc>(clock_.tsc.cycles(after));
}

// A source with times of its own gives the frames that are due one by one.
std::size_t Sender::fill(std::span<rte_mbuf*> burst, Tsc now) noexcept {
    const auto stamp = static_cast<std::uint64_t>(clock_.at_ns(now));
    if (!source_from_ns_) {
        return source_->fill(burst, stamp);
    }
    std::size_t filled = 0;
    while (filled < burst.size() && now >= deadline() &&
           source_->fill(burst.subspan(filled, 1), stamp) == 1) {
        ++filled;
        source_ended_ = !source_->next_due_ns();
    }
    return filled;
}

bool Sender::make(Tsc now) noexcept {
    const std::size_t wanted = due(now);
    if (wanted == 0) {
        return false;
    }
    rte_mempool* pool = setup_.port->pool();
    const auto buffers = reinterpret_cast<void**>(burst_.data());
    if (rte_mempool_get_bulk(pool, buffers, static_cast<unsigned>(wanted)) != 0) {
        ++tally_.no_buffer;
        note_failure(now);
        return false;
    }
    note_lateness(now);
    const std::size_t filled = fill({burst_.data(), wanted}, now);
    if (filled < wanted) {
        rte_mempool_put_bulk(pool, buffers + filled, static_cast<unsigned>(wanted - filled));
        source_ended_ = source_ended_ || !source_from_ns_;
    }
    pacer_.take(filled / setup_.frames_in_unit);
    made_ = filled;
    offered_ = 0;
    fresh_ = true;
    return filled > 0;
}

void Sender::note_lateness(Tsc now) noexcept {
    if (!pacer_.paced() && !source_from_ns_) {
        return;
    }
    const std::int64_t late = clock_.tsc.nanoseconds(deadline(), now);
    tally_.departures.late += late > kLateNs ? 1 : 0;
    tally_.departures.worst_late_ns = std::max(tally_.departures.worst_late_ns, late);
}

std::uint16_t Sender::send_pair(Tsc now) noexcept {
    std::uint16_t taken = 0;
    if (offered_ == 0) {
        if (!fresh_) {
            source_->restamp(waiting(), static_cast<std::uint64_t>(clock_.at_ns(now)));
        }
        const Tsc instant = rte_rdtsc();
        taken = offer(now, instant, 1);
        if (taken == 0) {
            return 0;
        }
        first_of_pair_ = instant;
        partner_at_ = instant + static_cast<Tsc>(clock_.tsc.cycles(setup_.pair_skew));
        fresh_ = true;
    }
    const Tsc at = fresh_ ? partner_at_ : std::max(partner_at_, now);
    if (static_cast<std::int64_t>(at - now) > clock_.tsc.cycles(kPartnerSpin)) {
        return taken;
    }
    source_->restamp(waiting(), static_cast<std::uint64_t>(clock_.at_ns(at)));
    const Tsc instant = traffic::spin_until(at);
    const std::uint16_t second = offer(at, instant, 1);
    if (second > 0) {
        note_skew(instant);
    }
    return static_cast<std::uint16_t>(taken + second);
}

// `stamp`: what the frames say of their departure.
std::uint16_t Sender::offer(Tsc stamp, Tsc instant, std::uint16_t most) noexcept {
    const std::uint16_t taken = setup_.port->tx_burst(setup_.queue, burst_.data() + offered_, most);
    const Tsc after = rte_rdtsc();
    if (fresh_) {
        tally_.refused += static_cast<std::uint64_t>(most - taken);
        fresh_ = false;
    }
    if (taken == 0) {
        note_failure(after);
        return 0;
    }
    attempts_ = 0;
    offered_ += taken;
    tally_.hand_over.add(clock_.tsc.nanoseconds(stamp, after));
    if (window_) {
        window_->note_sent(static_cast<std::uint64_t>(clock_.at_ns(stamp)), taken);
    }
    note_departure(instant, after, taken);
    return taken;
}

void Sender::note_departure(Tsc instant, Tsc after, std::uint16_t frames) noexcept {
    if (tally_.sent == 0) {
        tally_.first_ns = clock_.at_ns(instant);
    } else {
        tally_.departures.gaps.add(clock_.tsc.nanoseconds(last_departure_, instant));
    }
    windows_.note(instant, frames);
    last_departure_ = instant;
    done_ = after;
    tally_.sent += frames;
}

void Sender::note_skew(Tsc instant) noexcept {
    const double apart = static_cast<double>(instant - first_of_pair_) * 1e9 / clock_.tsc.hz();
    PairSkew& skew = tally_.skew;
    skew.min_ns = skew.pairs == 0 ? apart : std::min(skew.min_ns, apart);
    skew.max_ns = std::max(skew.max_ns, apart);
    ++skew.pairs;
    skew.mean_ns += (apart - skew.mean_ns) / static_cast<double>(skew.pairs);
}

void Sender::note_failure(Tsc now) noexcept {
    if (attempts_++ == 0) {
        failing_since_ = now;
        return;
    }
    const bool long_enough =
        static_cast<std::int64_t>(now - failing_since_) > clock_.tsc.cycles(kStuckAfter);
    tally_.stuck = long_enough && attempts_ > kStuckAttempts;
}

bool Sender::finished(Tsc now) const noexcept {
    if (tally_.stuck || now > give_up_) {
        return true;
    }
    return offered_ == made_ && (source_ended_ || pacer_.finished(now));
}

void Sender::end() noexcept {
    const auto rest = waiting();
    if (!rest.empty()) {
        tally_.taken_back = rest.size();
        source_->take_back(rest);
        rte_pktmbuf_free_bulk(rest.data(), static_cast<unsigned>(rest.size()));
        offered_ = made_;
    }
    tally_.left_out = pacer_.left_out() * setup_.frames_in_unit;
    tally_.last_ns = clock_.at_ns(last_departure_);
    tally_.done_ns = clock_.at_ns(done_);
    tally_.departures.windows = windows_.windows();
    tally_.departures.worst_window = windows_.worst();
}

Tsc Sender::wake() const noexcept {
    if (offered_ == made_) {
        return deadline();
    }
    // A frame that the driver refused is offered again at once.
    return setup_.pair_skew.count() > 0 && offered_ == 1 ? partner_at_ : 0;
}

ClassCounts Sender::sent_by_class() const noexcept {
    ClassCounts sent = source_->made();
    for (std::size_t n = 0; n < sent.size(); ++n) {
        sent[n] -= made_before_[n];
    }
    return sent;
}

}  // namespace pathproof::load
