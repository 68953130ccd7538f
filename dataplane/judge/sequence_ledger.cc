#include "dataplane/judge/sequence_ledger.h"

#include <algorithm>

namespace pathproof::judge {

Arrival SequenceLedger::take_unexpected(std::int32_t ahead, std::uint32_t sequence,
                                        std::uint64_t mask) noexcept {
    if (!started_) {
        started_ = true;
        if (in_order_ == 0) {
            next_ = kOrigin + (sequence & mask);
            return enter_next();
        }
    }
    if (ahead < 0) {
        return take_behind(next_ - static_cast<std::uint64_t>(-std::int64_t{ahead}));
    }
    pass_over(static_cast<std::uint64_t>(ahead));
    return enter_next();
}

void SequenceLedger::pass_over(std::uint64_t numbers) noexcept {
    const std::uint64_t end = next_ + numbers;
    odd_.overtaken = end - kOrigin;
    if (numbers >= kWindowBits) {
        std::fill_n(seen_.get(), kWords, 0);
        next_ = end;
        return;
    }
    seen_[word_of(next_)] &= (std::uint64_t{1} << next_ % 64) - 1;
    for (std::uint64_t first = (next_ / 64 + 1) * 64; first <= end; first += 64) {
        seen_[word_of(first)] = 0;
    }
    next_ = end;
}

Arrival SequenceLedger::take_behind(std::uint64_t number) noexcept {
    const std::uint64_t distance = next_ - 1 - number;
    if (distance >= kRemembered) {
        ++odd_.too_old;
        return Arrival::kTooOld;
    }
    const std::uint64_t bit = std::uint64_t{1} << number % 64;
    std::uint64_t& word = seen_[word_of(number)];
    if ((word & bit) != 0) {
        ++odd_.duplicates;
        return Arrival::kDuplicate;
    }
    word |= bit;
    ++odd_.unique;
    ++odd_.reordered;
    odd_.furthest = std::max(odd_.furthest, static_cast<std::uint32_t>(distance));
    const auto bin = static_cast<std::size_t>(std::bit_width(distance)) - 1;
    ++odd_.distance[std::min(bin, odd_.distance.size() - 1)];
    return Arrival::kReordered;
}

SequenceTotals SequenceLedger::totals() const noexcept {
    SequenceTotals all = odd_;
    all.unique += in_order_;
    all.highest = all.unique == 0 ? 0 : next_ - kOrigin;
    return all;
}

void SequenceLedger::reset() noexcept {
    std::fill_n(seen_.get(), kWords, 0);
    next_ = kOrigin;
    in_order_ = 0;
    odd_ = {};
    started_ = false;
}

SequenceTotals sum(const SequenceTotals& a, const SequenceTotals& b) noexcept {
    SequenceTotals both{.unique = a.unique + b.unique,
                        .duplicates = a.duplicates + b.duplicates,
                        .reordered = a.reordered + b.reordered,
                        .too_old = a.too_old + b.too_old,
                        .highest = std::max(a.highest, b.highest),
                        .furthest = std::max(a.furthest, b.furthest),
                        .distance = a.distance,
                        .overtaken = std::max(a.overtaken, b.overtaken)};
    for (std::size_t bin = 0; bin < both.distance.size(); ++bin) {
        both.distance[bin] += b.distance[bin];
    }
    return both;
}

}  // namespace pathproof::judge
