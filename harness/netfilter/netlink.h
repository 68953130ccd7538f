// Walking netlink datagrams and attributes in C++, with libmnl underneath. For .cc files of this
// room.
#pragma once

#include <libmnl/libmnl.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace pathproof::netfilter {

// The messages of a datagram, as far as their lengths stay inside it. Not with mnl_nlmsg_ok: up to
// libmnl 1.0.4 it takes a length above INT_MAX for a negative one and so for short enough.
class MessageReader {
  public:
    explicit MessageReader(std::span<const std::byte> datagram) : rest_(datagram) {}

    // The next message, or null at the end.
    const nlmsghdr* next() {
        if (rest_.size() < sizeof(nlmsghdr)) {
            return nullptr;
        }
        const auto* message = reinterpret_cast<const nlmsghdr*>(rest_.data());
        if (message->nlmsg_len < sizeof(nlmsghdr) || message->nlmsg_len > rest_.size()) {
            return nullptr;
        }
        const std::size_t length = MNL_ALIGN(std::size_t{message->nlmsg_len});
        rest_ = rest_.subspan(std::min(length, rest_.size()));
        return message;
    }

  private:
    std::span<const std::byte> rest_;
};

// Gives each attribute inside `length` bytes from `first` to `visit(type, attribute)`; mnl_attr_ok
// keeps every step inside, and the walk stops at the first attribute that is not.
template <typename Visit>
void each_attribute(const void* first, std::size_t length, const Visit& visit) {
    int left = static_cast<int>(length);
    const auto* attribute = static_cast<const nlattr*>(first);
    while (mnl_attr_ok(attribute, left)) {
        visit(mnl_attr_get_type(attribute), *attribute);
        left -= static_cast<int>(MNL_ALIGN(attribute->nla_len));
        attribute = mnl_attr_next(attribute);
    }
}

template <typename Visit>
void each_nested(const nlattr& parent, const Visit& visit) {
    each_attribute(mnl_attr_get_payload(&parent), mnl_attr_get_payload_len(&parent), visit);
}

// Attributes of a message behind its header of `header_bytes`; none when the message is too short
// for it.
template <typename Visit>
void each_in_message(const nlmsghdr& message, std::size_t header_bytes, const Visit& visit) {
    const std::size_t header = MNL_NLMSG_HDRLEN + MNL_ALIGN(header_bytes);
    if (message.nlmsg_len > header) {
        each_attribute(mnl_nlmsg_get_payload_offset(&message, header_bytes),
                       message.nlmsg_len - header, visit);
    }
}

// An unsigned integer in network order, or nothing when the attribute is shorter. Kernels may
// append to attributes.
template <typename T>
std::optional<T> load_be(const nlattr& attribute) {
    if (mnl_attr_get_payload_len(&attribute) < sizeof(T)) {
        return std::nullopt;
    }
    T value;
    std::memcpy(&value, mnl_attr_get_payload(&attribute), sizeof value);
    if constexpr (sizeof(T) == 2) {
        return __builtin_bswap16(value);
    } else if constexpr (sizeof(T) == 4) {
        return __builtin_bswap32(value);
    } else if constexpr (sizeof(T) == 8) {
        return __builtin_bswap64(value);
    } else {
        static_assert(sizeof(T) == 1);
        return value;
    }
}

// A string that may or may not end in a zero byte.
inline std::string_view load_text(const nlattr& attribute) {
    const char* text = static_cast<const char*>(mnl_attr_get_payload(&attribute));
    return {text, strnlen(text, mnl_attr_get_payload_len(&attribute))};
}

}  // namespace pathproof::netfilter
