// Returns the first error among operations that must all be finished, whatever the others returned.
#pragma once

#include "dataplane/base/result.h"

namespace pathproof::scenario {

// TRY(first_error(report, capture, log));
template <typename... Results>
Status first_error(const Results&... results) {
    const Error* first = nullptr;
    ((first = first == nullptr && !results ? &results.error() : first), ...);
    return first == nullptr ? Status() : Status(pass_on(*first));
}

}  // namespace pathproof::scenario
