// What the tests of conclusions from plain values share: a look at a result, and what its sentences may
// not say.
#pragma once

#include <boost/test/unit_test.hpp>
#include <cctype>
#include <random>
#include <string>
#include <vector>

#include "harness/verdict/result.h"

namespace conclusions {

using pathproof::verdict::Cell;
using pathproof::verdict::ScenarioResult;
using pathproof::verdict::ScenarioVerdict;

inline const Cell& cell(const ScenarioResult& result, const std::string& id) {
    const Cell* found = pathproof::verdict::find_cell(result, id);
    BOOST_REQUIRE_MESSAGE(found != nullptr, id);
    return *found;
}

inline bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

inline void inconclusive(const ScenarioResult& result, const std::string& why) {
    BOOST_TEST((result.verdict == ScenarioVerdict::kInconclusive), result.headline);
    BOOST_TEST(has(result.headline, why), result.headline);
    BOOST_TEST(result.cause.empty(), result.cause);
    BOOST_TEST(!result.cure_shown);
}

// Words, and the measures of which one is not zero where they stand.
struct Phrase {
    const char* words;
    std::vector<const char*> measures;
};

inline double sum_of(const Cell& cell, const std::vector<const char*>& names) {
    double sum = 0;
    for (const auto& measure : cell.measures) {
        for (const char* name : names) {
            sum += measure.name == name ? measure.value.number() : 0;
        }
    }
    return sum;
}

inline bool digit(char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// "12 of 9": a part that is more than its whole, or empty.
inline std::string false_share(const std::string& text) {
    for (auto at = text.find(" of "); at != std::string::npos; at = text.find(" of ", at + 1)) {
        std::size_t begin = at;
        std::size_t end = at + 4;
        while (begin > 0 && digit(text[begin - 1])) {
            --begin;
        }
        while (end < text.size() && digit(text[end])) {
            ++end;
        }
        const std::string part = text.substr(begin, at - begin);
        const std::string whole = text.substr(at + 4, end - at - 4);
        if (!part.empty() && !whole.empty() && std::stod(part) > std::stod(whole)) {
            return text.substr(begin, end - begin);
        }
    }
    return "";
}

// A 0 that is a number of its own.
inline bool states_zero(const std::string& text) {
    for (auto at = text.find('0'); at != std::string::npos; at = text.find('0', at + 1)) {
        const bool begins = at == 0 || std::string(" (\"").find(text[at - 1]) != std::string::npos;
        const std::string rest = text.substr(at + 1, 2);
        if (begins && (rest.empty() || rest == "." || rest == ". " ||
                       std::string(" ,;:)\"").find(rest[0]) != std::string::npos)) {
            return true;
        }
    }
    return false;
}

// Sentences with a phrase whose measures are zero (of the cell, or of the whole scenario), with a part
// that is more than its whole, or with a bare 0.
inline std::vector<std::string> false_sentences(const ScenarioResult& result,
                                                const std::vector<Phrase>& phrases) {
    std::vector<std::string> wrong;
    const auto check = [&](const std::string& text, const Cell* cell) {
        if (const std::string share = false_share(text); !share.empty()) {
            wrong.push_back("'" + share + "': " + text);
        }
        if (states_zero(text)) {
            wrong.push_back("states a zero: " + text);
        }
        for (const Phrase& phrase : phrases) {
            if (!has(text, phrase.words)) {
                continue;
            }
            double sum = 0;
            for (const auto* cells : {&result.cells, &result.controls}) {
                for (const Cell& each : *cells) {
                    sum += cell == nullptr || cell == &each ? sum_of(each, phrase.measures) : 0;
                }
            }
            if (sum == 0) {
                wrong.push_back(std::string("says '") + phrase.words + "' of none: " + text);
            }
        }
    };
    for (const auto* cells : {&result.cells, &result.controls}) {
        for (const Cell& each : *cells) {
            check(each.reason, &each);
            if (each.verdict != pathproof::verdict::CellVerdict::kPass && each.reason.empty()) {
                wrong.push_back(each.id + " does not pass and gives no reason");
            }
        }
    }
    for (const std::string* text : {&result.headline, &result.cause, &result.cure}) {
        check(*text, nullptr);
    }
    for (const std::string& text : result.explanation) {
        check(text, nullptr);
    }
    for (const auto& proof : result.proofs) {
        check(proof.conclusion, nullptr);
    }
    if (result.cause.empty() != (result.verdict != ScenarioVerdict::kReproduced &&
                                 result.verdict != ScenarioVerdict::kExposed)) {
        wrong.push_back("verdict and cause do not go together: " + result.headline);
    }
    return wrong;
}

// Values for generated cells: often zero, seldom many.
class Dice {
  public:
    explicit Dice(unsigned seed) : engine_(seed) {}
    bool one_in(unsigned n) { return engine_() % n == 0; }
    std::uint64_t up_to(std::uint64_t most) {
        return one_in(3) ? 0 : std::uniform_int_distribution<std::uint64_t>(0, most)(engine_);
    }

  private:
    std::mt19937 engine_;
};

// Says each false sentence of ten thousand results that `make` draws.
template <typename Make>
void ten_thousand(const std::vector<Phrase>& phrases, const Make& make) {
    std::size_t concluded = 0;
    for (unsigned seed = 0; seed < 10'000; ++seed) {
        Dice dice(seed);
        const ScenarioResult result = make(dice);
        concluded += result.verdict != ScenarioVerdict::kInconclusive ? 1 : 0;
        for (const std::string& wrong : false_sentences(result, phrases)) {
            BOOST_TEST(false, "seed " << seed << ": " << wrong);
        }
    }
    BOOST_TEST(concluded > 1000U);  // or else hardly any sentence was looked at
}

}  // namespace conclusions
