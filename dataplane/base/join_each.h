// Lists in a sentence.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace pathproof {

// One part of each item, which a member or a function of it gives, with `between` in between. An
// item may be a pointer. (std::views would do, but clang 14, which builds the fuzz targets, cannot
// read those of libstdc++.)
template <typename Items, typename Part>
std::string join_each(const Items& items, Part part, std::string_view between = ", ") {
    std::string text;
    std::string_view before;
    for (const auto& item : items) {
        text.append(before).append(std::invoke(part, item));
        before = between;
    }
    return text;
}

}  // namespace pathproof
