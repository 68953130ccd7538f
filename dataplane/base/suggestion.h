// Suggestions for a mistyped word.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pathproof {

// Returns up to three candidates that resemble `word`, nearest first: by prefix, or by edit distance
// (at most a quarter of the word's letters, at least one; two letters that changed places count as one).
std::vector<std::string> close_matches(std::string_view word,
                                       const std::vector<std::string>& candidates);

// Returns "; did you mean a, b or c?", or an empty string if no candidate resembles `word`.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

// Ends a sentence about an unknown word: "; did you mean b? There are: a, b, c", or "; there are: a, b, c".
std::string choices(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace pathproof
