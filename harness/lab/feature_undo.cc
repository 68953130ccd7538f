#include "harness/lab/feature_undo.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "harness/agent/ethtool.h"
#include "harness/process/netns.h"

namespace pathproof::lab {
namespace {

// In the order in which they go back: the last noted first.
std::vector<UndoAction> oldest_of_each(const std::vector<UndoAction>& actions) {
    std::vector<UndoAction> wanted;
    for (const UndoAction& action : actions) {
        if (std::ranges::find(wanted, action.name, &UndoAction::name) == wanted.end()) {
            wanted.push_back(action);
        }
    }
    std::ranges::reverse(wanted);
    return wanted;
}

// Those whose requested state is another one. A name that the kernel does not know stays: the
// request for it says so.
std::vector<UndoAction> still_different(const std::vector<UndoAction>& wanted,
                                        const std::vector<agent::Feature>& now) {
    std::vector<UndoAction> different;
    for (const UndoAction& action : wanted) {
        const auto found = std::ranges::find(now, action.name, &agent::Feature::name);
        if (found == now.end() || found->requested != (action.value == "on")) {
            different.push_back(action);
        }
    }
    return different;
}

Status set(const std::vector<UndoAction>& actions) {
    std::vector<std::pair<std::string, bool>> settings;
    for (const UndoAction& action : actions) {
        settings.emplace_back(action.name, action.value == "on");
    }
    const auto changed = agent::change_features(actions.front().device, settings);
    return changed ? Status() : Status(pass_on(changed.error()));
}

PutBack tell(const UndoAction& action) {
    return {.kind = action.kind,
            .netns = action.netns,
            .device = action.device,
            .what = fmt::format("{} {}", action.name, action.value)};
}

void note_problem(const UndoAction& action, const Error& error, FeatureUndo& outcome) {
    outcome.problems.push_back(
        fmt::format("could not put back {}: {}", describe(action), error.message));
    outcome.left.push_back(action);
}

// In the device's namespace.
Status undo_here(const std::vector<UndoAction>& wanted, FeatureUndo& outcome) {
    const auto now = agent::read_features(wanted.front().device);
    if (!now) {
        return now.error().code == ErrorCode::kNotFound ? Status() : Status(pass_on(now.error()));
    }
    const std::vector<UndoAction> different = still_different(wanted, *now);
    if (different.empty()) {
        return {};
    }
    if (set(different)) {
        std::ranges::transform(different, std::back_inserter(outcome.done), tell);
        return {};
    }
    // All or nothing: find those that cannot be set.
    for (const UndoAction& action : different) {
        if (const Status alone = set({action}); alone) {
            outcome.done.push_back(tell(action));
        } else {
            note_problem(action, alone.error(), outcome);
        }
    }
    return {};
}

}  // namespace

FeatureUndo undo_features(const std::vector<UndoAction>& actions) {
    FeatureUndo outcome;
    const std::vector<UndoAction> wanted = oldest_of_each(actions);
    if (wanted.empty()) {
        return outcome;
    }
    const std::string& netns = wanted.front().netns;
    if (!netns.empty() && !process::netns_exists(netns)) {
        return outcome;
    }
    const Status undone = process::in_netns(netns, [&] { return undo_here(wanted, outcome); });
    if (!undone) {
        for (const UndoAction& action : wanted) {
            note_problem(action, undone.error(), outcome);
        }
    }
    std::ranges::reverse(outcome.left);  // oldest first, as a journal has them
    return outcome;
}

}  // namespace pathproof::lab
