#include "harness/lab/put_back.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace pathproof::lab {
namespace {

using Kind = UndoAction::Kind;

bool same_device(const PutBack& a, const PutBack& b) {
    return !a.device.empty() && a.device == b.device && a.netns == b.netns;
}

std::string device_line(const PutBack& first, const std::vector<PutBack>& things) {
    std::size_t features = 0;
    std::vector<std::string> words;
    for (const PutBack& thing : things) {
        if (!same_device(thing, first)) {
            continue;
        }
        if (thing.kind == Kind::kFeature) {
            ++features;
        } else {
            words.push_back(thing.what);
        }
    }
    if (features > 0) {
        words.insert(words.begin(),
                     fmt::format("{} feature{} as before", features, features == 1 ? "" : "s"));
    }
    return fmt::format("{}: {}", device_in_words(first.device, first.netns),
                       fmt::join(words, ", "));
}

}  // namespace

std::string device_in_words(const std::string& device, const std::string& netns) {
    return netns.empty() ? device : fmt::format("{} in network namespace {}", device, netns);
}

std::vector<std::string> in_short(const std::vector<PutBack>& things) {
    std::vector<std::string> lines;
    for (auto thing = things.begin(); thing != things.end(); ++thing) {
        if (thing->device.empty()) {
            lines.push_back(thing->what);
        } else if (std::none_of(things.begin(), thing, [&](const PutBack& earlier) {
                       return same_device(earlier, *thing);
                   })) {
            lines.push_back(device_line(*thing, things));
        }
    }
    return lines;
}

std::string in_full(const PutBack& thing) {
    return thing.device.empty()
               ? thing.what
               : fmt::format("{}: {}", device_in_words(thing.device, thing.netns), thing.what);
}

std::string left_by(const RestoredRun& run) {
    if (run.run_id.empty() && run.command.empty()) {
        return "";
    }
    return fmt::format(", left by run {} ('{}')", run.run_id, run.command);
}

std::vector<std::string> in_short(const std::vector<RestoredRun>& runs) {
    std::vector<std::string> lines;
    for (const RestoredRun& run : runs) {
        for (const std::string& line : in_short(run.things)) {
            lines.push_back(line + left_by(run));
        }
        lines.insert(lines.end(), run.left_alone.begin(), run.left_alone.end());
    }
    return lines;
}

}  // namespace pathproof::lab
