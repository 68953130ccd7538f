// What processes tell each other as JSON, both ways from one list of fields: fields(archive, value)
// names each field once, a Writer puts them out and a Reader takes them in. A field that is
// forgotten fails the round-trip tests. Types that have to_json() and from_json() use those.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/frame/address.h"

namespace pathproof::message {

using nlohmann::json;

// Types written as arrays without names, in the order of their fields, whatever JSON they have for
// users: reports hold many of them. Zeros and what is empty at the end are left out, but for the
// first field.
template <typename T>
inline constexpr bool kCompact = false;

// The number of an enum's values; specialised for each enum that is sent.
template <typename E>
inline constexpr std::size_t kValues = 0;

// Of the bytes of one frame, or another field of bytes.
inline constexpr std::size_t kMostBytes = 128 * 1024;
inline constexpr std::chrono::milliseconds kLongestDuration = std::chrono::hours(1);

std::string to_hex(const std::vector<std::uint8_t>& bytes);
std::optional<std::vector<std::uint8_t>> from_hex(const std::string& text);

template <typename T>
concept HasJson = requires(json& out, const T& value) {
    to_json(out, value);
};

// What an array may end without.
template <typename T>
concept MayBeEmpty = std::is_arithmetic_v<T> || std::is_enum_v<T> || requires(const T& value) {
    value.empty();
} || requires(const T& value) {
    value.has_value();
};

template <typename T>
bool is_empty(const T& value) {
    if constexpr (requires { value.has_value(); }) {
        return !value.has_value();
    } else if constexpr (requires { value.empty(); }) {
        return value.empty();
    } else if constexpr (MayBeEmpty<T>) {
        return value == T();
    } else {
        return false;
    }
}

class Writer {
  public:
    template <typename T>
    static json write(const T& value) {
        if constexpr (std::is_enum_v<T>) {
            return static_cast<unsigned>(value);
        } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string> ||
                             (HasJson<T> && !kCompact<T>)) {
            return value;
        } else {
            Writer writer(kCompact<T>);
            fields(writer, const_cast<T&>(value));  // a Writer only reads
            if constexpr (kCompact<T>) {
                auto& all = writer.out_.template get_ref<json::array_t&>();
                all.erase(all.begin() + static_cast<std::ptrdiff_t>(writer.needed_), all.end());
            }
            return std::move(writer.out_);
        }
    }
    static json write(const std::chrono::nanoseconds& value) { return value.count(); }
    static json write(const std::chrono::milliseconds& value) { return value.count(); }
    static json write(const json& value) { return value; }
    static json write(const std::map<std::string, std::uint64_t>& value) { return value; }
    template <typename A, typename B>
    static json write(const std::pair<A, B>& value) {
        return json::array({write(value.first), write(value.second)});
    }
    static json write(const frame::MacAddress& value) { return to_string(value); }
    static json write(const frame::IpAddress& value) { return to_string(value); }
    static json write(const frame::Endpoint& value) { return to_string(value); }
    static json write(const std::vector<std::uint8_t>& value) { return to_hex(value); }
    template <typename T>
    static json write(const std::optional<T>& value) {
        return value ? write(*value) : json();
    }
    template <typename T>
    static json write(const std::vector<T>& values) {
        return write_each(values);
    }
    template <typename T, std::size_t N>
    static json write(const std::array<T, N>& values) {
        return write_each(values);
    }

    template <typename T>
    void operator()(const char* name, const T& value) {
        if (out_.is_array()) {
            out_.push_back(write(value));
            needed_ = is_empty(value) && needed_ != 0 ? needed_ : out_.size();
        } else {
            out_[name] = write(value);
        }
    }

  private:
    explicit Writer(bool compact) : out_(compact ? json::array() : json::object()) {
        if (compact) {
            out_.get_ref<json::array_t&>().reserve(kMostFields);
        }
    }

    template <typename Values>
    static json write_each(const Values& values) {
        json out = json::array();
        out.get_ref<json::array_t&>().reserve(values.size());
        for (const auto& value : values) {
            out.push_back(write(value));
        }
        return out;
    }

    static constexpr std::size_t kMostFields = 24;  // of a compact type, to set memory aside

    json out_;
    std::size_t needed_ = 0;  // of an array, up to the last that says something
};

// Reports what does not fit as nlohmann/json's own exceptions; decode() catches them.
class Reader {
  public:
    template <typename T>
    static void read(const json& in, T& value) {
        if constexpr (std::is_enum_v<T>) {
            const auto number = in.get<std::size_t>();
            require(number < kValues<T>, "a value that this enum does not have");
            value = static_cast<T>(number);
        } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
            require(in.is_number_integer(), "no whole number where one belongs");
            require(in.is_number_unsigned() ? std::in_range<T>(in.get<std::uint64_t>())
                                            : std::in_range<T>(in.get<std::int64_t>()),
                    "a number out of its range");
            in.get_to(value);
        } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string> ||
                             (HasJson<T> && !kCompact<T>)) {
            in.get_to(value);
        } else {
            Reader reader(in, kCompact<T>);
            fields(reader, value);
        }
    }
    static void read(const json& in, std::chrono::nanoseconds& value) {
        value = std::chrono::nanoseconds(in.get<std::int64_t>());
    }
    // Negative or longer ones are mistakes of the caller.
    static void read(const json& in, std::chrono::milliseconds& value) {
        const auto count = in.get<std::int64_t>();
        require(count >= 0 && count <= kLongestDuration.count(), "a duration of 0 to one hour");
        value = std::chrono::milliseconds(count);
    }
    static void read(const json& in, json& value) { value = in; }
    static void read(const json& in, std::map<std::string, std::uint64_t>& value) {
        in.get_to(value);
    }
    template <typename A, typename B>
    static void read(const json& in, std::pair<A, B>& value) {
        require(in.is_array() && in.size() == 2, "no pair where one belongs");
        read(in[0], value.first);
        read(in[1], value.second);
    }
    static void read(const json& in, frame::MacAddress& value) {
        parse(in, value, frame::parse_mac);
    }
    static void read(const json& in, frame::IpAddress& value) { parse(in, value, frame::parse_ip); }
    static void read(const json& in, frame::Endpoint& value) {
        parse(in, value, frame::parse_endpoint);
    }
    static void read(const json& in, std::vector<std::uint8_t>& value) {
        auto bytes = from_hex(in.get_ref<const std::string&>());
        require(bytes && bytes->size() <= kMostBytes, "no bytes in lower-case hexadecimal");
        value = std::move(*bytes);
    }
    template <typename T>
    static void read(const json& in, std::optional<T>& value) {
        value.reset();
        if (!in.is_null()) {
            read(in, value.emplace(T()));
        }
    }
    template <typename T>
    static void read(const json& in, std::vector<T>& values) {
        require(in.is_array(), "no list where one belongs");
        values.assign(in.size(), T());
        for (std::size_t index = 0; index < values.size(); ++index) {
            read(in[index], values[index]);
        }
    }
    template <typename T, std::size_t N>
    static void read(const json& in, std::array<T, N>& values) {
        require(in.is_array() && in.size() == N, "a list of another length");
        for (std::size_t index = 0; index < N; ++index) {
            read(in[index], values[index]);
        }
    }

    template <typename T>
    void operator()(const char* name, T& value) {
        if constexpr (MayBeEmpty<T>) {
            if (compact_ && position_ >= in_.size() && position_ != 0) {
                value = T();
                return;
            }
        }
        read(in_.is_array() ? in_.at(position_++) : in_.at(name), value);
    }

  private:
    Reader(const json& in, bool compact) : in_(in), compact_(compact && in.is_array()) {}

    static void require(bool fits, const char* otherwise);

    template <typename T, typename Parse>
    static void parse(const json& in, T& value, Parse parser) {
        const auto parsed = parser(in.get_ref<const std::string&>());
        require(parsed.has_value(), "an address that is none");
        value = *parsed;
    }

    const json& in_;
    const bool compact_;
    std::size_t position_ = 0;
};

// A value may have check(value), a Status: what else a request of it must not hold.
template <typename T>
concept HasCheck = requires(const T& value) {
    check(value);
};

template <typename T>
json encode(const T& value) {
    return Writer::write(value);
}

// kBadInput with what does not fit.
template <typename T>
Result<T> decode(const json& in) {
    T value{};
    try {
        Reader::read(in, value);
    } catch (const json::exception& wrong) {
        return fail(ErrorCode::kBadInput, "{}", wrong.what());
    }
    if constexpr (HasCheck<T>) {
        TRY(check(value));
    }
    return value;
}

}  // namespace pathproof::message
