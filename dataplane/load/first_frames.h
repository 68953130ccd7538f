// The first frames of a stream as bytes, to be looked at or sent again by themselves.
#pragma once

#include <vector>

#include "dataplane/base/result.h"
#include "dataplane/frame/view.h"
#include "dataplane/load/load_plan.h"

namespace pathproof::load {

// Frames 0 to `count` - 1 of the plan's stream, stamped with time 0. Errors: those of FrameSource::make.
Result<std::vector<frame::ByteVector>> first_frames(const SourcePlan& plan, std::size_t count);

}  // namespace pathproof::load
