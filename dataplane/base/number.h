// Numbers in text.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace pathproof {

// The number that the whole of the text is; nothing where it is none, or beyond what a T holds.
template <typename T>
std::optional<T> whole_number(std::string_view text, int base = 10) {
    T number{};
    const char* const end = text.data() + text.size();
    const auto [stop, wrong] = std::from_chars(text.data(), end, number, base);
    return wrong == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

}  // namespace pathproof
