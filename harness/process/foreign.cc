#include "harness/process/foreign.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

namespace pathproof::process {
namespace {

using nlohmann::json;

constexpr std::size_t kMostWords = 2000;
constexpr int kDeepest = 64;

// Texts may be long: what is in quotes is passed over as a whole where no backslash is in it.
bool is_deep(std::string_view text) {
    int depth = 0;
    std::size_t backslash = text.find('\\');
    for (std::size_t at = 0; at < text.size() && depth <= kDeepest; ++at) {
        const char letter = text[at];
        if (letter != '"') {
            depth += letter == '[' || letter == '{' ? 1 : letter == ']' || letter == '}' ? -1 : 0;
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

void clean(std::string& text) {
    for (std::size_t at = 0; at < text.size(); ++at) {
        const auto byte = static_cast<unsigned char>(text[at]);
        const bool second = byte >= 0x80 && byte < 0xa0 && at > 0 && text[at - 1] == '\xc2';
        if (second || byte == 0x7f || (byte < ' ' && byte != '\n' && byte != '\t')) {
            text[at - (second ? 1 : 0)] = '?';
            text[at] = '?';
        }
    }
}

void clean(json& value) {
    if (value.is_string()) {
        clean(value.get_ref<std::string&>());
    } else if (value.is_structured()) {
        for (auto part = value.begin(); part != value.end();) {
            clean(*part);
            const bool is_named_well =
                !value.is_object() || without_controls(part.key()) == part.key();
            part = is_named_well ? std::next(part) : value.erase(part);
        }
    }
}

}  // namespace

std::string without_controls(std::string text) {
    clean(text);
    return text;
}

json parse_foreign(std::string_view text) {
    json value = is_deep(text) ? json() : json::parse(text, nullptr, false);
    if (value.is_discarded()) {
        return {};
    }
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

std::string last_words(std::string_view said) {
    std::string words(said.substr(said.size() - std::min(said.size(), kMostWords)));
    std::erase(words, '\r');  // of ssh's line ends
    words = without_controls(std::move(words));
    words.erase(words.find_last_not_of(" \n") + 1);
    words.erase(0, words.find_first_not_of(" \n"));
    return words.empty() ? "nothing" : words;
}

}  // namespace pathproof::process
