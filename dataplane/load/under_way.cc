#include "dataplane/load/under_way.h"

#include <algorithm>

namespace pathproof::load {
namespace {

// One writer: no read-modify-write that others would have to wait for.
void add(std::atomic<std::uint64_t>& count, std::uint64_t more) noexcept {
    count.store(count.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

}  // namespace

Returns::Returns(unsigned streams, Nanoseconds timeout)
    : slots_(timeout), tallies_(std::make_unique<ReturnTally[]>(streams)) {}

void Returns::note(std::uint8_t stream, std::uint64_t now_ns, std::uint64_t age_ns,
                   std::uint64_t frames) noexcept {
    if (age_ns > slots_.timeout_ns()) {
        return;
    }
    ReturnTally& tally = tallies_[stream];
    add(tally.all, frames);
    add(tally.of_slot[slots_.number(now_ns - age_ns) % kSlots], frames);
}

Window::Window(std::uint64_t frames, Nanoseconds timeout, const Tallies& tallies,
               std::uint64_t now_ns) noexcept
    : frames_(frames),
      cut_(timeout),
      tallies_(&tallies),
      oldest_(cut_.number(now_ns)),
      newest_(oldest_) {
    came_before_ = came_back();
    slots_[newest_ % kSlots] = {.came_before = came_back(newest_)};
}

std::uint64_t Window::came_back() const noexcept {
    std::uint64_t sum = 0;
    for (const ReturnTally* tally : *tallies_) {
        sum += tally->all.load(std::memory_order_relaxed);
    }
    return sum;
}

std::uint64_t Window::came_back(std::uint64_t slot) const noexcept {
    std::uint64_t sum = 0;
    for (const ReturnTally* tally : *tallies_) {
        sum += tally->of_slot[slot % kSlots].load(std::memory_order_relaxed);
    }
    return sum;
}

// Slots in which nothing left count, too: what comes back may be taken for theirs, since a TCP
// timestamp is coarse and an answer may bring no time.
void Window::begin_slots(std::uint64_t last) noexcept {
    while (newest_ < last) {
        ++newest_;
        slots_[newest_ % kSlots] = {.came_before = came_back(newest_)};
    }
}

void Window::note_sent(std::uint64_t stamp_ns, std::uint64_t frames) noexcept {
    begin_slots(cut_.number(stamp_ns));
    slots_[cut_.number(stamp_ns) % kSlots].sent += frames;
    sent_ += frames;
}

void Window::give_up_slots(std::uint64_t now_ns) noexcept {
    while (oldest_ <= newest_ && cut_.over_ns(oldest_) < now_ns) {
        const Slot& slot = slots_[oldest_ % kSlots];
        given_up_ += static_cast<std::int64_t>(slot.sent - (came_back(oldest_) - slot.came_before));
        ++oldest_;
    }
    if (oldest_ > newest_) {
        newest_ = oldest_ = std::max(oldest_, cut_.number(now_ns));
        slots_[newest_ % kSlots] = {.came_before = came_back(newest_)};
    }
}

std::uint64_t Window::room(std::uint64_t now_ns) noexcept {
    give_up_slots(now_ns);
    begin_slots(cut_.number(now_ns));
    const auto under_way =
        static_cast<std::int64_t>(sent_ - (came_back() - came_before_)) - given_up_;
    const auto room = static_cast<std::int64_t>(frames_) - under_way;
    return static_cast<std::uint64_t>(std::max<std::int64_t>(room, 0));
}

}  // namespace pathproof::load
