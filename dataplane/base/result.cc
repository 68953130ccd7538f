#include "dataplane/base/result.h"

namespace pathproof {

Failure fail_with(ErrorCode code, fmt::string_view text, fmt::format_args args) {
    return Failure(Error{code, fmt::vformat(text, args)});
}

Failure fail_with(const Error& error, fmt::string_view doing, fmt::format_args args) {
    return Failure(Error{error.code, fmt::vformat(doing, args) + ": " + error.message});
}

const char* error_code_name(ErrorCode code) {
    switch (code) {
        case ErrorCode::kBadInput: return "bad_input";
        case ErrorCode::kNotPermitted: return "not_permitted";
        case ErrorCode::kNotSupported: return "not_supported";
        case ErrorCode::kKernelLacks: return "kernel_lacks";
        case ErrorCode::kNotFound: return "not_found";
        case ErrorCode::kUnavailable: return "unavailable";
        case ErrorCode::kFailed: return "failed";
    }
    return "failed";
}

ErrorCode error_code_from_name(const std::string& name) {
    for (ErrorCode code :
         {ErrorCode::kBadInput, ErrorCode::kNotPermitted, ErrorCode::kNotSupported,
          ErrorCode::kKernelLacks, ErrorCode::kNotFound, ErrorCode::kUnavailable}) {
        if (name == error_code_name(code)) {
            return code;
        }
    }
    return ErrorCode::kFailed;
}

}  // namespace pathproof
