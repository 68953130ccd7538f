#include "dataplane/softnic/predicate.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "dataplane/base/number.h"

namespace pathproof::softnic {
namespace {

struct Spelling {
    std::string_view text;
    Compare compare;
};
// Longer ones first: "<=" begins with "<".
constexpr std::array<Spelling, 6> kSpellings = {{{"==", Compare::kEqual},
                                                 {"!=", Compare::kNotEqual},
                                                 {"<=", Compare::kLessEqual},
                                                 {">=", Compare::kMoreEqual},
                                                 {"<", Compare::kLess},
                                                 {">", Compare::kMore}}};

std::string_view spelling(Compare compare) {
    for (const Spelling& spelling : kSpellings) {
        if (spelling.compare == compare) {
            return spelling.text;
        }
    }
    return "";
}

bool compares(Compare compare, std::int64_t value, const std::vector<std::int64_t>& numbers) {
    switch (compare) {
        case Compare::kNotZero: return value != 0;
        case Compare::kEqual:
            return std::find(numbers.begin(), numbers.end(), value) != numbers.end();
        case Compare::kNotEqual:
            return std::find(numbers.begin(), numbers.end(), value) == numbers.end();
        case Compare::kLess: return value < numbers.front();
        case Compare::kLessEqual: return value <= numbers.front();
        case Compare::kMore: return value > numbers.front();
        case Compare::kMoreEqual: return value >= numbers.front();
    }
    return false;
}

Status read_variable(std::string_view text, std::string_view whole, Condition& condition) {
    const std::size_t percent = text.find('%');
    const std::string_view variable = text.substr(0, percent);
    const auto fact = fact_named(variable);
    if (!fact) {
        return fail(ErrorCode::kBadInput, "condition '{}': '{}' is not known; allowed are {}",
                    whole, variable, fact_names());
    }
    condition.fact = *fact;
    if (percent == std::string_view::npos) {
        return {};
    }
    condition.modulo = whole_number<std::uint32_t>(text.substr(percent + 1)).value_or(0);
    if (condition.modulo == 0) {
        return fail(ErrorCode::kBadInput,
                    "condition '{}': after '%' stands a whole number from 1, as in flow%8==3",
                    whole);
    }
    return {};
}

Status read_numbers(std::string_view text, std::string_view whole, Condition& condition) {
    const bool several =
        condition.compare == Compare::kEqual || condition.compare == Compare::kNotEqual;
    while (true) {
        const std::size_t bar = text.find('|');
        const auto number = whole_number<std::int64_t>(text.substr(0, bar));
        if (!number) {
            return fail(ErrorCode::kBadInput,
                        "condition '{}': '{}' is no whole number; several are separated by '|', as "
                        "in dport==4789|8472",
                        whole, text.substr(0, bar));
        }
        condition.numbers.push_back(*number);
        if (bar == std::string_view::npos) {
            break;
        }
        text.remove_prefix(bar + 1);
    }
    if (condition.numbers.size() > 1 && !several) {
        return fail(ErrorCode::kBadInput,
                    "condition '{}': several numbers are allowed after == and != only", whole);
    }
    return {};
}

Result<Condition> parse_condition(std::string_view text) {
    Condition condition;
    const std::size_t at = text.find_first_of("=!<>");
    TRY(read_variable(text.substr(0, at), text, condition));
    if (at == std::string_view::npos) {
        return condition;
    }
    const std::string_view rest = text.substr(at);
    for (const Spelling& spelling : kSpellings) {
        if (rest.starts_with(spelling.text)) {
            condition.compare = spelling.compare;
            TRY(read_numbers(rest.substr(spelling.text.size()), text, condition));
            return condition;
        }
    }
    return fail(ErrorCode::kBadInput,
                "condition '{}': compare with ==, !=, <, <=, > or >=, or name the variable alone",
                text);
}

std::string to_string(const Condition& condition) {
    std::string text(name(condition.fact));
    if (condition.modulo != 0) {
        text += fmt::format("%{}", condition.modulo);
    }
    text += spelling(condition.compare);
    return text + fmt::format("{}", fmt::join(condition.numbers, "|"));
}

}  // namespace

bool Predicate::holds(const Facts& facts) const noexcept {
    return std::all_of(conditions.begin(), conditions.end(), [&](const Condition& condition) {
        std::int64_t value = facts[condition.fact];
        value = condition.modulo == 0 ? value : value % condition.modulo;
        return compares(condition.compare, value, condition.numbers);
    });
}

Result<Predicate> parse_predicate(std::string_view text) {
    Predicate predicate;
    while (true) {
        const std::size_t comma = text.find(',');
        auto condition = TRY(parse_condition(text.substr(0, comma)));
        predicate.conditions.push_back(std::move(condition));
        if (comma == std::string_view::npos) {
            return predicate;
        }
        text.remove_prefix(comma + 1);
    }
}

std::string to_string(const Predicate& predicate) {
    std::string text;
    for (const Condition& condition : predicate.conditions) {
        text += (text.empty() ? "" : ",") + to_string(condition);
    }
    return text;
}

}  // namespace pathproof::softnic
