// The smallest description that separates wrong frames from right ones.
//
// A description is chosen by its length in bits (minimum description length, Rissanen 1978): the
// conditions, and which of the frames that they fit, and of the others, are wrong. One that needs
// more bits than a plain list of the wrong frames is none, so that losses at random are not located.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dataplane/follow/trait_table.h"

namespace pathproof::follow {

struct Condition {
    enum class Kind : std::uint8_t {
        kRange,    // a number from `low` to `high`
        kResidue,  // a number that leaves `residue` when divided by `modulus`
        kValues,   // one of `values`
        kOthers,   // none of `values`
    } kind = Kind::kRange;
    Trait trait = Trait::kFrameBytes;
    // Ends of a range: the right frames' numbers next to those of the wrong ones. Nothing: the
    // range is open on that side.
    std::optional<std::uint32_t> right_below;
    std::optional<std::uint32_t> right_above;
    std::uint32_t low = 0;  // of wrong frames
    std::uint32_t high = 0;
    std::uint32_t modulus = 0;
    std::uint32_t residue = 0;
    std::vector<std::uint32_t> values;
    std::string text;  // words that follow "frames": "of more than 1398 bytes", "UDP"
    double bits = 0;

    bool fits(const Traits& traits) const;
    bool fits_number(std::uint32_t value) const;  // of the trait
    // Sets the text of a range from its numbers.
    void word_range();
};

// All of its conditions together.
struct Rule {
    std::vector<Condition> conditions;
    // Other conditions that fit the same of these frames, for each condition, the plainest first.
    std::vector<std::vector<Condition>> alike;

    bool fits(const Traits& traits) const;
};

struct Description {
    std::vector<Rule> rules;  // frames that any of them fits; empty: nothing separates them
    std::string text;         // "frames of more than 1398 bytes, with a VLAN tag"
    std::uint64_t wrong = 0;  // frames that it is of
    std::uint64_t right = 0;
    std::uint64_t wrong_that_fit = 0;
    std::uint64_t right_that_fit = 0;  // counter-examples
    FrameName counter_example;         // the first of them
    FrameName left_out;                // the first wrong frame that does not fit

    bool separates() const { return !rules.empty(); }
    // Sets the text from the rules.
    void word();
    // "frames of more than 1398 bytes: all 117 of them are wrong, and 3 of 383 others".
    std::string sentence() const;
};

// `address`: of a trait, see TraitTable. Traits that are not `told` are not spoken of.
Description describe(std::span<const Alike> wrong, std::span<const Alike> right,
                     const TraitSet& told,
                     const std::function<std::string(std::uint32_t)>& address);

}  // namespace pathproof::follow
