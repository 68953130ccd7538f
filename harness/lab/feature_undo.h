// Setting the offload features of a device back: together, for some build on others.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "dataplane/base/result.h"
#include "harness/agent/offload_features.h"
#include "harness/lab/journal_file.h"
#include "harness/lab/undo.h"

namespace pathproof::lab {

// Features by their single names, of which some are asked for by ethtool's words for groups. kNotFound: neither.
Result<std::vector<std::pair<std::string, bool>>> single_features(
    const std::string& device, const std::vector<agent::Feature>& features,
    const std::vector<std::pair<std::string, bool>>& wanted);

// Notes to write when `wanted` is set on a device of the calling thread's namespace. `before` it:
// the state of every feature that can be changed, unless `known` has it already, and what is set.
// `after` it: what is set, as it was found; until then the lines of `before` say what to undo.
// Errors: no such device or feature.
struct FeatureNotes {
    std::vector<UndoAction> before;
    std::vector<UndoAction> after;
};
Result<FeatureNotes> notes_of_features(const std::string& netns, const std::string& device,
                                       const std::vector<std::pair<std::string, bool>>& wanted,
                                       const std::vector<UndoAction>& known);

// Returns whether the feature of a kFeature note was requested.
bool was_requested(const UndoAction& note);

// `notes` are of kind kFeature and of one device. What was requested is requested again, whether or
// not the device can have it so at present. A device that is gone is done.
void undo_features(const std::vector<Note>& notes, UndoReport& report);

}  // namespace pathproof::lab
