#include "harness/fingerprint/serials.h"

#include <fmt/ranges.h>

namespace pathproof::fingerprint {
namespace {

using Bytes = std::span<const std::uint8_t>;

// Two letters, a length and that many bytes, one behind the other.
std::string keyword(Bytes fields, char first, char second) {
    constexpr std::size_t kHead = 3;
    while (fields.size() >= kHead && fields.size() - kHead >= fields[2]) {
        if (fields[0] == first && fields[1] == second) {
            return printable_text(fields.subspan(kHead, fields[2]));
        }
        fields = fields.subspan(kHead + fields[2]);
    }
    return "";
}

std::uint32_t word_at(Bytes bytes, std::size_t at) {
    return bytes[at] | bytes[at + 1] << 8 | bytes[at + 2] << 16 |
           static_cast<std::uint32_t>(bytes[at + 3]) << 24;
}

}  // namespace

std::string printable_text(Bytes bytes) {
    std::string text;
    for (const std::uint8_t byte : bytes) {
        text += byte >= 0x20 && byte < 0x7f ? static_cast<char>(byte) : ' ';
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
}

namespace {

constexpr std::uint8_t kVpdName = 0x82;      // large resources: the product's name
constexpr std::uint8_t kVpdReadOnly = 0x90;  // and the read-only fields

// The data of the first large resource with that tag; empty: there is none, or this is no such data.
Bytes vpd_resource(Bytes vpd, std::uint8_t tag) {
    constexpr std::uint8_t kLarge = 0x80;
    constexpr std::size_t kHead = 3;
    // A small resource (its end tag) comes last.
    while (vpd.size() >= kHead && (vpd[0] & kLarge) != 0) {
        const std::size_t length = vpd[1] | std::size_t{vpd[2]} << 8;
        if (length > vpd.size() - kHead) {
            return {};
        }
        if (vpd[0] == tag) {
            return vpd.subspan(kHead, length);
        }
        vpd = vpd.subspan(kHead + length);
    }
    return {};
}

}  // namespace

std::string vpd_field(Bytes vpd, char first, char second) {
    return keyword(vpd_resource(vpd, kVpdReadOnly), first, second);
}

std::string vpd_name(Bytes vpd) {
    return printable_text(vpd_resource(vpd, kVpdName));
}

std::string vpd_serial(Bytes vpd) {
    return vpd_field(vpd, 'S', 'N');
}

std::string device_serial_number(Bytes config) {
    constexpr std::size_t kFirst = 0x100;
    constexpr std::size_t kHead = 4;
    constexpr std::size_t kBytes = 12;
    constexpr std::uint32_t kSerialNumber = 3;
    constexpr int kMost = 960 / 2;  // of capabilities in the extended space; a circle ends there
    std::size_t at = kFirst;
    for (int seen = 0; seen < kMost && at >= kFirst && at + kBytes <= config.size(); ++seen) {
        const std::uint32_t head = word_at(config, at);
        if ((head & 0xffff) == kSerialNumber) {
            const Bytes number = config.subspan(at + kHead, kBytes - kHead);
            return fmt::format("{:02x}", fmt::join(number.rbegin(), number.rend(), "-"));
        }
        at = head >> 20 & 0xffc;
    }
    return "";
}

}  // namespace pathproof::fingerprint
