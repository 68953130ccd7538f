#include "dataplane/pairs/pair_source.h"

#include <rte_mbuf.h>

#include <algorithm>

namespace pathproof::pairs {
namespace {

constexpr auto kClass = static_cast<std::size_t>(frame::TrafficClass::kDnsA);

Result<frame::FrameTemplate> member_frames(const PairPlan& plan, std::size_t member) {
    return frame::FrameTemplate::make_dns(frame_spec(plan.members[member], plan.service),
                                          plan.suffix, plan.members[member].qtype);
}

}  // namespace

Result<PairSource> PairSource::make(const PairPlan& plan, std::size_t member, const PairBook& book,
                                    std::span<std::int64_t> sent_ns) {
    auto first = TRY(member_frames(plan, 0));
    auto second = TRY(member_frames(plan, 1));
    return PairSource(plan, member, book, sent_ns, {std::move(first), std::move(second)});
}

PairSource::PairSource(const PairPlan& plan, std::size_t member, const PairBook& book,
                       std::span<std::int64_t> sent_ns, std::array<frame::FrameTemplate, 2> frames)
    : book_(&book),
      sent_ns_(sent_ns),
      frames_(std::move(frames)),
      step_(plan.departure == Departure::kTwoPorts ? 2 : 1),
      next_(member),
      next_left_(member) {}

std::size_t PairSource::fill(std::span<rte_mbuf*> burst, std::uint64_t) noexcept {
    std::size_t filled = 0;
    for (; filled < burst.size() && next_ < book_->queries(); ++filled, next_ += step_) {
        rte_mbuf& mbuf = *burst[filled];
        const frame::FrameTemplate& frame = frames_[next_ % 2];
        const judge::QueryFacts query = book_->query(next_);
        rte_pktmbuf_reset(&mbuf);
        mbuf.ol_flags = 0;  // reset leaves RTE_MBUF_F_EXTERNAL standing
        char* start = rte_pktmbuf_append(&mbuf, static_cast<std::uint16_t>(frame.size()));
        frame.render(reinterpret_cast<std::uint8_t*>(start),
                     {.source = query.client.address,
                      .source_port = query.client.port,
                      .dns = frame::FramePatch::Dns{query.id, static_cast<std::uint32_t>(next_)}});
    }
    made_[kClass] += filled;
    return filled;
}

void PairSource::left(std::size_t frames, std::uint64_t at_ns) noexcept {
    for (; frames > 0; --frames, next_left_ += step_) {
        sent_ns_[next_left_] = static_cast<std::int64_t>(at_ns);
    }
}

void PairSource::take_back(std::span<rte_mbuf* const> burst) noexcept {
    made_[kClass] -= burst.size();
    next_left_ = next_;
}

}  // namespace pathproof::pairs
