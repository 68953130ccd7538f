// Numbers in text.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace pathproof {

// The number that the text begins with, which is then taken off it; nothing where it begins with
// none, or with one beyond what a T holds. `form` is as std::from_chars() takes it: the base of a
// whole number, 10 where it is left out.
template <typename T, typename... Form>
std::optional<T> take_number(std::string_view& text, Form... form) {
    T number{};
    const char* const end = text.data() + text.size();
    const auto [stop, wrong] = std::from_chars(text.data(), end, number, form...);
    if (wrong != std::errc()) {
        return std::nullopt;
    }
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
    return number;
}

// The number that the whole of the text is.
template <typename T, typename... Form>
std::optional<T> whole_number(std::string_view text, Form... form) {
    const auto number = take_number<T>(text, form...);
    return text.empty() ? number : std::nullopt;
}

}  // namespace pathproof
