// The window: frames that come in, the steps that they go through, and their end.
#include "dataplane/follow/engine.h"

#include <netinet/in.h>

#include <algorithm>

namespace pathproof::follow {
namespace {

constexpr std::int64_t kSettlesAWindow = 8;
constexpr unsigned kAddsAnAdvance = 64;
constexpr unsigned kMostHurry = 40;

}  // namespace

Follower::Follower(const FollowOptions& options) : engine_(std::make_unique<Engine>(options)) {}
Follower::Follower(Follower&&) noexcept = default;
Follower& Follower::operator=(Follower&&) noexcept = default;
Follower::~Follower() = default;
void Follower::add(Side side, const CapturedFrame& frame) {
    engine_->add(side, frame);
}
void Follower::begin(Side side, std::int64_t since_ns) {
    engine_->begin(side, since_ns);
}
void Follower::coming(Side side, std::int64_t time_ns) {
    engine_->coming(side, time_ns);
}
void Follower::end(Side side, std::int64_t until_ns) {
    engine_->end(side, until_ns);
}
Outcome Follower::finish() {
    return engine_->finish();
}

void Follower::Engine::add(Side side, const CapturedFrame& frame) {
    OneSide& mine = of(side);
    Record& record = mine.records.emplace_back();
    record.packet = read_packet(frame, options_.limits);
    record.piece = frame.piece;
    record.side = side;
    record.heading = frame.heading;
    record.order = mine.base + mine.records.size();
    const std::int64_t now = time_of(record);
    if (!mine.any) {
        mine.any = true;
        mine.first_ns = mine.last_ns = now;
    }
    mine.first_ns = std::min(mine.first_ns, now);
    mine.last_ns = std::max(mine.last_ns, now);
    held_bytes_ += kRecordBytes + record.packet.bytes.size();
    outcome_.cut += record.packet.cut ? 1 : 0;
    if (!record.packet.headless &&
        !pair_by(of(other(side)).pending, record.packet.strict, record, Surety::kStrict)) {
        record.first_node = mine.pending.insert(record.packet.strict, &record);
    }
    frontier_ns_ = std::max(frontier_ns_, now);
    const bool due = record.order % kAddsAnAdvance == 0 ||
                     frontier_ns_ - advanced_ns_ > options_.window_ns / kSettlesAWindow;
    if (due || held_bytes_ > options_.most_bytes) {
        advanced_ns_ = frontier_ns_;
        advance(frontier_ns_, false);
    }
}

void Follower::Engine::advance(std::int64_t frontier_ns, bool all) {
    for (;;) {
        const std::int64_t settle = (options_.window_ns / kSettlesAWindow) >> hurry_;
        for (unsigned which = 0; which < kSteps; ++which) {
            const std::int64_t until = frontier_ns - settle * (which + 1);
            for (OneSide& side : sides_) {
                std::uint64_t& stepped = side.stepped[which];
                const std::uint64_t end =
                    which == 0 ? side.base + side.records.size() : side.stepped[which - 1];
                stepped = std::max(stepped, side.base);
                while (stepped < end) {
                    Record& record = side.records[stepped - side.base];
                    if (!all && time_of(record) > until) {
                        break;
                    }
                    ++stepped;
                    step(which, record);
                }
            }
        }
        retire(frontier_ns, all);
        if (all || held_bytes_ <= options_.most_bytes || hurry_ >= kMostHurry) {
            break;
        }
        ++hurry_;
    }
    if (hurry_ > 0 && held_bytes_ < options_.most_bytes / 2) {
        --hurry_;
    }
}

void Follower::Engine::step(unsigned which, Record& record) {
    if (which == 4) {
        conclude(record);
        return;
    }
    if (record.packet.headless) {
        return;
    }
    if (which == 1 && record.packet.fragment != frame::Fragment::kWhole) {
        gather_fragment(record);
    }
    if (record.state != State::kPending) {
        return;
    }
    // Frames of the link are alike on every link.
    if (stays_on_links() && is_of_the_link(record.packet)) {
        return;
    }
    if (which == 0) {
        join_loosely(record);
    } else if (which == 1) {
        // A segment of a stream that looks like one before may be a retransmission.
        if (record.packet.is_tcp_data()) {
            join_stream(record, true);
        }
        if (record.state != State::kPending || record.links != 0 || find_copy(record)) {
            return;
        }
        const bool is_datagram = record.packet.fragment == frame::Fragment::kWhole &&
                                 record.packet.protocol == IPPROTO_UDP;
        if (is_datagram && record.packet.has_transport && !record.packet.broken) {
            join_datagrams(record);
        }
        if (record.state == State::kPending && record.links == 0 && !join_by_content(record)) {
            record.third_node = of(record.side).content.insert(record.packet.content, &record);
        }
    } else if (which == 2) {
        if (find_copy(record)) {
            return;
        }
        learn_own(record);
        if (join_glued(record)) {
            return;
        }
        if (record.packet.is_tcp_data()) {
            join_stream(record, false);
        }
        if (record.state == State::kPending && record.links == 0) {
            join_by_header(record);
        }
    } else if (record.links == 0) {
        join_by_likeness(record);
    }
}

void Follower::Engine::begin(Side side, std::int64_t since_ns) {
    of(side).begin_known = true;
    coming(side, since_ns);
}

void Follower::Engine::coming(Side side, std::int64_t time_ns) {
    OneSide& mine = of(side);
    const std::int64_t time = time_ns - (side == Side::kOut ? options_.clock_offset_ns : 0);
    mine.first_ns = mine.any ? mine.first_ns : time;
    mine.last_ns = mine.any ? std::max(mine.last_ns, time) : time;
    mine.any = true;
}

void Follower::Engine::end(Side side, std::int64_t until_ns) {
    of(side).ended = true;
    of(side).end_known = until_ns != 0;
    if (until_ns != 0) {
        coming(side, until_ns);
    }
}

// Frames that are left go through the steps in the order of time, as those before did: the likeness of
// bytes is looked for among neighbours.
void Follower::Engine::step_in_order() {
    std::vector<std::int64_t> times;
    for (const OneSide& side : sides_) {
        for (const Record& record : side.records) {
            times.push_back(time_of(record));
        }
    }
    std::ranges::sort(times);
    constexpr std::int64_t kUntilLikeness = 4;  // see step()
    const std::int64_t wait = options_.window_ns / kSettlesAWindow * kUntilLikeness;
    for (std::size_t i = kAddsAnAdvance; i < times.size(); i += kAddsAnAdvance) {
        advance(std::max(frontier_ns_, times[i] + wait), false);
    }
}

Outcome Follower::Engine::finish() {
    step_in_order();
    advance(frontier_ns_, true);
    for (std::size_t i = 0; i < 2; ++i) {
        for (auto& [key, flow] : sides_[i].flows) {
            const Direction direction = i == 0 ? Direction::kForward : Direction::kBackward;
            conclude_flow(flow, direction);
            outcome_.flows += i == 0 ? 1 : 0;
        }
    }
    for (const Direction direction : {Direction::kForward, Direction::kBackward}) {
        outcome_.wrong[static_cast<std::size_t>(direction)] = findings_.describe_all(direction);
    }
    outcome_.findings = findings_.finish();
    return std::move(outcome_);
}

}  // namespace pathproof::follow
