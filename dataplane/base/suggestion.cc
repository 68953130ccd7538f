#include "dataplane/base/suggestion.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace pathproof {
namespace {

// Optimal string alignment: letters inserted, removed, replaced, or swapped with their neighbour.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    const std::size_t width = b.size() + 1;
    std::vector<std::size_t> table((a.size() + 1) * width);
    const auto at = [&](std::size_t i, std::size_t j) -> std::size_t& {
        return table[i * width + j];
    };
    for (std::size_t i = 0; i <= a.size(); ++i) {
        for (std::size_t j = 0; j <= b.size(); ++j) {
            if (i == 0 || j == 0) {
                at(i, j) = i + j;
                continue;
            }
            const std::size_t replaced = at(i - 1, j - 1) + (a[i - 1] == b[j - 1] ? 0 : 1);
            at(i, j) = std::min({at(i - 1, j) + 1, at(i, j - 1) + 1, replaced});
            const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped) {
                at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
            }
        }
    }
    return at(a.size(), b.size());
}

}  // namespace

std::vector<std::string> close_matches(std::string_view word,
                                       const std::vector<std::string>& candidates) {
    const std::size_t tolerated = word.size() < 2 ? 0 : std::max<std::size_t>(1, word.size() / 4);
    std::vector<std::pair<std::size_t, std::string>> ranked;
    for (const std::string& candidate : candidates) {
        const std::size_t distance = edit_distance(word, candidate);
        const bool begins_with_it = !word.empty() && candidate.starts_with(word);
        if (distance <= tolerated || begins_with_it) {
            ranked.emplace_back(distance, candidate);
        }
    }
    std::sort(ranked.begin(), ranked.end());
    std::vector<std::string> close;
    for (std::size_t i = 0; i < std::min<std::size_t>(3, ranked.size()); ++i) {
        close.push_back(ranked[i].second);
    }
    return close;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
    const std::vector<std::string> close = close_matches(word, candidates);
    std::string text;
    for (std::size_t i = 0; i < close.size(); ++i) {
        if (i > 0) {
            text += i + 1 == close.size() ? " or " : ", ";
        }
        text += close[i];
    }
    return text.empty() ? text : fmt::format("; did you mean {}?", text);
}

std::string choices(std::string_view word, const std::vector<std::string>& candidates) {
    const std::string suggestion = did_you_mean(word, candidates);
    return fmt::format("{}{}: {}", suggestion, suggestion.empty() ? "; there are" : " There are",
                       fmt::join(candidates, ", "));
}

}  // namespace pathproof
