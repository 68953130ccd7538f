#include "dataplane/base/result.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace pathproof {
namespace {

// Names in the order of ErrorCode.
constexpr std::array kNames = {"bad_input", "not_permitted", "not_supported", "kernel_lacks",
                               "not_found", "busy",          "unavailable",   "failed"};
static_assert(kNames.size() == static_cast<std::size_t>(ErrorCode::kFailed) + 1);

}  // namespace

Failure fail_with(ErrorCode code, fmt::string_view text, fmt::format_args args) {
    return Failure(Error{code, fmt::vformat(text, args)});
}

Failure fail_with(const Error& error, fmt::string_view doing, fmt::format_args args) {
    return Failure(Error{error.code, fmt::vformat(doing, args) + ": " + error.message});
}

const char* error_code_name(ErrorCode code) {
    return kNames[static_cast<std::size_t>(code)];
}

ErrorCode error_code_from_name(const std::string& name) {
    const auto* const found = std::ranges::find(kNames, name);
    return found == kNames.end() ? ErrorCode::kFailed
                                 : static_cast<ErrorCode>(found - kNames.begin());
}

}  // namespace pathproof
