#include "harness/netfilter/digits.h"

#include <array>
#include <cstring>

namespace pathproof::netfilter {
namespace {

constexpr auto kPairs = [] {
    std::array<char, 200> pairs{};
    for (std::size_t i = 0; i < 100; ++i) {
        pairs[2 * i] = static_cast<char>('0' + i / 10);
        pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
    }
    return pairs;
}();

char* put_pair(char* out, std::uint64_t number) {
    std::memcpy(out, &kPairs[2 * number], 2);
    return out + 2;
}

char* put_small(char* out, std::uint64_t number) {
    if (number >= 10) {
        return put_pair(out, number);
    }
    *out = static_cast<char>('0' + number);
    return out + 1;
}

char* put_octet(char* out, std::uint8_t octet) {
    if (octet < 100) {
        return put_small(out, octet);
    }
    *out = static_cast<char>('0' + octet / 100);
    return put_pair(out + 1, octet % 100);
}

char* put_ipv4(char* out, const std::uint8_t* bytes) {
    for (int i = 0; i < 3; ++i) {
        out = put_octet(out, bytes[i]);
        *out++ = '.';
    }
    return put_octet(out, bytes[3]);
}

char* put_hex(char* out, unsigned word) {
    constexpr char kDigits[] = "0123456789abcdef";
    int shift = word >= 0x1000 ? 12 : word >= 0x100 ? 8 : word >= 0x10 ? 4 : 0;
    for (; shift >= 0; shift -= 4) {
        *out++ = kDigits[word >> shift & 15];
    }
    return out;
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
        out = put_hex(out, words[i]);
        ++i;
    }
    return out;
}

}  // namespace

char* put_number(char* out, std::uint64_t number) {
    if (number < 100) {
        return put_small(out, number);
    }
    char digits[kLongestNumber];
    char* first = digits + sizeof digits;
    for (; number >= 100; number /= 100) {
        first -= 2;
        put_pair(first, number % 100);
    }
    if (number >= 10) {
        first -= 2;
        put_pair(first, number);
    } else {
        *--first = static_cast<char>('0' + number);
    }
    const std::size_t length = static_cast<std::size_t>(digits + sizeof digits - first);
    std::memcpy(out, first, length);
    return out + length;
}

char* put_ip(char* out, const frame::IpAddress& address) {
    return address.family == frame::Family::kIpv4 ? put_ipv4(out, address.bytes.data())
                                                  : put_ipv6(out, address.bytes.data());
}

}  // namespace pathproof::netfilter
