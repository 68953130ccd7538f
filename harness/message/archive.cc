#include "harness/message/archive.h"

#include "harness/process/foreign.h"
#include "harness/process/json_text.h"

namespace pathproof::message {

void require(bool fits, const char* otherwise) {
    if (!fits) {
        throw json::other_error::create(501, otherwise, nullptr);
    }
}

std::string harmless_text(std::span<const std::uint8_t> bytes) {
    std::string text(bytes.begin(), bytes.end());
    const auto is_plain = [](char letter) { return letter >= ' ' && letter <= '~'; };
    if (std::ranges::all_of(text, is_plain)) {
        return text;
    }
    return process::without_controls(process::valid_utf8(text));
}

std::string to_hex(const std::vector<std::uint8_t>& bytes) {
    constexpr const char* kDigits = "0123456789abcdef";
    std::string text;
    text.reserve(2 * bytes.size());
    for (const std::uint8_t byte : bytes) {
        text += kDigits[byte >> 4];
        text += kDigits[byte & 15];
    }
    return text;
}

std::optional<std::vector<std::uint8_t>> from_hex(const std::string& text) {
    const auto digit = [](char letter) {
        if (letter >= '0' && letter <= '9') {
            return letter - '0';
        }
        return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
    };
    if (text.size() % 2 != 0) {
        return std::nullopt;
    }
    std::vector<std::uint8_t> bytes;
    bytes.reserve(text.size() / 2);
    for (std::size_t at = 0; at < text.size(); at += 2) {
        const int high = digit(text[at]);
        const int low = digit(text[at + 1]);
        if (high < 0 || low < 0) {
            return std::nullopt;
        }
        bytes.push_back(static_cast<std::uint8_t>(high << 4 | low));
    }
    return bytes;
}

}  // namespace pathproof::message
