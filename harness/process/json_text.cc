#include "harness/process/json_text.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/process/foreign.h"

namespace pathproof::process {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr int kDeepest = 64;

int depth_step(char letter) {
    switch (letter) {
        case '[':
        case '{': return 1;
        case ']':
        case '}': return -1;
        default: return 0;
    }
}

// Texts may be long: what is in quotes is passed over as a whole where no backslash is in it.
bool is_deep(std::string_view text) {
    int depth = 0;
    std::size_t backslash = text.find('\\');
    for (std::size_t at = 0; at < text.size() && depth <= kDeepest; ++at) {
        const char letter = text[at];
        if (letter != '"') {
            depth += depth_step(letter);
            continue;
        }
        std::size_t end = text.find('"', at + 1);
        backslash = backslash < at ? text.find('\\', at) : backslash;
        while (backslash < end) {
            const std::size_t behind = backslash + 2;
            end = end < behind ? text.find('"', behind) : end;
            backslash = text.find('\\', behind);
        }
        if (end == text.npos) {
            break;
        }
        at = end;
    }
    return depth > kDeepest;
}

void clean(json& value) {
    if (value.is_string()) {
        std::string& text = value.get_ref<std::string&>();
        text = without_controls(std::move(text));
    } else if (value.is_structured()) {
        for (auto part = value.begin(); part != value.end();) {
            clean(*part);
            const bool is_named_well =
                !value.is_object() || without_controls(part.key()) == part.key();
            part = is_named_well ? std::next(part) : value.erase(part);
        }
    }
}

template <typename Json>
Json parsed_or_null(std::string_view text) {
    Json value = Json::parse(text, nullptr, false);
    return value.is_discarded() ? Json() : value;
}

}  // namespace

std::string to_text(const json& value, int indent) {
    return value.dump(indent, ' ', false, json::error_handler_t::replace);
}

std::string to_text(const ordered_json& value, int indent) {
    return value.dump(indent, ' ', false, ordered_json::error_handler_t::replace);
}

std::string valid_utf8(std::string text) {
    const bool plain = std::ranges::all_of(text, [](unsigned char byte) { return byte < 0x80; });
    return plain ? text : json::parse(to_text(json(text))).get<std::string>();
}

Result<json> parse_json(std::string_view text) {
    try {
        return json::parse(text);
    } catch (const json::exception& wrong) {  // a number that no double holds is no parse_error
        return fail(ErrorCode::kBadInput, "{}", wrong.what());
    }
}

json json_or_null(std::string_view text) {
    return parsed_or_null<json>(text);
}

ordered_json ordered_json_or_null(std::string_view text) {
    return parsed_or_null<ordered_json>(text);
}

json parse_foreign(std::string_view text) {
    json value = is_deep(text) ? json() : json_or_null(text);
    // JSON escapes C0; C1 and DEL it does not.
    if (text.find('\\') != text.npos || text.find('\x7f') != text.npos ||
        text.find('\xc2') != text.npos) {
        clean(value);
    }
    return value;
}

const json& part(const json& whole, const char* key) {
    static const json kNone;
    const auto found = whole.find(key);
    return found == whole.end() ? kNone : *found;
}

std::string text_of(const json& value) {
    return value.is_string() ? value.get<std::string>() : std::string();
}

std::uint64_t number_of(const json& value) {
    return value.is_number_unsigned() ? value.get<std::uint64_t>() : 0;
}

std::string text_in(const json& whole, const char* key, const char* otherwise) {
    const json& value = part(whole, key);
    return value.is_string() ? value.get<std::string>() : otherwise;
}

}  // namespace pathproof::process
