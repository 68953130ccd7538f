// Exit codes of every command, but for --bisect's.
#pragma once

#include "dataplane/base/result.h"

namespace pathproof {

inline constexpr int kDone = 0;
inline constexpr int kUsage = 2;  // or bad input: nothing was changed
inline constexpr int kIncomplete = 3;
inline constexpr int kLabIsBusy = 4;  // another run has the lab: nothing was begun

constexpr int exit_code(ErrorCode code) {
    switch (code) {
        case ErrorCode::kBadInput:
        case ErrorCode::kNotPermitted:
        case ErrorCode::kNotSupported:
        case ErrorCode::kNotFound: return kUsage;
        case ErrorCode::kBusy: return kLabIsBusy;
        case ErrorCode::kKernelLacks:
        case ErrorCode::kUnavailable:
        case ErrorCode::kFailed: return kIncomplete;
    }
    return kIncomplete;
}

}  // namespace pathproof
