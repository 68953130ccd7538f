// Setting the offload features of a device back: together, for some build on others.
#pragma once

#include <string>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/lab/journal_file.h"
#include "harness/lab/put_back.h"

namespace pathproof::lab {

struct FeatureUndo {
    std::vector<PutBack> done;          // those that really changed
    std::vector<std::string> problems;  // one sentence for each that could not be set back
    std::vector<UndoAction> left;       // the actions of `problems`
};

// `actions` are of kind kFeature and of one device, oldest first: of several notes of one feature
// the oldest holds the value from before the run. A device that is gone is done.
FeatureUndo undo_features(const std::vector<UndoAction>& actions);

}  // namespace pathproof::lab
