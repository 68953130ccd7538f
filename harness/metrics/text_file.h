// Metrics in a file, for the node exporter's textfile collector.
#pragma once

#include <string>

#include "dataplane/base/result.h"

namespace pathproof::metrics {

// Replaces the file's content in one step: a reader sees the old text or the new one, never a part.
// Readable for everybody, as the node exporter runs as a user of its own. kBadInput when the folder
// is missing or cannot be written to.
Status replace_file(const std::string& path, const std::string& text);

}  // namespace pathproof::metrics
