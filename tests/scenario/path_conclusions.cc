#include "tests/scenario/path_conclusions.h"

#include "tests/scenario/shares.h"

namespace conclusions {

const Cell& cell(const ScenarioResult& result, const std::string& id) {
    const Cell* found = pathproof::verdict::find_cell(result, id);
    BOOST_REQUIRE_MESSAGE(found != nullptr, id);
    return *found;
}

void inconclusive(const ScenarioResult& result, const std::string& why) {
    BOOST_TEST((result.verdict == ScenarioVerdict::kInconclusive), result.headline);
    BOOST_TEST(contains(result.headline, why), result.headline);
    BOOST_TEST(result.cause.empty(), result.cause);
    BOOST_TEST(!result.cure_shown);
}

double sum_of(const Cell& cell, const std::vector<const char*>& names) {
    double sum = 0;
    for (const auto& measure : cell.measures) {
        for (const char* name : names) {
            sum += measure.name == name ? measure.value.number() : 0;
        }
    }
    return sum;
}

namespace {

// A 0 that stands by itself: between brackets, quotes, blanks and the marks that end a part of a sentence.
bool states_a_zero(const std::string& text) {
    const auto is_one_of = [](char letter, std::string_view all) {
        return all.find(letter) != std::string_view::npos;
    };
    for (std::size_t at = text.find('0'); at != std::string::npos; at = text.find('0', at + 1)) {
        const bool begins = at == 0 || is_one_of(text[at - 1], " (\"");
        const std::string_view after = std::string_view(text).substr(at + 1);
        const bool ends = after.empty() || is_one_of(after[0], " ,;:)\"") || after == "." ||
                          after.starts_with(". ");
        if (begins && ends) {
            return true;
        }
    }
    return false;
}

}  // namespace

std::vector<std::string> false_sentences(const ScenarioResult& result,
                                         const std::vector<Phrase>& phrases) {
    std::vector<std::string> wrong;
    const auto check = [&](const std::string& text, const Cell* cell) {
        for (const Share& share : shares_in(text)) {
            if (share.part > share.whole) {
                wrong.push_back("'" + share.words + "': " + text);
            }
        }
        if (states_a_zero(text)) {
            wrong.push_back("states a zero: " + text);
        }
        for (const Phrase& phrase : phrases) {
            if (!contains(text, phrase.words)) {
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

void ten_thousand(const std::vector<Phrase>& phrases,
                  const std::function<ScenarioResult(Dice&)>& make) {
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
