// Plans and reports as JSON, both ways from one list of fields: fields(archive, value) names each
// field once, a Writer puts them out and a Reader takes them in. A field that is forgotten fails
// the round-trip tests.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "dataplane/frame/address.h"

namespace pathproof::tester {

using nlohmann::json;

// Types written as arrays without names, in the order of their fields: reports hold many of them.
template <typename T>
inline constexpr bool kCompact = false;

// The number of an enum's values; specialised for each enum that is sent.
template <typename E>
inline constexpr std::size_t kValues = 0;

std::string to_hex(const std::vector<std::uint8_t>& bytes);
std::optional<std::vector<std::uint8_t>> from_hex(const std::string& text);

class Writer {
  public:
    template <typename T>
    static json write(const T& value) {
        if constexpr (std::is_enum_v<T>) {
            return static_cast<unsigned>(value);
        } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
            return value;
        } else {
            Writer writer(kCompact<T>);
            fields(writer, const_cast<T&>(value));  // a Writer only reads
            return std::move(writer.out_);
        }
    }
    static json write(const std::chrono::nanoseconds& value) { return value.count(); }
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
        } else {
            out_[name] = write(value);
        }
    }

  private:
    explicit Writer(bool compact) : out_(compact ? json::array() : json::object()) {}

    template <typename Values>
    static json write_each(const Values& values) {
        json out = json::array();
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
            require(number < kValues<T>, "a value that this enum does not have");
            value = static_cast<T>(number);
        } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
            require(in.is_number_integer(), "no whole number where one belongs");
            require(in.is_number_unsigned() ? std::in_range<T>(in.get<std::uint64_t>())
                                            : std::in_range<T>(in.get<std::int64_t>()),
                    "a number out of its range");
            in.get_to(value);
        } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
            in.get_to(value);
        } else {
            Reader reader(in);
            fields(reader, value);
        }
    }
    static void read(const json& in, std::chrono::nanoseconds& value) {
        value = std::chrono::nanoseconds(in.get<std::int64_t>());
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
        require(bytes.has_value(), "bytes that are not hexadecimal");
        value = std::move(*bytes);
    }
    template <typename T>
    static void read(const json& in, std::optional<T>& value) {
        value.reset();
        if (!in.is_null()) {
            read(in, value.emplace());
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
        read(in_.is_array() ? in_.at(position_++) : in_.at(name), value);
    }

  private:
    explicit Reader(const json& in) : in_(in) {}

    static void require(bool fits, const char* otherwise);

    template <typename T, typename Parse>
    static void parse(const json& in, T& value, Parse parser) {
        const auto parsed = parser(in.get_ref<const std::string&>());
        require(parsed.has_value(), "an address that is none");
        value = *parsed;
    }

    const json& in_;
    std::size_t position_ = 0;
};

}  // namespace pathproof::tester
