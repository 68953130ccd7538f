// Numbers and addresses as text, into a buffer that has room for them: what a dump of a million
// entries spends its time on.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>

#include "dataplane/frame/address.h"

namespace pathproof::netfilter {

// The most that put_number() and put_ip() write.
inline constexpr std::size_t kLongestNumber = 20;
inline constexpr std::size_t kLongestIp = 45;

// put_number() and put_ip() write at `out`, without a zero byte, and return the place behind.
inline char* put_number(char* out, std::uint64_t number) {
    return std::to_chars(out, out + kLongestNumber, number).ptr;
}
// Writes an address as inet_ntop(3) does.
char* put_ip(char* out, const frame::IpAddress& address);

inline void append_number(std::string& out, std::uint64_t number) {
    char text[kLongestNumber];
    out.append(text, put_number(text, number));
}

inline void append_ip(std::string& out, const frame::IpAddress& address) {
    char text[kLongestIp];
    out.append(text, put_ip(text, address));
}

}  // namespace pathproof::netfilter
