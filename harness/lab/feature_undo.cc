#include "harness/lab/feature_undo.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "harness/agent/ethtool.h"
#include "harness/agent/feature_names.h"
#include "harness/lab/device_place.h"

namespace pathproof::lab {
namespace {

using agent::Feature;
using agent::feature_named;
using Kind = UndoAction::Kind;

// Returns the features to request again; those that somebody else requested since are left.
std::vector<const Note*> to_set_back(const std::vector<Note>& notes,
                                     const std::vector<Feature>& now, const std::string& where,
                                     UndoReport& report) {
    std::vector<const Note*> back;
    for (const Note& note : notes) {
        const Feature* feature = feature_named(now, note.name);
        if (feature == nullptr || feature->requested == was_requested(note)) {
            continue;
        }
        if (!note.sets.empty() && note.sets.back() == agent::on_or_off(feature->requested)) {
            back.push_back(&note);
        } else {
            static_cast<void>(report.leave(where + ": " + note.name, state_of(*feature)));
        }
    }
    return back;
}

// Reports features whose request was restored but whose state was not: a dependency changed.
void tell_of_dependent(const std::vector<Note>& notes, const std::vector<Feature>& now,
                       const std::string& where, UndoReport& report) {
    for (const Note& note : notes) {
        const Feature* feature = feature_named(now, note.name);
        if (feature != nullptr && feature->requested == was_requested(note) &&
            state_of(*feature) != note.value) {
            report.left_alone.push_back(
                fmt::format("{}: {} was {} and is {}, for something it "
                            "depends on was changed by somebody else since",
                            where, note.name, note.value, state_of(*feature)));
        }
    }
}

Status undo_on(const std::string& device, const std::vector<Note>& notes, UndoReport& report) {
    const auto before = TRY(agent::read_features(device));
    const std::string where = device_in_words(device, notes.front().netns);
    const std::vector<const Note*> back = to_set_back(notes, before, where, report);
    std::vector<std::pair<std::string, bool>> wanted;
    for (const Note* note : back) {
        wanted.emplace_back(note->name, was_requested(*note));
    }
    const Status set = wanted.empty() ? Status() : agent::request_features(device, wanted);
    const auto after = TRY(set ? agent::read_features(device) : pass_on(set.error()));
    for (const Note* note : back) {
        const Feature* feature = feature_named(after, note->name);
        if (feature == nullptr || feature->requested != was_requested(*note)) {
            report.problems.push_back(fmt::format("could not put back {}: {} does not take it",
                                                  undo_kind(note->kind).describe(*note), device));
            report.left.push_back(*note);
        } else {
            static_cast<void>(
                report.did(*note, fmt::format("{} {}", note->name, state_of(*feature)), device));
        }
    }
    tell_of_dependent(notes, after, where, report);
    return {};
}

}  // namespace

bool was_requested(const UndoAction& note) {
    return note.value == "on" || note.value == "off [requested on]";
}

Result<std::vector<std::pair<std::string, bool>>> single_features(
    const std::string& device, const std::vector<agent::Feature>& features,
    const std::vector<std::pair<std::string, bool>>& wanted) {
    std::vector<std::string> names;
    std::ranges::transform(features, std::back_inserter(names), &Feature::name);
    std::vector<std::pair<std::string, bool>> singles;
    for (const agent::FeatureRequest& request :
         TRY(doing(agent::expand_features(names, wanted), "device {}", device))) {
        singles.emplace_back(names[request.index], request.on);
    }
    return singles;
}

Result<FeatureNotes> notes_of_features(const std::string& netns, const std::string& device,
                                       const std::vector<std::pair<std::string, bool>>& wanted,
                                       const std::vector<UndoAction>& known) {
    const std::string place = TRY(place_of(device));
    const auto features = TRY(agent::read_features(device));
    UndoAction note{.kind = Kind::kFeature, .place = place, .netns = netns, .device = device};
    const bool is_known = std::ranges::any_of(known, [&](const UndoAction& action) {
        return action.kind == Kind::kFeature && action.place == place;
    });
    FeatureNotes notes;
    for (const Feature& feature : features) {
        if (!is_known && feature.available && !feature.never_changed) {
            note.name = feature.name;
            note.value = state_of(feature);
            notes.before.push_back(note);
        }
    }
    const std::vector<UndoAction>& found = is_known ? known : notes.before;
    std::vector<UndoAction> set;
    for (const auto& [name, on] : TRY(single_features(device, features, wanted))) {
        note.name = name;
        note.value.clear();
        note.set = agent::on_or_off(on);
        const auto first = std::ranges::find_if(
            found, [&](const UndoAction& action) { return action.same_thing(note); });
        if (first != found.end()) {
            (was_requested(*first) == on ? notes.after : set).push_back(note);
        }
    }
    notes.before.insert(notes.before.end(), set.begin(), set.end());
    return notes;
}

void undo_features(const std::vector<Note>& notes, UndoReport& report) {
    const auto undone = at_device(notes.front().place, [&](const std::string& device) {
        return undo_on(device, notes, report);
    });
    if (!undone) {
        const Note& first = notes.front();
        report.problems.push_back(fmt::format("could not put back the features of {}: {}",
                                              device_in_words(first.device, first.netns),
                                              undone.error().message));
        report.left.insert(report.left.end(), notes.begin(), notes.end());
    }
}

}  // namespace pathproof::lab
