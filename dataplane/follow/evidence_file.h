// Frames of a finding as a pcapng file that Wireshark opens: what went in and what came out, side by
// side as two interfaces, each with a comment.
#pragma once

#include <string>

#include "dataplane/base/result.h"
#include "dataplane/follow/outcome.h"

namespace pathproof::follow {

Status write_evidence(const std::string& path, const Finding& finding, const std::string& about);

}  // namespace pathproof::follow
