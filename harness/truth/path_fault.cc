#include "harness/truth/path_fault.h"

#include <algorithm>
#include <map>

#include "dataplane/base/by_frequency.h"
#include "dataplane/base/plural.h"
#include "dataplane/judge/frame_difference.h"
#include "harness/truth/in_time.h"
#include "harness/truth/separate.h"

namespace pathproof::truth {
namespace {

using matrix::FrameBytes;

constexpr std::size_t kMostSpecimens = 8;
constexpr std::size_t kMostFields = 3;
constexpr std::uint64_t kEnough = 3;       // changes that are no one frame's
constexpr std::size_t kLeastShifted = 16;  // bytes that have to be found again

bool begins_with(const FrameBytes& whole, const FrameBytes& start) {
    return whole.size() >= start.size() && std::equal(start.begin(), start.end(), whole.begin());
}

// Returns how far the end of the frame moved, if the rest of it is found again; 0: it is not.
std::ptrdiff_t shift_of(const FrameBytes& sent, const FrameBytes& came) {
    if (sent.size() == came.size() || sent.size() < kLeastShifted || came.size() < kLeastShifted) {
        return 0;
    }
    const bool same_end =
        std::equal(sent.end() - kLeastShifted, sent.end(), came.end() - kLeastShifted);
    return same_end
               ? static_cast<std::ptrdiff_t>(came.size()) - static_cast<std::ptrdiff_t>(sent.size())
               : 0;
}

bool came_right(const PathSample& sample) {
    return std::ranges::all_of(sample.came, [&](const FrameBytes& came) {
        return came == sample.probe->intended[sample.part];
    });
}

// The fate in every look; empty where they differ.
std::string fate_of(const PathSample& sample) {
    std::string fate;
    for (const FrameBytes& came : sample.came) {
        const FrameBytes& sent = sample.probe->intended[sample.part];
        std::string now = change_of(sent, came, sample.probe->tunnels);
        if (came == sent || (!fate.empty() && now != fate)) {
            return "";
        }
        fate = std::move(now);
    }
    return fate;
}

matrix::Specimen specimen_of(const PathSample& sample, const FrameBytes& came) {
    const FrameBytes& sent = sample.probe->intended[sample.part];
    return {sample.probe->label, came, sent, sent};
}

// Changes of frames that have no one fate.
PathFault now_and_then(Way way, std::span<const PathSample> samples) {
    PathFault fault{.way = way, .always = false};
    std::map<std::string, std::uint64_t> changes;
    std::vector<bool> looks;
    for (const PathSample& sample : samples) {
        fault.sent += sample.came.size();
        if (!fate_of(sample).empty()) {
            continue;
        }
        for (std::size_t look = 0; look < sample.came.size(); ++look) {
            const FrameBytes& came = sample.came[look];
            const FrameBytes& sent = sample.probe->intended[sample.part];
            if (came.empty() || came == sent) {
                continue;
            }
            looks.resize(std::max(looks.size(), look + 1));
            looks[look] = true;
            ++fault.frames;
            ++changes[change_of(sent, came, sample.probe->tunnels)];
            if (fault.specimens.size() < kMostSpecimens) {
                fault.specimens.push_back(specimen_of(sample, came));
            }
        }
    }
    fault.looks = static_cast<std::uint64_t>(std::ranges::count(looks, true));
    if (fault.frames == 0) {
        return fault;
    }
    fault.where = "now and then, " + rate_text(fault.frames, fault.sent);
    fault.what = by_frequency(changes).front();
    fault.what += changes.size() > 1 ? ", and others" : "";
    return fault;
}

}  // namespace

std::string change_of(const FrameBytes& sent, const FrameBytes& came,
                      const frame::TunnelPorts& tunnels) {
    if (came.empty()) {
        return "never comes";
    }
    if (came.size() < sent.size() && begins_with(sent, came)) {
        const std::size_t cut = sent.size() - came.size();
        return cut == 1 ? "the last byte is missing"
                        : fmt::format("the last {} bytes are missing", cut);
    }
    if (came.size() > sent.size() && begins_with(came, sent)) {
        return fmt::format("{} more at its end", plural(came.size() - sent.size(), "byte"));
    }
    if (const std::ptrdiff_t shift = shift_of(sent, came); shift != 0) {
        return fmt::format("{} {} within it",
                           plural(static_cast<std::uint64_t>(std::abs(shift)), "byte"),
                           shift < 0 ? "are missing" : "more are");
    }
    std::string text;
    std::size_t fields = 0;
    const judge::FrameDifference difference = judge::compare_frames(sent, came, tunnels, {});
    for (const judge::FieldDifference& field : difference.fields) {
        if (++fields > kMostFields) {
            text += ", ...";
            break;
        }
        // Values of a payload are each frame's own.
        text += fmt::format("{}{}", text.empty() ? "" : ", ", field.field);
    }
    return (text.empty() ? "bytes" : text) + (fields > 1 ? " differ" : " differs");
}

std::vector<PathFault> path_faults(Way way, std::span<const PathSample> samples) {
    std::map<std::string, std::vector<const PathSample*>> by_fate;
    for (const PathSample& sample : samples) {
        if (sample.came.size() >= 2) {
            if (std::string fate = fate_of(sample); !fate.empty()) {
                by_fate[std::move(fate)].push_back(&sample);
            }
        }
    }
    std::vector<PathFault> faults;
    for (const auto& [fate, members] : by_fate) {
        PathFault fault{.way = way,
                        .lost = members.front()->came.front().empty(),
                        .what = fate,
                        .frames = members.size(),
                        .sent = samples.size(),
                        .looks = members.front()->came.size()};
        std::vector<Sample> described;
        for (const PathSample& sample : samples) {
            const bool wrong = std::ranges::find(members, &sample) != members.end();
            if (!wrong && !came_right(sample)) {
                continue;  // of another fault, or now and then
            }
            matrix::Probe one{.label = sample.probe->label,
                              .handed = {{.bytes = sample.probe->intended[sample.part]}},
                              .intended = {sample.probe->intended[sample.part]},
                              .tunnels = sample.probe->tunnels};
            described.push_back(sample_of(*sample.row, one, wrong));
            // A plain frame leaves nothing to anybody.
            described.back().row.handover = matrix::Handover::kSoftware;
            described.back().row.segmentation = matrix::Segmentation::kNone;
            described.back().row.buffers = matrix::Buffers::kOne;
        }
        fault.where = separate(described).with_common();
        for (const PathSample* sample : members) {
            if (fault.specimens.size() < kMostSpecimens) {
                fault.specimens.push_back(specimen_of(*sample, sample->came.front()));
            }
        }
        faults.push_back(std::move(fault));
    }
    if (PathFault rare = now_and_then(way, samples); rare.looks > 1 && rare.frames >= kEnough) {
        faults.push_back(std::move(rare));
    }
    std::ranges::stable_sort(faults, std::greater<>(), &PathFault::frames);
    return faults;
}

std::string fault_sentence(const PathFault& fault, const std::string& from, const std::string& to) {
    if (!fault.always) {
        return fmt::format("{} of {} from {} to {} came changed, {}: {}", fault.frames,
                           plural(fault.sent, "plain frame"), from, to, fault.where, fault.what);
    }
    return fmt::format("{} of {} from {} to {} {}, each of {} times: {}: {}", fault.frames,
                       plural(fault.sent, "plain frame"), from, to,
                       fault.lost ? "never came" : "came changed", fault.looks, fault.where,
                       fault.what);
}

}  // namespace pathproof::truth
