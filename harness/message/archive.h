// JSON messages between processes, both ways from one list of members (fields.h): a Writer puts
// them out and a Reader takes them in. Types that have to_json() and from_json() use those.
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
#include "harness/message/packed.h"

namespace pathproof::message {

using nlohmann::json;

inline constexpr std::chrono::milliseconds kLongestDuration = std::chrono::hours(1);

std::string to_hex(const std::vector<std::uint8_t>& bytes);
std::optional<std::vector<std::uint8_t>> from_hex(const std::string& text);

template <typename T>
concept HasJson = requires(json& out, const T& value) {
    to_json(out, value);
};

class Writer {
  public:
    template <typename T>
    static json write(const T& value) {
        if constexpr (std::is_enum_v<T>) {
            return static_cast<unsigned>(value);
        } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string> ||
                             (HasJson<T> && !Packed<T>)) {
            return value;
        } else if constexpr (Packed<T>) {
            return pack(value);
        } else {
            Writer writer;
            fields(writer, const_cast<T&>(value));  // a Writer only reads
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
        if constexpr (Packed<T>) {
            return pack(values);
        } else {
            return write_each(values);
        }
    }
    template <typename T, std::size_t N>
    static json write(const std::array<T, N>& values) {
        return write_each(values);
    }

    template <typename T>
    void operator()(const char* name, const T& value) {
        out_[name] = write(value);
    }

  private:
    Writer() : out_(json::object()) {}

    template <typename T>
    static json pack(const T& value) {
        Packer packer;
        packer.put(value);
        return to_hex(packer.bytes());
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

    json out_;
};

// Reports what does not fit as nlohmann/json's own exceptions; decode() catches them.
class Reader {
  public:
    template <typename T>
    static void read(const json& in, T& value) {
        if constexpr (std::is_enum_v<T>) {
            const auto number = in.get<std::size_t>();
            require(number < values_of(T{}), "a value that this enum does not have");
            value = static_cast<T>(number);
        } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
            require(in.is_number_integer(), "no whole number where one belongs");
            require(in.is_number_unsigned() ? std::in_range<T>(in.get<std::uint64_t>())
                                            : std::in_range<T>(in.get<std::int64_t>()),
                    "a number out of its range");
            in.get_to(value);
        } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string> ||
                             (HasJson<T> && !Packed<T>)) {
            in.get_to(value);
        } else if constexpr (Packed<T>) {
            unpack(in, value);
        } else {
            Reader reader(in);
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
        if constexpr (Packed<T>) {
            unpack(in, values);
            return;
        }
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
        read(in_.at(name), value);
    }

  private:
    explicit Reader(const json& in) : in_(in) {}

    template <typename T>
    static void unpack(const json& in, T& value) {
        const auto bytes = from_hex(in.get_ref<const std::string&>());
        require(bytes.has_value(), "no bytes in lower-case hexadecimal");
        Unpacker unpacker(*bytes);
        unpacker.take(value);
        unpacker.end();
    }

    template <typename T, typename Parse>
    static void parse(const json& in, T& value, Parse parser) {
        const auto parsed = parser(in.get_ref<const std::string&>());
        require(parsed.has_value(), "an address that is none");
        value = *parsed;
    }

    const json& in_;
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
