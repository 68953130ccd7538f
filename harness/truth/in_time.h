// The pattern of wrong frames in time: all, every n-th, in bursts, or now and then.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace pathproof::truth {

// Frames in the order in which they were sent, without a gap: whether each was wrong.
using Stretch = std::vector<bool>;

struct InTime {
    enum class Kind : std::uint8_t {
        kNone,    // no frame is wrong
        kAll,     // every frame is
        kEvery,   // every n-th is
        kBursts,  // several in a row are, again and again
        kNowAndThen,
    };
    Kind kind = Kind::kNone;
    std::uint64_t frames = 0;
    std::uint64_t wrong = 0;
    std::uint64_t every = 0;     // kEvery: n
    std::uint64_t bursts = 0;    // kBursts: how many
    std::uint64_t shortest = 0;  // of them, in frames
    std::uint64_t longest = 0;

    bool operator==(const InTime&) const = default;
};

// A period counts over all stretches as if nothing lay between them, or within each. It needs
// enough wrong frames that chance would not place them so: one in a million.
InTime in_time(std::span<const Stretch> stretches);

// "every 2nd of 2461", "4 bursts of 8 to 10, of 2461", "12 of 6153, 1 in 513 (95 %: 1 in 294 to 1 in
// 897)", "all 24"; "none of 6153 (below 1 in 2051 at 95 %)".
std::string text(const InTime& seen);

// "1 in 513 (95 %: 1 in 294 to 1 in 897)"; no hits: "below 1 in 2051 at 95 %".
std::string rate_text(std::uint64_t hits, std::uint64_t frames);

// "2nd", "3rd", "11th".
std::string ordinal(std::uint64_t number);

}  // namespace pathproof::truth
