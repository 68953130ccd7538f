#include "dataplane/base/pattern.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

namespace pathproof {
namespace {

std::size_t at(regoff_t offset) {
    return static_cast<std::size_t>(offset);
}

// Returns where the search for another match goes on: an empty match is not found again.
std::size_t behind(const regmatch_t& match) {
    return at(std::max(match.rm_eo, match.rm_so + 1));
}

Pattern::Match words_of(const std::string& text, const std::vector<regmatch_t>& parts) {
    Pattern::Match words;
    words.reserve(parts.size());
    for (const regmatch_t& part : parts) {
        words.push_back(part.rm_so < 0 ? ""
                                       : text.substr(at(part.rm_so), at(part.rm_eo - part.rm_so)));
    }
    return words;
}

}  // namespace

Pattern::Pattern(const std::string& expression) {
    const int outcome = regcomp(&compiled_, expression.c_str(), REG_EXTENDED | REG_NEWLINE);
    if (outcome != 0) {
        std::array<char, 200> why{};
        regerror(outcome, &compiled_, why.data(), why.size());
        std::fprintf(stderr, "pathproof: '%s': %s\n", expression.c_str(), why.data());
        std::abort();
    }
}

bool Pattern::find(const std::string& text, std::size_t from,
                   std::vector<regmatch_t>& parts) const {
    if (from > text.size()) {
        return false;
    }
    parts.resize(compiled_.re_nsub + 1);
    // REG_STARTEND: what stands before `from` is seen by \b and ^.
    parts[0] = {static_cast<regoff_t>(from), static_cast<regoff_t>(text.size())};
    return regexec(&compiled_, text.c_str(), parts.size(), parts.data(), REG_STARTEND) == 0;
}

std::optional<Pattern::Match> Pattern::search(const std::string& text) const {
    std::vector<regmatch_t> parts;
    return find(text, 0, parts) ? std::optional(words_of(text, parts)) : std::nullopt;
}

std::vector<Pattern::Match> Pattern::search_all(const std::string& text) const {
    std::vector<Match> matches;
    std::vector<regmatch_t> parts;
    for (std::size_t from = 0; find(text, from, parts); from = behind(parts[0])) {
        matches.push_back(words_of(text, parts));
    }
    return matches;
}

std::string Pattern::replace(const std::string& text, std::string_view with) const {
    std::string replaced;
    std::size_t kept = 0;
    std::vector<regmatch_t> parts;
    for (std::size_t from = 0; find(text, from, parts); from = behind(parts[0])) {
        replaced.append(text, kept, at(parts[0].rm_so) - kept).append(with);
        kept = at(parts[0].rm_eo);
    }
    return replaced.append(text, kept, std::string::npos);
}

}  // namespace pathproof
