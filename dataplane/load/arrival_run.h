// Frames of one shape that came one behind the other as they were sent together: they are entered
// in ledger and histograms at once.
#pragma once

#include <bit>
#include <cstdint>

#include "dataplane/load/known_shape.h"

namespace pathproof::load {

class ArrivalRun {
  public:
    static constexpr unsigned kMost = 64;

    // False: the frame is not the next of this run.
    bool extend(const KnownShape& shape, const Known& frame) noexcept {
        const bool next = &shape == shape_ && frame.sequence == first_.sequence + count_ &&
                          frame.sent_low_ns == first_.sent_low_ns &&
                          frame.stream == first_.stream && count_ < kMost;
        if (!next) [[unlikely]] {
            return false;
        }
        aaaa_ |= std::uint64_t{frame.aaaa} << count_;
        ++count_;
        return true;
    }
    void begin(const KnownShape& shape, const Known& frame) noexcept {
        shape_ = &shape;
        first_ = frame;
        count_ = 1;
        aaaa_ = frame.aaaa;
    }
    void clear() noexcept {
        shape_ = nullptr;
        count_ = 0;
    }

    unsigned count() const noexcept { return count_; }
    // All of these are of a run that is not empty.
    const KnownShape& shape() const noexcept { return *shape_; }
    std::uint8_t stream() const noexcept { return first_.stream; }
    std::uint32_t first() const noexcept { return first_.sequence; }
    std::uint64_t sent_ns() const noexcept { return shape_->upper_time_ns() | first_.sent_low_ns; }
    frame::TrafficClass traffic(unsigned index) const noexcept {
        return shape_->traffic((aaaa_ >> index & 1) != 0);
    }
    unsigned aaaa() const noexcept { return static_cast<unsigned>(std::popcount(aaaa_)); }

  private:
    const KnownShape* shape_ = nullptr;
    Known first_;
    unsigned count_ = 0;
    std::uint64_t aaaa_ = 0;  // a bit for each frame
};

}  // namespace pathproof::load
