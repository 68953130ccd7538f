// The border between right and wrong frames, found by frames that are made for it.
#pragma once

#include <functional>
#include <optional>

#include "dataplane/base/result.h"
#include "harness/truth/separate.h"

namespace pathproof::truth {

// Returns whether frames of that number are wrong; nothing: they cannot be made.
using WrongAt = std::function<Result<std::optional<bool>>(std::uint32_t)>;

// Halves the gap until the two numbers stand side by side, `tries` times at most. Errors: those of
// `wrong_at`.
Result<Border> find_border(Border border, int tries, const WrongAt& wrong_at);

}  // namespace pathproof::truth
