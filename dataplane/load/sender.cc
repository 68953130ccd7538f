#include "dataplane/load/sender.h"

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <limits>

namespace pathproof::load {
namespace {

constexpr std::int64_t kLateNs = 10'000;
// Part of the schedule that may be made up for after a stall, unless a burst is more.
constexpr Nanoseconds kCatchUp{100'000};
// Number of failed attempts that must be exceeded, besides the time, before a driver is called
// stuck: the sender itself may have lost its CPU.
constexpr unsigned kStuckAttempts = 100;
// Time that a trial which ends with its duration gives the driver to take the last frames.
constexpr Nanoseconds kLastFrames = std::chrono::milliseconds(1);
// The partner of a pair is waited for in place when it is so near, unless all departures are.
constexpr Nanoseconds kPartnerSpin{20'000};
// Time between naming an instant and leaving at it: the other lcore needs it to hear of it.
constexpr Nanoseconds kNotice{3'000};

// The earlier one's time before the other.
Nanoseconds lead_of(const Meeting& meeting) {
    return meeting.with == nullptr ? Nanoseconds(0) : std::max(Nanoseconds(0), -meeting.skew);
}

// Frames of all senders that leave at one deadline.
unsigned at_once(const SenderSetup& setup) {
    return setup.meeting.with == nullptr ? setup.frames_in_unit : setup.senders;
}

std::uint64_t most_behind(const SenderSetup& setup, double frames_per_second) {
    if (setup.punctual) {
        return std::numeric_limits<std::uint64_t>::max();
    }
    const double own = frames_per_second / setup.senders / setup.frames_in_unit;
    const auto in_time =
        static_cast<std::uint64_t>(own * static_cast<double>(kCatchUp.count()) / 1e9);
    return std::max<std::uint64_t>(setup.burst / setup.frames_in_unit, in_time);
}

// Returns this sender's share, in whole units, of a closed loop's frames.
std::uint64_t own_outstanding(std::uint64_t frames, const SenderSetup& setup) {
    return share_of(frames / setup.frames_in_unit, setup.number, setup.senders) *
           setup.frames_in_unit;
}

}  // namespace

Sender::Sender(const SenderSetup& setup, std::unique_ptr<Source> source,
               const traffic::RunClock& clock)
    : setup_(setup),
      source_(std::move(source)),
      clock_(clock),
      spin_(clock.tsc.cycles(setup.punctual ? traffic::kSpin : kPartnerSpin)),
      ahead_(setup.punctual ? clock.tsc.ticks(traffic::kSpin + lead_of(setup.meeting)) : 0) {}

void Sender::begin(const TrialOrder& order, Tsc start) noexcept {
    const bool meets = setup_.meeting.with != nullptr;
    pacer_ = Pacer({.units_per_second = order.frames_per_second / at_once(setup_),
                    .units = order.frames / at_once(setup_),
                    .duration = order.duration,
                    .sender = meets ? 0 : setup_.number,
                    .senders = meets ? 1 : setup_.senders,
                    .most_behind = most_behind(setup_, order.frames_per_second)},
                   clock_.tsc, start);
    windows_ = pacer_.paced()
                   ? RateWindows(clock_.tsc, start, order.frames_per_second / setup_.senders)
                   : RateWindows();
    window_.reset();
    if (order.outstanding > 0) {
        window_.emplace(own_outstanding(order.outstanding, setup_), setup_.timeout, tallies_,
                        clock_.stamp_ns(start));
    }
    tally_ = {};
    made_before_ = source_->made();
    source_from_ns_ = source_->next_due_ns();
    source_ended_ = called_off_ = false;
    start_ = start;
    made_ = offered_ = 0;
    attempts_ = 0;
    last_departure_ = 0;
    const bool lasts = order.duration.count() > 0;
    give_up_ = lasts ? start + clock_.tsc.ticks(order.duration + kLastFrames) : ~Tsc{0};
}

std::uint16_t Sender::turn(Tsc now) noexcept {
    if (one_by_one()) {
        return send_one_by_one(now);
    }
    if (offered_ == made_) {
        const std::size_t wanted = due(now);
        due_at_ = deadline();
        if (wanted == 0 || !make(wanted, now)) {
            return 0;
        }
        note_lateness(now);
    }
    if (!fresh_) {
        source_->restamp(waiting(), clock_.stamp_ns(now));
    }
    return offer(now, now, static_cast<std::uint16_t>(made_ - offered_));
}

// Returns how many frames may be made now; at most a burst.
std::size_t Sender::due(Tsc now) noexcept {
    std::uint64_t units = pacer_.due(now);
    if (units == 0 && ahead_ > 0) {
        units = std::min<std::uint64_t>(1, pacer_.due(now + ahead_));
    }
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
    const std::uint64_t in_burst = one_by_one() ? 1 : setup_.burst / setup_.frames_in_unit;
    if (!window_) {
        return in_burst;
    }
    const std::uint64_t room = window_->room(clock_.stamp_ns(now));
    return std::min(in_burst, room / setup_.frames_in_unit);
}

Tsc Sender::deadline() const noexcept {
    const auto own = source_->next_due_ns();
    if (!source_from_ns_ || !own) {
        return pacer_.deadline();
    }
    const Nanoseconds after(static_cast<std::int64_t>(*own - *source_from_ns_));
    return start_ + clock_.tsc.ticks(after);
}

// A source with times of its own gives the frames that are due one by one.
std::size_t Sender::fill(std::span<rte_mbuf*> burst, Tsc now) noexcept {
    const auto stamp = clock_.stamp_ns(now);
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

bool Sender::make(std::size_t frames, Tsc now) noexcept {
    rte_mempool* pool = setup_.port->pool();
    const auto buffers = reinterpret_cast<void**>(burst_.data());
    if (rte_mempool_get_bulk(pool, buffers, static_cast<unsigned>(frames)) != 0) {
        ++tally_.handed.no_buffer;
        note_failure(now);
        return false;
    }
    const std::size_t filled = fill({burst_.data(), frames}, now);
    if (filled < frames) {
        rte_mempool_put_bulk(pool, buffers + filled, static_cast<unsigned>(frames - filled));
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
    const std::int64_t late = clock_.tsc.nanoseconds(due_at_, now);
    tally_.departures.late += late > kLateNs ? 1 : 0;
    tally_.departures.worst_late_ns = std::max(tally_.departures.worst_late_ns, late);
}

// A unit in one burst, or the members of a pair one behind the other.
std::uint16_t Sender::send_one_by_one(Tsc now) noexcept {
    if (called_off_ || (offered_ == made_ && !prepare(now))) {
        return 0;
    }
    const bool apart = setup_.pair_skew.count() > 0;
    std::uint16_t first = 0;
    if (offered_ == 0 || !apart) {
        first = leave(now, apart ? std::uint16_t{1} : static_cast<std::uint16_t>(made_ - offered_));
        if (first == 0 || !apart) {
            return first;
        }
        first_of_pair_ = last_departure_;
        leave_at_ = first_of_pair_ + clock_.tsc.ticks(setup_.pair_skew);
        fresh_ = true;
    }
    const std::uint16_t second = leave(now, 1);
    if (second > 0) {
        note_skew(last_departure_);
    }
    return static_cast<std::uint16_t>(first + second);
}

// Makes the next unit if it is time to, and settles when it leaves.
bool Sender::prepare(Tsc now) noexcept {
    const std::size_t wanted = due(now);
    due_at_ = deadline();
    const std::uint64_t unit = pacer_.taken();
    if (wanted == 0 || !make(wanted, now)) {
        return false;
    }
    leave_at_ = due_at_;
    stamped_ = now;
    return setup_.meeting.with == nullptr || meet(unit);
}

bool Sender::meet(std::uint64_t unit) noexcept {
    const Meeting& meeting = setup_.meeting;
    warm_up();
    const auto notice = clock_.tsc.ticks(kNotice + lead_of(meeting));
    const std::optional<Tsc> instant =
        meeting.leads ? meeting.with->lead(unit, leave_at_, notice) : meeting.with->follow(unit);
    called_off_ = !instant;
    const Nanoseconds behind = meeting.leads ? Nanoseconds(0) : meeting.skew;
    const auto skew = clock_.tsc.ticks(behind);
    due_at_ += skew;
    leave_at_ = instant.value_or(0) + skew;
    return !called_off_;
}

void Sender::warm_up() noexcept {
    const frame::FrameTemplate* made = setup_.meeting.warm_up;
    rte_mbuf* frame = made == nullptr ? nullptr : rte_pktmbuf_alloc(setup_.port->pool());
    if (frame == nullptr) {
        return;
    }
    char* start = rte_pktmbuf_append(frame, static_cast<std::uint16_t>(made->size()));
    made->render(reinterpret_cast<std::uint8_t*>(start), {});
    if (setup_.port->tx_burst(setup_.queue, &frame, 1) == 1) {
        ++tally_.handed.warm_ups;
        return;
    }
    rte_pktmbuf_free(frame);
}

// Hands over what is to leave at leave_at_; nothing before the counter is near it.
std::uint16_t Sender::leave(Tsc now, std::uint16_t frames) noexcept {
    const Tsc at = fresh_ && offered_ > 0 ? leave_at_ : std::max(leave_at_, now);
    if (static_cast<std::int64_t>(at - now) > spin_) {
        return 0;
    }
    if (at != stamped_) {
        source_->restamp(waiting(), clock_.stamp_ns(at));
        stamped_ = at;
    }
    const Tsc instant = traffic::spin_until(at);
    if (fresh_ && offered_ == 0) {
        note_lateness(instant);
    }
    return offer(at, instant, frames);
}

// `stamp`: what the frames say of their departure.
std::uint16_t Sender::offer(Tsc stamp, Tsc instant, std::uint16_t most) noexcept {
    const std::uint16_t taken = setup_.port->tx_burst(setup_.queue, burst_.data() + offered_, most);
    const Tsc after = rte_rdtsc();
    if (fresh_) {
        tally_.handed.refused += static_cast<std::uint64_t>(most - taken);
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
        window_->note_sent(clock_.stamp_ns(stamp), taken);
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
    source_->left(frames, clock_.stamp_ns(instant));
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
    tally_.handed.stuck = long_enough && attempts_ > kStuckAttempts ? 1 : 0;
}

bool Sender::finished(Tsc now) const noexcept {
    if (tally_.handed.stuck > 0 || called_off_ || now > give_up_) {
        return true;
    }
    return offered_ == made_ && (source_ended_ || pacer_.finished(now));
}

void Sender::end() noexcept {
    if (setup_.meeting.with != nullptr) {
        setup_.meeting.with->call_off();
    }
    const auto rest = waiting();
    if (!rest.empty()) {
        tally_.handed.taken_back = rest.size();
        source_->take_back(rest);
        rte_pktmbuf_free_bulk(rest.data(), static_cast<unsigned>(rest.size()));
        offered_ = made_;
    }
    tally_.handed.left_out = pacer_.left_out() * setup_.frames_in_unit;
    tally_.last_ns = clock_.at_ns(last_departure_);
    tally_.done_ns = clock_.at_ns(done_);
    tally_.departures.windows = windows_.windows();
    tally_.departures.worst_window = windows_.worst();
}

Tsc Sender::wake() const noexcept {
    if (offered_ == made_) {
        const auto early = static_cast<std::int64_t>(ahead_) - spin_;
        return deadline() - static_cast<Tsc>(std::max<std::int64_t>(early, 0));
    }
    // A frame that the driver refused is offered again at once.
    return one_by_one() && fresh_ ? leave_at_ : 0;
}

}  // namespace pathproof::load
