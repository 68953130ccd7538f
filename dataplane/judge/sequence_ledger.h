// Accounts for the numbered frames of one stream in fixed memory: which came, which came twice, and
// which came after a later one and how far behind (RFC 4737). Remembers the last two million
// numbers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace pathproof::judge {

struct SequenceTotals {
    std::uint64_t unique = 0;  // different numbers seen
    std::uint64_t duplicates = 0;
    std::uint64_t reordered = 0;  // of the unique ones: came after a later one
    std::uint64_t too_old = 0;    // further behind than is remembered: new or duplicate, unknown
    std::uint64_t highest = 0;    // 1 + the highest number seen, unwrapped to 64 bits
    std::uint32_t furthest = 0;   // greatest distance behind the highest, in frames
    std::array<std::uint64_t, 22>
        distance{};  // reordered by distance: 1, 2-3, 4-7, ... 2^20 and more
    // 1 + the last number that a later one overtook, whether it came after that or not; 0: none.
    std::uint64_t overtaken = 0;
};

enum class Arrival : std::uint8_t { kUnique, kReordered, kDuplicate, kTooOld };

class SequenceLedger {
  public:
    // Numbers further behind the highest one are too old: a window of 2^21 but for the word that
    // is being filled.
    static constexpr std::uint64_t kRemembered = (std::uint64_t{1} << 21) - 64;

    // Takes the number of a frame that arrived: its lower `Bits` bits, which are read as the number
    // closest to the one expected next. The first number may be any.
    template <unsigned Bits = 32>
    Arrival take(std::uint32_t sequence) noexcept {
        static_assert(Bits <= 32);
        // The difference's sign lies in the top bit of `Bits`.
        const auto ahead = static_cast<std::int32_t>((sequence - static_cast<std::uint32_t>(next_))
                                                     << (32 - Bits)) >>
                           (32 - Bits);
        if (ahead == 0) [[likely]] {
            return enter_next();
        }
        return take_unexpected(ahead, sequence, (std::uint64_t{1} << Bits) - 1);
    }

    // Takes `count` (1 to 64) consecutive numbers from `first` on, if `first` is the number
    // expected next. False: it is not, and nothing was taken.
    bool take_run(std::uint32_t first, unsigned count) noexcept {
        if (first != static_cast<std::uint32_t>(next_)) [[unlikely]] {
            return false;
        }
        const auto place = static_cast<unsigned>(next_ % 64);
        const std::uint64_t bits = ~std::uint64_t{0} >> (64 - count);
        std::uint64_t& word = seen_[word_of(next_)];
        word = (word & ~(~std::uint64_t{0} << place)) | bits << place;
        if (place + count > 64) {
            seen_[word_of(next_ + 64)] = bits >> (64 - place);
        }
        next_ += count;
        in_order_ += count;
        return true;
    }

    SequenceTotals totals() const noexcept;
    void reset() noexcept;

  private:
    static constexpr std::uint64_t kWindowBits = std::uint64_t{1} << 21;
    static constexpr std::size_t kWords = kWindowBits / 64;
    // Start of the numbering, high enough that a number before the first one seen is not negative.
    static constexpr std::uint64_t kOrigin = std::uint64_t{1} << 32;

    static constexpr std::size_t word_of(std::uint64_t number) noexcept {
        return number / 64 % kWords;
    }

    // Bits of the highest number's word above it are left from a window before; they are cleared
    // when the numbers are passed.
    Arrival enter_next() noexcept {
        const std::uint64_t bit = std::uint64_t{1} << next_ % 64;
        std::uint64_t& word = seen_[word_of(next_)];
        word = (word & (bit - 1)) | bit;
        ++next_;
        ++in_order_;
        return Arrival::kUnique;
    }
    Arrival take_unexpected(std::int32_t ahead, std::uint32_t sequence,
                            std::uint64_t mask) noexcept;
    void pass_over(std::uint64_t numbers) noexcept;
    Arrival take_behind(std::uint64_t number) noexcept;

    std::unique_ptr<std::uint64_t[]> seen_ = std::make_unique<std::uint64_t[]>(kWords);
    std::uint64_t next_ = kOrigin;  // 1 + the highest number seen
    std::uint64_t in_order_ = 0;
    SequenceTotals odd_;  // all but those in order, and `highest`
    bool started_ = false;
};

// The totals of one stream of which several receivers had a part. Order is judged by each for
// itself.
SequenceTotals sum(const SequenceTotals& a, const SequenceTotals& b) noexcept;

}  // namespace pathproof::judge
