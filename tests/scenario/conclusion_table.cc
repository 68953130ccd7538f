#include "tests/scenario/conclusion_table.h"

namespace conclusions {
namespace {

const std::string& text_of(const ScenarioResult& result, const std::string& where) {
    if (where == "headline") {
        return result.headline;
    }
    if (where == "cause") {
        return result.cause;
    }
    return where == "cure" ? result.cure : cell(result, where).reason;
}

}  // namespace

Conclusion nothing(const std::string& why, std::vector<std::pair<std::string, std::string>> causes,
                   std::optional<std::uint64_t> unexplained) {
    return {.verdict = ScenarioVerdict::kInconclusive,
            .says = {{"headline", why}},
            .causes = std::move(causes),
            .cured = false,
            .unexplained = unexplained};
}

Conclusion not_cured(const std::string& why) {
    return {.verdict = ScenarioVerdict::kReproduced, .says = {{"cure", why}}, .cured = false};
}

void check(const ScenarioResult& result, const Conclusion& conclusion) {
    if (conclusion.verdict) {
        BOOST_TEST((result.verdict == *conclusion.verdict), result.headline);
        if (*conclusion.verdict == ScenarioVerdict::kInconclusive ||
            *conclusion.verdict == ScenarioVerdict::kNotReproduced) {
            BOOST_TEST(result.cause == "");
        }
        if (*conclusion.verdict == ScenarioVerdict::kNotReproduced) {
            BOOST_TEST(result.cure == "");
        }
    }
    for (const auto& [where, words] : conclusion.says) {
        const std::string& text = text_of(result, where);
        BOOST_TEST(contains(text, words), where << " lacks '" << words << "': " << text);
    }
    for (const auto& [where, words] : conclusion.never_says) {
        const std::string& text = text_of(result, where);
        BOOST_TEST(!contains(text, words), where << " has '" << words << "': " << text);
    }
    for (const auto& [id, cause] : conclusion.causes) {
        BOOST_TEST(cell(result, id).cause == cause, id << ": " << cell(result, id).cause);
    }
    for (const auto& [id, verdict] : conclusion.cells) {
        BOOST_TEST((cell(result, id).verdict == verdict), id << ": " << cell(result, id).reason);
    }
    if (conclusion.cured) {
        BOOST_TEST(result.cure_shown == *conclusion.cured, result.cure);
    }
    if (conclusion.unexplained) {
        BOOST_TEST(result.unexplained == *conclusion.unexplained);
    }
    if (!conclusion.before.empty()) {
        BOOST_TEST(result.before_cell == conclusion.before);
    }
    if (!conclusion.after.empty()) {
        BOOST_TEST(result.after_cell == conclusion.after);
    }
    if (conclusion.controls) {
        BOOST_TEST(result.controls.size() == *conclusion.controls);
    }
    if (conclusion.proofs) {
        BOOST_TEST(result.proofs.size() == *conclusion.proofs);
    }
    if (conclusion.more) {
        conclusion.more(result);
    }
}

}  // namespace conclusions
