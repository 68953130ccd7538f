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

// Inline, where libmnl has calls into a shared library: an entry has about forty attributes, a dump
// a million entries.
inline std::uint16_t attribute_type(const nlattr& attribute) {
    return attribute.nla_type & NLA_TYPE_MASK;
}
inline const std::byte* payload(const nlattr& attribute) {
    return reinterpret_cast<const std::byte*>(&attribute) + NLA_HDRLEN;
}
inline std::size_t payload_bytes(const nlattr& attribute) {
    return attribute.nla_len - std::size_t{NLA_HDRLEN};
}

// Gives each attribute inside `length` bytes from `first` to `visit(type, attribute)`; the walk
// stops at the first attribute that does not lie inside.
template <typename Visit>
void each_attribute(const void* first, std::size_t length, const Visit& visit) {
    const auto* at = static_cast<const std::byte*>(first);
    while (length >= NLA_HDRLEN) {
        const auto& attribute = *reinterpret_cast<const nlattr*>(at);
        if (attribute.nla_len < NLA_HDRLEN || attribute.nla_len > length) {
            return;
        }
        visit(attribute_type(attribute), attribute);
        const std::size_t step = NLA_ALIGN(std::size_t{attribute.nla_len});
        if (step >= length) {
            return;
        }
        length -= step;
        at += step;
    }
}

template <typename Visit>
void each_nested(const nlattr& parent, const Visit& visit) {
    each_attribute(payload(parent), payload_bytes(parent), visit);
}

// Attributes of a message behind its header of `header_bytes`; none when the message is too short
// for it.
template <typename Visit>
void each_in_message(const nlmsghdr& message, std::size_t header_bytes, const Visit& visit) {
    const std::size_t header = MNL_NLMSG_HDRLEN + MNL_ALIGN(header_bytes);
    if (message.nlmsg_len > header) {
        each_attribute(reinterpret_cast<const std::byte*>(&message) + header,
                       message.nlmsg_len - header, visit);
    }
}

// An unsigned integer in network order, or nothing when the attribute is shorter. Kernels may
// append to attributes.
template <typename T>
std::optional<T> load_be(const nlattr& attribute) {
    if (payload_bytes(attribute) < sizeof(T)) {
        return std::nullopt;
    }
    T value;
    std::memcpy(&value, payload(attribute), sizeof value);
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
    const char* text = reinterpret_cast<const char*>(payload(attribute));
    return {text, strnlen(text, payload_bytes(attribute))};
}

}  // namespace pathproof::netfilter
