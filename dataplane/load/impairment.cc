#include "dataplane/load/impairment.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "dataplane/load/covered_bytes.h"

namespace pathproof::load {
namespace {

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

}  // namespace

Result<Impairment> Impairment::make(const ImpairmentPlan& plan) {
    const std::pair<const char*, double> shares[] = {{"loss", plan.loss},
                                                     {"duplication", plan.duplication},
                                                     {"reordering", plan.reordering},
                                                     {"corruption", plan.corruption}};
    double all = 0;
    for (const auto& [word, share] : shares) {
        if (!(share >= 0 && share <= 1)) {
            return fail(ErrorCode::kBadInput, "a share of {} of {} is not in 0..1", word, share);
        }
        all += share;
    }
    if (all > 1) {
        return fail(ErrorCode::kBadInput,
                    "loss, duplication, reordering and corruption add up to {}: a frame suffers "
                    "one of them, so 1 is the most",
                    all);
    }
    if (plan.most_distance == 0 || plan.most_distance > kMostDistance) {
        return fail(ErrorCode::kBadInput, "frames that come {} later: 1 to {} can be told",
                    plan.most_distance, kMostDistance);
    }
    return Impairment(plan);
}

Impairment::Impairment(const ImpairmentPlan& plan)
    : plan_(plan),
      random_(plan.seed),
      any_(plan.loss + plan.duplication + plan.reordering + plan.corruption) {
    held_.reserve(plan.most_held);
    draw_next();
}

void Impairment::FreeMbuf::operator()(rte_mbuf* frame) const noexcept {
    rte_pktmbuf_free(frame);
}

bool Impairment::later(const Held& a, const Held& b) noexcept {
    return std::pair(a.due, a.number) > std::pair(b.due, b.number);
}

// Draws a share that is never 0, whose logarithm would be none.
double Impairment::draw() noexcept {
    return as_share(random_()) + 0x1p-54;
}

// Draws the number of frames that go by untouched, once for all of them: it has a geometric
// distribution.
void Impairment::draw_next() noexcept {
    if (any_ <= 0) {
        next_ = kNever;
        return;
    }
    const double skipped = any_ >= 1 ? 0 : std::floor(std::log(draw()) / std::log1p(-any_));
    constexpr double kFar = 0x1p62;
    next_ = number_ + static_cast<std::uint64_t>(std::min(skipped, kFar));
}

Impairment::Fate Impairment::draw_fate() noexcept {
    const double drawn = draw() * any_;
    if (drawn < plan_.loss) {
        return Fate::kLost;
    }
    if (drawn < plan_.loss + plan_.duplication) {
        return Fate::kDoubled;
    }
    return drawn < plan_.loss + plan_.duplication + plan_.reordering ? Fate::kHeld
                                                                     : Fate::kCorrupted;
}

std::uint64_t Impairment::next_stop() const noexcept {
    return held_.empty() ? next_ : std::min(next_, held_.front().due);
}

std::size_t Impairment::pass(std::span<rte_mbuf* const> in, std::span<rte_mbuf*> out) noexcept {
    std::size_t written = 0;
    counts_.frames += in.size();
    for (std::size_t taken = 0; taken < in.size();) {
        const std::uint64_t stop = next_stop();
        const std::size_t left = in.size() - taken;
        const std::size_t untouched =
            std::min<std::uint64_t>(left, stop > number_ ? stop - number_ : 0);
        std::copy_n(in.begin() + static_cast<std::ptrdiff_t>(taken), untouched,
                    out.begin() + static_cast<std::ptrdiff_t>(written));
        taken += untouched;
        written += untouched;
        number_ += untouched;
        latest_ = untouched > 0 ? number_ : latest_;
        if (taken == in.size()) {
            break;
        }
        // Leave room for the frames that still have to go through: two places each.
        const std::size_t room = out.size() - written - 2 * (in.size() - taken);
        written += release(out.subspan(written, room));
        written += suffer(in[taken++], &out[written]);
    }
    return written;
}

std::size_t Impairment::suffer(rte_mbuf* frame, rte_mbuf** out) noexcept {
    const std::uint64_t number = number_;
    if (number != next_) {
        ++number_;
        return pass_on(frame, number, out);
    }
    const Fate fate = draw_fate();
    std::size_t written = 0;
    switch (fate) {
        case Fate::kLost:
            ++counts_.lost;
            rte_pktmbuf_free(frame);
            break;
        case Fate::kCorrupted:
            if (corrupt(*frame)) {
                ++counts_.corrupted;
                out[written++] = frame;
            } else {
                ++counts_.spared;
                written += pass_on(frame, number, out);
            }
            break;
        case Fate::kHeld:
            if (!hold(frame, Is::kOriginal)) {
                ++counts_.spared;
                written += pass_on(frame, number, out);
            }
            break;
        case Fate::kDoubled:
            hold_copy(*frame);
            written += pass_on(frame, number, out);
            break;
    }
    ++number_;
    draw_next();
    return written;
}

void Impairment::hold_copy(const rte_mbuf& frame) noexcept {
    constexpr std::uint32_t kWhole = std::numeric_limits<std::uint32_t>::max();
    rte_mbuf* const copy =
        held_.size() < plan_.most_held ? rte_pktmbuf_copy(&frame, frame.pool, 0, kWhole) : nullptr;
    if (copy == nullptr || !hold(copy, Is::kCopy)) {
        ++counts_.spared;
    }
}

bool Impairment::hold(rte_mbuf* frame, Is is) noexcept {
    if (held_.size() == plan_.most_held) {
        return false;
    }
    const std::uint64_t distance = 1 + random_.below(plan_.most_distance);
    held_.push_back({.due = number_ + distance + 1,
                     .number = number_,
                     .frame = std::unique_ptr<rte_mbuf, FreeMbuf>(frame),
                     .is = is});
    std::ranges::push_heap(held_, later);
    return true;
}

std::size_t Impairment::release(std::span<rte_mbuf*> out) noexcept {
    std::size_t written = 0;
    while (written < out.size() && !held_.empty() && held_.front().due <= number_) {
        std::ranges::pop_heap(held_, later);
        Held held = std::move(held_.back());
        held_.pop_back();
        if (held.is == Is::kCopy) {
            ++counts_.duplicates;
            out[written++] = held.frame.release();
        } else {
            written += pass_on(held.frame.release(), held.number, &out[written]);
        }
    }
    return written;
}

std::size_t Impairment::flush(std::span<rte_mbuf*> out) noexcept {
    for (Held& held : held_) {
        held.due = std::min(held.due, number_);
    }
    std::ranges::make_heap(held_, later);
    return release(out);
}

std::size_t Impairment::pass_on(rte_mbuf* frame, std::uint64_t number, rte_mbuf** out) noexcept {
    count_arrival(number);
    *out = frame;
    return 1;
}

void Impairment::count_arrival(std::uint64_t number) noexcept {
    if (number >= latest_) {
        latest_ = number + 1;
        return;
    }
    const std::uint64_t distance = latest_ - 1 - number;
    const auto bin = static_cast<std::size_t>(std::bit_width(distance)) - 1;
    ++counts_.reordered;
    ++counts_.distance[std::min(bin, counts_.distance.size() - 1)];
    counts_.furthest = std::max(counts_.furthest, static_cast<std::uint32_t>(distance));
}

// No byte can be changed into another that sums up alike: the two differ by less than 0xffff.
bool Impairment::corrupt(rte_mbuf& frame) noexcept {
    if (frame.nb_segs != 1) {
        return false;
    }
    auto* const bytes = rte_pktmbuf_mtod(&frame, std::uint8_t*);
    const frame::Bytes view_of(bytes, frame.pkt_len);
    const CoveredBytes covered(view_of, frame::parse_frame(view_of, plan_.tunnel_ports));
    if (covered.count() == 0) {
        return false;
    }
    const std::size_t place = covered.at(random_.below(covered.count()));
    bytes[place] = static_cast<std::uint8_t>(bytes[place] ^ (1 + random_.below(255)));
    return true;
}

}  // namespace pathproof::load
