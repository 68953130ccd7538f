// Setting the offload features of a device back: together, for some build on others, and told of in
// one sentence.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/lab/journal_file.h"

namespace pathproof::lab {

struct FeatureUndo {
    std::optional<std::string> done;    // how many features of the device really changed
    std::vector<std::string> problems;  // one sentence for each that could not be set back
    std::vector<UndoAction> left;       // the actions of `problems`
};

// `actions` are of kind kFeature and of one device, oldest first: of several notes of one feature
// the oldest holds the value from before the run. A device that is gone is done.
FeatureUndo undo_features(const std::vector<UndoAction>& actions);

// One of them, as undo_action().
Result<std::optional<std::string>> undo_feature(const UndoAction& action);

}  // namespace pathproof::lab
