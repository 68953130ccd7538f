// A measured value.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace pathproof::verdict {

// A measured value: nothing (it was not measured), the outcome of a probe, a count, a number or
// words.
class Value {
  public:
    using Kinds =
        std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string>;

    Value() = default;
    Value(std::nullptr_t) {}
    Value(bool outcome) : held_(outcome) {}
    template <std::integral Number>
    requires(!std::same_as<Number, bool>) Value(Number count) {
        if constexpr (std::is_signed_v<Number>) {
            held_ = static_cast<std::int64_t>(count);
        } else {
            held_ = static_cast<std::uint64_t>(count);
        }
    }
    Value(double number) : held_(number) {}
    Value(std::string words) : held_(std::move(words)) {}
    Value(const char* words) : held_(std::string(words)) {}

    bool is_null() const { return std::holds_alternative<std::monostate>(held_); }
    bool is_boolean() const { return std::holds_alternative<bool>(held_); }
    bool is_string() const { return std::holds_alternative<std::string>(held_); }
    bool is_number() const { return !is_null() && !is_boolean() && !is_string(); }
    bool is_zero() const { return is_number() && number() == 0; }

    // Returns the outcome if is_boolean(), else false.
    bool outcome() const { return is_boolean() && std::get<bool>(held_); }
    // Returns the value if is_number(), else 0: as a number, and as a count (cut off).
    double number() const { return as<double>(); }
    std::uint64_t count() const { return as<std::uint64_t>(); }
    // Returns the value as scripts read it: "null", "true", "12", "0.5", or the words.
    std::string text() const;

    const Kinds& kinds() const { return held_; }
    bool operator==(const Value&) const = default;

  private:
    template <typename Number>
    Number as() const {
        return std::visit(
            [](const auto& held) {
                using Held = std::decay_t<decltype(held)>;
                if constexpr (std::is_arithmetic_v<Held> && !std::same_as<Held, bool>) {
                    return static_cast<Number>(held);
                } else {
                    return Number{};
                }
            },
            held_);
    }

    Kinds held_;
};

}  // namespace pathproof::verdict
