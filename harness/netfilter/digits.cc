#include "harness/netfilter/digits.h"

#include <array>
#include <charconv>

namespace pathproof::netfilter {
namespace {

char* put_ipv4(char* out, const std::uint8_t* bytes) {
    for (int i = 0; i < 3; ++i) {
        out = std::to_chars(out, out + 3, bytes[i]).ptr;
        *out++ = '.';
    }
    return std::to_chars(out, out + 3, bytes[3]).ptr;
}

// The longest run of zero words, of two at least; the first of equal ones (RFC 5952 section 4.2).
struct Run {
    std::size_t first = 8;
    std::size_t length = 0;
};
Run longest_zeros(const std::array<unsigned, 8>& words) {
    Run best;
    for (std::size_t i = 0; i < words.size();) {
        std::size_t end = i;
        while (end < words.size() && words[end] == 0) {
            ++end;
        }
        if (end - i >= 2 && end - i > best.length) {
            best = {i, end - i};
        }
        i = end + 1;
    }
    return best;
}

char* put_ipv6(char* out, const std::uint8_t* bytes) {
    std::array<unsigned, 8> words{};
    for (std::size_t i = 0; i < words.size(); ++i) {
        words[i] = static_cast<unsigned>(bytes[2 * i] << 8 | bytes[2 * i + 1]);
    }
    const Run zeros = longest_zeros(words);
    const bool holds_ipv4 =
        zeros.first == 0 && (zeros.length == 6 || (zeros.length == 5 && words[5] == 0xffff));
    for (std::size_t i = 0; i < words.size();) {
        if (i == zeros.first) {
            *out++ = ':';
            *out++ = ':';
            i += zeros.length;
            continue;
        }
        if (i != 0 && i != zeros.first + zeros.length) {
            *out++ = ':';
        }
        if (i == 6 && holds_ipv4) {
            return put_ipv4(out, bytes + 12);
        }
        out = std::to_chars(out, out + 4, words[i], 16).ptr;
        ++i;
    }
    return out;
}

}  // namespace

char* put_ip(char* out, const frame::IpAddress& address) {
    return address.family == frame::Family::kIpv4 ? put_ipv4(out, address.bytes.data())
                                                  : put_ipv6(out, address.bytes.data());
}

}  // namespace pathproof::netfilter
