// Conditions on a frame and its request, as written in a fault's name after '@'.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/softnic/facts.h"

namespace pathproof::softnic {

enum class Compare : std::uint8_t {
    kNotZero,
    kEqual,
    kNotEqual,
    kLess,
    kLessEqual,
    kMore,
    kMoreEqual
};

// "dport!=4789|8472": a variable, perhaps modulo something, against one or more numbers.
struct Condition {
    Fact fact = Fact::kEncap;
    std::uint32_t modulo = 0;  // 0: the variable itself
    Compare compare = Compare::kNotZero;
    // kEqual: one of them; kNotEqual: none of them; the others have one; kNotZero has none.
    std::vector<std::int64_t> numbers;
    bool operator==(const Condition&) const = default;
};

// True when all conditions hold; without conditions always.
struct Predicate {
    std::vector<Condition> conditions;

    bool holds(const Facts& facts) const noexcept;
    bool operator==(const Predicate&) const = default;
};

// Reads what stands after '@'. Errors name the condition and say what is allowed.
Result<Predicate> parse_predicate(std::string_view text);
std::string to_string(const Predicate& predicate);  // without '@'

}  // namespace pathproof::softnic
