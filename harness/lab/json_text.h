// Texts in JSON that came from outside.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace pathproof::lab {

// Empty: there is no such key, or it holds no text.
inline std::string text_of(const nlohmann::json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace pathproof::lab
