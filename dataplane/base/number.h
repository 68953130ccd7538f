// Numbers in text.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace pathproof {

// The number that the whole of the text is; nothing where it is none, or beyond what a T holds.
// `form` is as std::from_chars() takes it: the base of a whole number, 10 where it is left out.
template <typename T, typename... Form>
std::optional<T> whole_number(std::string_view text, Form... form) {
    T number{};
    const char* const end = text.data() + text.size();
    const auto [stop, wrong] = std::from_chars(text.data(), end, number, form...);
    return wrong == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

}  // namespace pathproof
