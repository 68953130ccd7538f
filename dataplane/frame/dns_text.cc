// Names as people write them; nothing here is called per packet.
#include <array>

#include "dataplane/frame/dns.h"

namespace pathproof::frame {
namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// The byte at text[at], an escape resolved; `at` moves behind it. Nothing for a broken escape.
std::optional<std::uint8_t> read_byte(std::string_view text, std::size_t& at) {
    if (text[at] != '\\') {
        return static_cast<std::uint8_t>(text[at++]);
    }
    ++at;
    if (at == text.size()) {
        return std::nullopt;
    }
    if (!is_digit(text[at])) {
        return static_cast<std::uint8_t>(text[at++]);
    }
    if (text.size() - at < 3 || !is_digit(text[at + 1]) || !is_digit(text[at + 2])) {
        return std::nullopt;
    }
    const int value = (text[at] - '0') * 100 + (text[at + 1] - '0') * 10 + (text[at + 2] - '0');
    at += 3;
    return value < 256 ? std::optional(static_cast<std::uint8_t>(value)) : std::nullopt;
}

bool is_plain(std::uint8_t byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '-' || byte == '_';
}

}  // namespace

Result<DnsName> DnsName::from_text(std::string_view text) {
    DnsName name;
    std::array<std::uint8_t, kMostLabel> label{};
    std::size_t length = 0;
    for (std::size_t at = 0; text != "." && at < text.size();) {
        if (text[at] == '.') {
            if (!name.append_label({label.data(), length})) {
                return fail(ErrorCode::kBadInput,
                            "'{}' is no DNS name: an empty label, or over 255 bytes", text);
            }
            length = 0;
            ++at;
            continue;
        }
        const std::optional<std::uint8_t> byte = read_byte(text, at);
        if (!byte) {
            return fail(ErrorCode::kBadInput,
                        "'{}' is no DNS name: write an escape as \\DDD or \\X", text);
        }
        if (length == label.size()) {
            return fail(ErrorCode::kBadInput, "'{}' is no DNS name: a label is over 63 bytes",
                        text);
        }
        label[length++] = *byte;
    }
    if (length > 0 && !name.append_label({label.data(), length})) {
        return fail(ErrorCode::kBadInput, "'{}' is no DNS name: over 255 bytes", text);
    }
    return name;
}

std::string DnsName::to_text() const {
    std::string text;
    for (std::size_t at = 0; bytes_[at] != 0; at += bytes_[at] + 1u) {
        text += at == 0 ? "" : ".";
        for (std::size_t i = at + 1; i <= at + bytes_[at]; ++i) {
            text += is_plain(bytes_[i]) ? std::string(1, static_cast<char>(bytes_[i]))
                                        : fmt::format("\\{:03}", bytes_[i]);
        }
    }
    return text.empty() ? "." : text;
}

Result<DnsName> sequence_name(std::uint32_t sequence, std::string_view suffix) {
    return DnsName::from_text(suffix.empty() || suffix == "."
                                  ? fmt::format("q{:08x}", sequence)
                                  : fmt::format("q{:08x}.{}", sequence, suffix));
}

}  // namespace pathproof::frame
