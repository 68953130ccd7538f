#include "harness/verdict/contradiction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <string_view>

namespace pathproof::verdict {
namespace {

// Words that say that something did not happen, and the measures that are zero then.
struct Absence {
    std::string_view words;
    std::string_view measures[2];
};
constexpr Absence kAbsences[] = {
    {"conntrack resolved no clash", {"clash_resolve", ""}},
    {"No pair raced or collided", {"clash_resolve", "insert_failed"}},
    {"No pair met the race", {"clash_resolve", "insert_failed"}},
    {"insert_failed and drop stayed 0", {"insert_failed", "drop"}},
};
// A count in front of these words is part of the measure.
struct Part {
    std::string_view words;
    std::string_view measure;
};
constexpr Part kParts[] = {
    {" as the hidden entry of their clash had expired", "hidden_entries"},
    {" pairs needed a hidden entry", "hidden_entries"},
};

bool is_name(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// The word that ends before `at`.
std::string_view word_before(std::string_view text, std::size_t at) {
    std::size_t begin = at;
    while (begin > 0 && is_name(text[begin - 1])) {
        --begin;
    }
    return text.substr(begin, at - begin);
}

std::optional<std::uint64_t> number_at(std::string_view text) {
    std::uint64_t number = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
    return wrong == std::errc() && end != text.data() ? std::optional(number) : std::nullopt;
}

const Measure* measure_of(const Cell& cell, std::string_view name) {
    const auto at = std::ranges::find(cell.measures, name, &Measure::name);
    return at != cell.measures.end() && at->value.is_number() ? &*at : nullptr;
}

// The measure in the cells that a text is about: of one cell it is that cell's, of a scenario all cells
// together hold no less.
class Beside {
  public:
    explicit Beside(const Cell& cell) : cells_{&cell}, is_cell_(true) {}
    explicit Beside(const ScenarioResult& scenario) : is_cell_(false) {
        for (const Cell& cell : scenario.cells) {
            cells_.push_back(&cell);
        }
        for (const Cell& cell : scenario.controls) {
            cells_.push_back(&cell);
        }
    }

    bool is_cell() const { return is_cell_; }
    // Returns nothing if no cell measured it.
    std::optional<std::uint64_t> sum(std::string_view name) const {
        std::optional<std::uint64_t> sum;
        for (const Cell* cell : cells_) {
            if (const Measure* measure = measure_of(*cell, name)) {
                sum = sum.value_or(0) + measure->value.count();
            }
        }
        return sum;
    }

  private:
    std::vector<const Cell*> cells_;
    bool is_cell_;
};

void compare_rises(const std::string& where, std::string_view text, const Beside& beside,
                   std::vector<std::string>& found) {
    constexpr std::string_view kRose = " rose by ";
    for (std::size_t at = text.find(kRose); at != text.npos; at = text.find(kRose, at + 1)) {
        const std::string_view name = word_before(text, at);
        const auto said = number_at(text.substr(at + kRose.size()));
        const auto measured = beside.sum(name);
        if (!said || !measured) {
            continue;
        }
        if (beside.is_cell() ? *said != *measured : *said > *measured) {
            found.push_back(fmt::format("{} says that {} rose by {}, and {} was measured", where,
                                        name, *said, *measured));
        }
    }
    for (const std::string_view words : {" did not rise", " stayed 0"}) {
        for (std::size_t at = text.find(words); at != text.npos; at = text.find(words, at + 1)) {
            const std::string_view name = word_before(text, at);
            const auto measured = beside.sum(name);
            if (beside.is_cell() && measured && *measured != 0) {
                found.push_back(fmt::format("{} says that {}{}, and {} was measured", where, name,
                                            words, *measured));
            }
        }
    }
}

void compare_mechanisms(const std::string& where, std::string_view text, const Beside& beside,
                        std::vector<std::string>& found) {
    for (const Absence& absence : kAbsences) {
        if (text.find(absence.words) == text.npos) {
            continue;
        }
        for (const std::string_view name : absence.measures) {
            if (const auto measured = beside.sum(name); measured && *measured != 0) {
                found.push_back(fmt::format("{} says \"{}\", and {} is {}", where, absence.words,
                                            name, *measured));
            }
        }
    }
    for (const Part& part : kParts) {
        const std::size_t at = text.find(part.words);
        const auto measured = beside.sum(part.measure);
        if (at == text.npos || !measured) {
            continue;
        }
        const auto said = number_at(word_before(text, at));
        if (said && *said > *measured) {
            found.push_back(fmt::format("{} says \"{}{}\", and {} is {}", where, *said, part.words,
                                        part.measure, *measured));
        }
    }
}

void compare(const std::string& where, std::string_view text, const Beside& beside,
             std::vector<std::string>& found) {
    compare_rises(where, text, beside, found);
    compare_mechanisms(where, text, beside, found);
}

}  // namespace

std::vector<std::string> contradictions(const ScenarioResult& scenario) {
    std::vector<std::string> found;
    for (const std::vector<Cell>* cells : {&scenario.cells, &scenario.controls}) {
        for (const Cell& cell : *cells) {
            compare(cell.id, cell.reason, Beside(cell), found);
        }
    }
    const Beside all(scenario);
    compare("the headline", scenario.headline, all, found);
    compare("the cause", scenario.cause, all, found);
    // A control is listed twice where a scenario copies it from its matrix.
    std::ranges::sort(found);
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
}

}  // namespace pathproof::verdict
