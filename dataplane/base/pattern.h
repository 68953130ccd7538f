// POSIX extended regular expressions, as regex(7) has them and with the C library's \b, \w and \s; ^ and $ are the ends
// of a line. <regex> would take a compiler seconds in each unit, and the search many times as long.
#pragma once

#include <regex.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pathproof {

class Pattern {
  public:
    // Compiles an expression of the program's own: if it is none, the program ends.
    explicit Pattern(const std::string& expression);
    Pattern(const Pattern&) = delete;
    Pattern& operator=(const Pattern&) = delete;
    ~Pattern() { regfree(&compiled_); }

    // The whole of a match and its groups; a group that took no part is empty.
    using Match = std::vector<std::string>;
    // The first one from the left; of those that begin there the longest.
    std::optional<Match> search(const std::string& text) const;
    // All from left to right, without overlap.
    std::vector<Match> search_all(const std::string& text) const;
    // `with` in the place of each.
    std::string replace(const std::string& text, std::string_view with) const;

  private:
    bool find(const std::string& text, std::size_t from, std::vector<regmatch_t>& parts) const;

    regex_t compiled_{};
};

}  // namespace pathproof
