// Checks of a text that many tests share.
#pragma once

#include <string>
#include <string_view>

namespace pathproof::test {

inline bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

}  // namespace pathproof::test
