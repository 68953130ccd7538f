// The counts of one backend over a window of time. For .cc files of this room.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "dataplane/base/counts.h"

namespace pathproof::monitor {

struct FlowCounts {
    std::uint64_t judged = 0;
    std::uint64_t unanswered = 0;
    std::uint64_t refused = 0;
};

// Counts that fade out: a window of kSlots pieces, the oldest of which is dropped as time goes on.
class WindowCounts {
  public:
    explicit WindowCounts(std::int64_t window_ns)
        : slot_ns_(std::max<std::int64_t>(window_ns / static_cast<std::int64_t>(kSlots), 1)) {}

    void add(const FlowCounts& counts, std::int64_t now_ns) {
        const std::int64_t epoch = now_ns / slot_ns_;
        Slot& slot = slots_[static_cast<std::uint64_t>(epoch) % kSlots];
        if (slot.epoch != epoch) {
            slot = {.epoch = epoch};
        }
        add_counts(slot.counts, counts);
    }

    FlowCounts sum(std::int64_t now_ns) const {
        FlowCounts all;
        for (const Slot& slot : slots_) {
            if (slot.epoch + static_cast<std::int64_t>(kSlots) > now_ns / slot_ns_) {
                add_counts(all, slot.counts);
            }
        }
        return all;
    }

  private:
    static constexpr std::size_t kSlots = 12;
    struct Slot {
        std::int64_t epoch = -static_cast<std::int64_t>(kSlots);
        FlowCounts counts;
    };

    std::int64_t slot_ns_;
    std::array<Slot, kSlots> slots_;
};

// The last answer times, exactly.
class LastTimes {
  public:
    void add(std::int64_t nanoseconds) {
        times_[count_++ % times_.size()] = std::max<std::int64_t>(nanoseconds, 0);
    }
    // The smallest time that at least `share` (0 to 1) of the last ones do not exceed.
    std::optional<std::int64_t> quantile_ns(double share) const {
        const std::size_t kept = std::min(count_, times_.size());
        if (kept == 0) {
            return std::nullopt;
        }
        std::vector<std::int64_t> sorted(times_.begin(),
                                         times_.begin() + static_cast<std::ptrdiff_t>(kept));
        const auto rank =
            std::min(kept - 1, static_cast<std::size_t>(share * static_cast<double>(kept)));
        std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(rank),
                         sorted.end());
        return sorted[rank];
    }

  private:
    std::array<std::int64_t, 64> times_{};
    std::size_t count_ = 0;
};

}  // namespace pathproof::monitor
