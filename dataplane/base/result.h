// The result of anything that can fail: a value, or an error with a code and a sentence for the
// user. Libraries return these; only the command line prints them. No exception of ours crosses a
// room.
#pragma once

#include <fmt/format.h>

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace pathproof {

// Kind of a failure. The command line turns it into an exit code.
enum class ErrorCode {
    kBadInput,      // an option, file or name is wrong: nothing was changed
    kNotPermitted,  // root or a capability is missing: nothing was changed
    kNotSupported,  // this device or build cannot do it
    kKernelLacks,   // this kernel cannot do it, whatever is asked of which device
    kNotFound,      // the device, namespace, file or name does not exist
    kBusy,          // another run of pathproof has it
    kUnavailable,   // it existed but went away, did not answer in time or was interrupted
    kFailed,        // anything else that the system refused
};

// A sentence that names the file, line, option or device, and says what to do about it.
struct Error {
    ErrorCode code = ErrorCode::kFailed;
    std::string message;
};

template <typename T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
  public:
    using tl::expected<T, Error>::expected;
};

using Status = Result<void>;
using Failure = tl::unexpected<Error>;

Failure fail_with(ErrorCode code, fmt::string_view text, fmt::format_args args);
Failure fail_with(const Error& error, fmt::string_view doing, fmt::format_args args);

// fail(ErrorCode::kNotFound, "network namespace {} does not exist; see 'ip netns'", name)
template <typename... Args>
Failure fail(ErrorCode code, fmt::format_string<Args...> text, Args&&... args) {
    return fail_with(code, text, fmt::make_format_args(args...));
}

// Hands an error on with what was being done put before it: "read features of vx: ...".
template <typename... Args>
Failure fail(const Error& error, fmt::format_string<Args...> doing, Args&&... args) {
    return fail_with(error, doing, fmt::make_format_args(args...));
}

// Puts what was being done before the error of a result: rate_ = TRY(doing(parse_rate(text),
// "--rate {}", text));
template <typename T, typename... Args>
Result<T> doing(Result<T> result, fmt::format_string<Args...> what, Args&&... args) {
    return result ? std::move(result)
                  : Result<T>(fail(result.error(), what, std::forward<Args>(args)...));
}

inline Failure pass_on(const Error& error) {
    return Failure(error);
}

// const auto socket = TRY(Socket::open(netns));
// TRY(socket.join(group));
//
// The value of a result; an error ends the function with it. It stands alone, or is all that a
// variable is given: what else an expression has made by then would not be destroyed.
// A lock is given to a variable: a value that nobody takes goes at once.
#define TRY(...) PATHPROOF_TRY(PATHPROOF_JOIN(tried_, __COUNTER__), __VA_ARGS__)
#define PATHPROOF_JOIN(one, other) PATHPROOF_JOIN_WORDS(one, other)
#define PATHPROOF_JOIN_WORDS(one, other) one##other
#define PATHPROOF_TRY(tried, ...)                       \
    __extension__({                                     \
        auto tried = (__VA_ARGS__);                     \
        if (!tried) {                                   \
            return ::pathproof::pass_on(tried.error()); \
        }                                               \
        ::pathproof::value_of(std::move(tried));        \
    })

template <typename Value>
Value value_of(tl::expected<Value, Error>&& result) {
    return *std::move(result);
}
inline void value_of(Status&& /*done*/) {}

// The name used on the wire between our processes; the inverse gives kFailed for an unknown name.
const char* error_code_name(ErrorCode code);
ErrorCode error_code_from_name(const std::string& name);

}  // namespace pathproof
