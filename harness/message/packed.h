// Values as bytes, both ways from the list of members that archive.h makes JSON of (fields.h): for types of which a process tells
// another thousands. Whole numbers take seven bits a byte, the least first; signed ones alternate, 0, -1, 1, -2, ...
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "dataplane/frame/address.h"
#include "harness/message/fields.h"

namespace pathproof::message {

template <typename T>
concept Packed = requires(const T& value) {
    is_packed(value);
};

// Longest field of bytes, such as those of one frame.
inline constexpr std::size_t kMostBytes = 128 * 1024;

// Reports what does not fit as one of nlohmann/json's own exceptions; decode() catches them.
void require(bool fits, const char* otherwise);

// Cleans a text as process::parse_foreign() does the texts of JSON: no control characters, and
// valid UTF-8.
std::string harmless_text(std::span<const std::uint8_t> bytes);

class Packer {
  public:
    template <typename T>
    void operator()(const char* /*name*/, const T& value) {
        put(value);
    }

    template <typename T>
    void put(const T& value) {
        if constexpr (std::is_enum_v<T>) {
            put_number(static_cast<std::uint64_t>(value));
        } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
            const auto wide = static_cast<std::int64_t>(value);
            put_number(static_cast<std::uint64_t>(wide) << 1 ^
                       static_cast<std::uint64_t>(wide >> 63));
        } else if constexpr (std::is_integral_v<T>) {
            put_number(value);
        } else if constexpr (std::is_same_v<T, double>) {
            put_bytes(std::bit_cast<std::array<std::uint8_t, sizeof value>>(value));
        } else {
            fields(*this, const_cast<T&>(value));  // a Packer only reads
        }
    }
    void put(const std::string& text) {
        put_number(text.size());
        bytes_.insert(bytes_.end(), text.begin(), text.end());
    }
    void put(const std::vector<std::uint8_t>& bytes) {
        put_number(bytes.size());
        put_bytes(bytes);
    }
    void put(const std::chrono::nanoseconds& time) { put(time.count()); }
    void put(const frame::MacAddress& address) { put_bytes(address.bytes); }
    void put(const frame::IpAddress& address) {
        bytes_.push_back(static_cast<std::uint8_t>(address.family));
        put_bytes(std::span(address.bytes).first(address.size()));
    }
    void put(const frame::Endpoint& endpoint) {
        put(endpoint.address);
        put(endpoint.port);
    }
    template <typename T>
    void put(const std::optional<T>& value) {
        put(value.has_value());
        if (value) {
            put(*value);
        }
    }
    template <typename T>
    void put(const std::vector<T>& values) {
        put_number(values.size());
        for (const T& value : values) {
            put(value);
        }
    }
    template <typename T, std::size_t N>
    void put(const std::array<T, N>& values) {
        for (const T& value : values) {
            put(value);
        }
    }

    const std::vector<std::uint8_t>& bytes() const { return bytes_; }

  private:
    void put_number(std::uint64_t number) {
        for (; number >= 0x80; number >>= 7) {
            bytes_.push_back(static_cast<std::uint8_t>(number | 0x80));
        }
        bytes_.push_back(static_cast<std::uint8_t>(number));
    }
    void put_bytes(std::span<const std::uint8_t> bytes) {
        bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    }

    std::vector<std::uint8_t> bytes_;
};

class Unpacker {
  public:
    explicit Unpacker(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

    template <typename T>
    void operator()(const char* /*name*/, T& value) {
        take(value);
    }

    template <typename T>
    void take(T& value) {
        if constexpr (std::is_enum_v<T>) {
            const std::uint64_t number = take_number();
            require(number < values_of(T{}), "a value that this enum does not have");
            value = static_cast<T>(number);
        } else if constexpr (std::is_integral_v<T>) {
            const std::uint64_t number = take_number();
            if constexpr (std::is_signed_v<T>) {
                set(value, static_cast<std::int64_t>(number >> 1 ^ (0 - (number & 1))));
            } else if constexpr (std::is_same_v<T, bool>) {
                require(number <= 1, "neither true nor false");
                value = number == 1;
            } else {
                set(value, number);
            }
        } else if constexpr (std::is_same_v<T, double>) {
            std::array<std::uint8_t, sizeof value> bytes{};
            take_bytes(bytes);
            value = std::bit_cast<double>(bytes);
        } else {
            fields(*this, value);
        }
    }
    void take(std::string& text) { text = harmless_text(next(take_number())); }
    void take(std::vector<std::uint8_t>& value) {
        const std::uint64_t count = take_number();
        require(count <= kMostBytes, "more bytes than a frame has");
        const auto bytes = next(count);
        value.assign(bytes.begin(), bytes.end());
    }
    void take(std::chrono::nanoseconds& time) {
        std::int64_t count = 0;
        take(count);
        time = std::chrono::nanoseconds(count);
    }
    void take(frame::MacAddress& address) { take_bytes(address.bytes); }
    void take(frame::IpAddress& address) {
        const std::uint8_t family = next(1).front();
        require(family == 4 || family == 6, "an address that is none");
        address = {.family = static_cast<frame::Family>(family), .bytes = {}};
        take_bytes(std::span(address.bytes).first(address.size()));
    }
    void take(frame::Endpoint& endpoint) {
        take(endpoint.address);
        take(endpoint.port);
    }
    template <typename T>
    void take(std::optional<T>& value) {
        bool has = false;
        take(has);
        value.reset();
        if (has) {
            take(value.emplace(T()));
        }
    }
    template <typename T>
    void take(std::vector<T>& values) {
        const std::uint64_t count = take_number();
        // Memory is set aside for what may be there, not for what is said to be.
        constexpr std::size_t kFewBytes = 16;
        values.clear();
        values.reserve(std::min<std::uint64_t>(count, bytes_.size() / kFewBytes));
        for (std::uint64_t index = 0; index < count; ++index) {
            take(values.emplace_back());
        }
    }
    template <typename T, std::size_t N>
    void take(std::array<T, N>& values) {
        for (T& value : values) {
            take(value);
        }
    }

    void end() const { require(bytes_.empty(), "bytes behind the last value"); }

  private:
    template <typename T, typename Wide>
    static void set(T& value, Wide number) {
        require(std::in_range<T>(number), "a number out of its range");
        value = static_cast<T>(number);
    }
    std::span<const std::uint8_t> next(std::uint64_t count) {
        require(count <= bytes_.size(), "a value that ends too early");
        const auto taken = bytes_.first(count);
        bytes_ = bytes_.subspan(count);
        return taken;
    }
    void take_bytes(std::span<std::uint8_t> to) {
        const auto bytes = next(to.size());
        std::copy(bytes.begin(), bytes.end(), to.begin());
    }
    std::uint64_t take_number() {
        std::uint64_t number = 0;
        for (unsigned shift = 0;; shift += 7) {
            const std::uint8_t byte = next(1).front();
            const std::uint64_t bits = byte & 0x7f;
            require(shift < 64 && bits << shift >> shift == bits, "a number of more than 64 bits");
            number |= bits << shift;
            if (byte < 0x80) {
                return number;
            }
        }
    }

    std::span<const std::uint8_t> bytes_;
};

}  // namespace pathproof::message
