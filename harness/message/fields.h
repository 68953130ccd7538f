// The list of members of a type that crosses between processes, from which archive.h makes JSON and packed.h makes bytes,
// both ways. It stands beside the type.
#pragma once

#include <boost/preprocessor/seq/for_each.hpp>
#include <boost/preprocessor/stringize.hpp>
#include <boost/preprocessor/variadic/to_seq.hpp>
#include <cstddef>

// In the namespace of an enum that is sent: how many values it has.
#define ENUM_VALUES(Enum, count)            \
    constexpr std::size_t values_of(Enum) { \
        return count;                       \
    }

// In the namespace of a type: those of its members that cross, under their own names. What is forgotten fails the round-trip
// tests.
#define FIELDS(Type, ...)                                                                    \
    template <typename Archive>                                                              \
    void fields(Archive& archive, Type& value) {                                             \
        BOOST_PP_SEQ_FOR_EACH(PATHPROOF_FIELD, value, BOOST_PP_VARIADIC_TO_SEQ(__VA_ARGS__)) \
    }
#define PATHPROOF_FIELD(repetition, value, member) \
    archive(BOOST_PP_STRINGIZE(member), value.member);
// Lists the members of a type of which answers hold thousands: it crosses as bytes, whatever JSON it has
// for users.
#define PACKED_FIELDS(Type, ...)            \
    FIELDS(Type, __VA_ARGS__)               \
    constexpr bool is_packed(const Type&) { \
        return true;                        \
    }
