#include "harness/truth/separate.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "dataplane/base/plural.h"
#include "dataplane/frame/view.h"

namespace pathproof::truth {
namespace {

using matrix::Dimension;
using matrix::kDimensions;

constexpr std::size_t kMostConditions = 3;
constexpr std::size_t kMostAlike = 3;

struct Trait {
    std::string text;
    std::function<bool(const Sample&)> fits;
    unsigned cost = 0;  // what is plain comes first
    std::optional<Border> border = std::nullopt;
};

struct Number {
    Border::Of of;
    std::uint32_t Sample::*value;
    const char* above;  // "{} is the largest right one"
    const char* below;
};
constexpr Number kNumbers[] = {
    {Border::Of::kFrameBytes, &Sample::frame_bytes, "frames of more than {} bytes",
     "frames of less than {} bytes"},
    {Border::Of::kSegments, &Sample::segments, "more than {} segments", "less than {} segments"},
    {Border::Of::kPayloadBytes, &Sample::payload_bytes, "more than {} bytes of data",
     "less than {} bytes of data"},
};
constexpr Number kLastSegment = {Border::Of::kLastSegment, &Sample::last_segment,
                                 "more than {} bytes in the last segment",
                                 "less than {} bytes in the last segment"};

using Refs = std::vector<const Sample*>;

// Thresholds that fit all wrong samples: above the largest right one below the smallest wrong one.
void add_number(const Number& number, const Refs& wrong, const Refs& right,
                std::vector<Trait>& all) {
    const auto of = [&](const Sample* sample) { return sample->*number.value; };
    const std::uint32_t smallest = of(*std::ranges::min_element(wrong, {}, of));
    const std::uint32_t largest = of(*std::ranges::max_element(wrong, {}, of));
    std::uint32_t below = 0;
    std::uint32_t above = 0;
    for (const Sample* sample : right) {
        const std::uint32_t value = of(sample);
        below = value < smallest ? std::max(below, value) : below;
        above = value > largest && (above == 0 || value < above) ? value : above;
    }
    const auto value = number.value;
    if (below != 0) {
        all.push_back({fmt::format(fmt::runtime(number.above), below),
                       [value, below](const Sample& sample) { return sample.*value > below; }, 1,
                       Border{number.of, below, smallest}});
    }
    if (above != 0) {
        // Whole frames have no last segment.
        const bool whole_too = number.of != Border::Of::kLastSegment;
        all.push_back({fmt::format(fmt::runtime(number.below), above),
                       [value, above, whole_too](const Sample& sample) {
                           return sample.*value < above && (whole_too || sample.*value != 0);
                       },
                       1, Border{number.of, above, largest}});
    }
}

void add_numbers(const Refs& wrong, const Refs& right, std::vector<Trait>& all) {
    for (const Number& number : kNumbers) {
        add_number(number, wrong, right, all);
    }
    const auto is_super = [](const Sample* sample) { return sample->last_segment != 0; };
    const bool super_frames = std::ranges::all_of(wrong, is_super);
    if (super_frames) {
        add_number(kLastSegment, wrong, right, all);
    }
    for (const bool odd : {true, false}) {
        const auto fits = [odd](const Sample& sample) {
            return (sample.payload_bytes % 2 != 0) == odd;
        };
        if (std::ranges::all_of(wrong, [&](const Sample* sample) { return fits(*sample); })) {
            all.push_back(
                {odd ? "an odd number of bytes of data" : "an even number of bytes of data", fits,
                 1});
        }
        const auto tail_fits = [odd](const Sample& sample) {
            return sample.last_segment != 0 && (sample.last_segment % 2 != 0) == odd;
        };
        if (super_frames &&
            std::ranges::all_of(wrong, [&](const Sample* sample) { return tail_fits(*sample); })) {
            all.push_back({odd ? "an odd number of bytes in the last segment"
                               : "an even number of bytes in the last segment",
                           tail_fits, 1});
        }
    }
}

void add_dimensions(const Refs& wrong, const Refs& right, std::vector<Trait>& all) {
    for (std::size_t i = 0; i < kDimensions; ++i) {
        std::uint32_t in_wrong = 0;
        std::uint32_t in_right = 0;
        for (const Sample* sample : wrong) {
            in_wrong |= 1u << matrix::values_of(sample->row)[i];
        }
        for (const Sample* sample : right) {
            in_right |= 1u << matrix::values_of(sample->row)[i];
        }
        const std::uint32_t outside = in_right & ~in_wrong;
        if (outside == 0) {
            continue;
        }
        const auto names = matrix::value_names(static_cast<Dimension>(i));
        const auto list = [&](std::uint32_t values) {
            std::vector<const char*> listed;
            for (std::size_t value = 0; value < names.size(); ++value) {
                if ((values >> value & 1) != 0) {
                    listed.push_back(names[value]);
                }
            }
            return listed;
        };
        const auto inside = list(in_wrong);
        const auto others = list(outside);
        const char* name = matrix::name(static_cast<Dimension>(i));
        const bool by_others = others.size() < inside.size();
        std::string text = by_others
                               ? fmt::format("{} other than {}", name, fmt::join(others, ", "))
                               : fmt::format("{} {}", name, fmt::join(inside, " or "));
        // A value that is named costs; lengths are told by numbers where they can be.
        const auto named = static_cast<unsigned>(std::min(inside.size(), others.size()));
        const unsigned cost = named + (static_cast<Dimension>(i) == Dimension::kLength ? 2u : 0u);
        all.push_back({std::move(text),
                       [i, in_wrong](const Sample& sample) {
                           return (in_wrong >> matrix::values_of(sample.row)[i] & 1) != 0;
                       },
                       cost});
    }
}

Refs kept_by(const Trait& condition, const Refs& samples) {
    Refs kept;
    std::ranges::copy_if(samples, std::back_inserter(kept),
                         [&](const Sample* sample) { return condition.fits(*sample); });
    return kept;
}

struct Choice {
    std::vector<const Trait*> conditions;
    Refs standing;  // right samples that all of them fit
    unsigned cost = 0;

    bool better_than(const Choice& other) const {
        const auto key = [](const Choice& choice) {
            return std::tuple(choice.standing.size(), choice.conditions.size(), choice.cost);
        };
        return key(*this) < key(other);
    }
};

// Tries every set of up to three conditions in which each keeps out something that the ones before
// it let through.
void choose(const std::vector<Trait>& all, std::size_t from, const Choice& so_far, Choice& best) {
    if (so_far.better_than(best)) {
        best = so_far;
    }
    if (so_far.standing.empty() || so_far.conditions.size() == kMostConditions) {
        return;
    }
    for (std::size_t i = from; i < all.size(); ++i) {
        Choice next = so_far;
        next.standing = kept_by(all[i], so_far.standing);
        if (next.standing.size() == so_far.standing.size()) {
            continue;
        }
        next.conditions.push_back(&all[i]);
        next.cost += all[i].cost;
        choose(all, i + 1, next, best);
    }
}

// Conditions that keep out the same right samples as this one, beside the other ones chosen.
std::vector<const Trait*> alike(const std::vector<Trait>& all, const Choice& chosen,
                                std::size_t number, const Refs& right) {
    Refs standing = right;
    for (std::size_t i = 0; i < chosen.conditions.size(); ++i) {
        standing = i == number ? standing : kept_by(*chosen.conditions[i], standing);
    }
    const Refs kept = kept_by(*chosen.conditions[number], standing);
    std::vector<const Trait*> others;
    for (const Trait& other : all) {
        const bool is_chosen =
            std::ranges::find(chosen.conditions, &other) != chosen.conditions.end();
        if (!is_chosen && kept_by(other, standing) == kept) {
            others.push_back(&other);
        }
    }
    others.resize(std::min(others.size(), kMostAlike));
    return others;
}

// A value other than a plain one that all wrong samples share and no condition names: it may be as much
// the cause as what tells them apart.
struct Common {
    Dimension dimension;
    std::uint8_t value = 0;

    std::string text() const {
        return fmt::format("{} {}", matrix::name(dimension), matrix::value_names(dimension)[value]);
    }
};
std::vector<Common> common_of(const Refs& wrong, const Choice& chosen) {
    std::vector<Common> common;
    const auto plain = matrix::values_of(matrix::Row{});
    for (const Dimension dimension :
         {Dimension::kEncap, Dimension::kVlan, Dimension::kInnerNetwork, Dimension::kInnerTransport,
          Dimension::kSegmentation, Dimension::kFragmentation, Dimension::kTrailer}) {
        const std::size_t i = matrix::index_of(dimension);
        const std::uint8_t value = matrix::values_of(wrong.front()->row)[i];
        const bool all = std::ranges::all_of(wrong, [&](const Sample* sample) {
            return matrix::values_of(sample->row)[i] == value;
        });
        const bool named = std::ranges::any_of(chosen.conditions, [&](const Trait* condition) {
            return condition->text.starts_with(matrix::name(dimension));
        });
        if (all && !named && value != plain[i]) {
            common.push_back({dimension, value});
        }
    }
    return common;
}

// The traits of samples and those that separate them; none where all are wrong, or none is.
struct Separation {
    Refs wrong;
    Refs right;
    std::vector<Trait> all;
    Choice best;  // of `all`

    explicit Separation(std::span<const Sample> samples) {
        for (const Sample& sample : samples) {
            (sample.wrong ? wrong : right).push_back(&sample);
        }
        if (wrong.empty() || right.empty()) {
            return;
        }
        add_numbers(wrong, right, all);
        add_dimensions(wrong, right, all);
        const Choice none{.conditions = {}, .standing = right};
        best = none;
        choose(all, 0, none, best);
    }
    Separation(const Separation&) = delete;
    Separation& operator=(const Separation&) = delete;
};

}  // namespace

Sample sample_of(const matrix::Row& row, const matrix::Probe& probe, bool wrong) {
    Sample sample{.row = row, .wrong = wrong};
    sample.segments = static_cast<std::uint32_t>(probe.intended.size());
    for (const matrix::FrameBytes& frame : probe.intended) {
        sample.frame_bytes = std::max(sample.frame_bytes, static_cast<std::uint32_t>(frame.size()));
    }

    if (!probe.handed.empty()) {
        const matrix::FrameBytes& handed = probe.handed.front().bytes;
        const frame::FrameView view = frame::parse_frame(handed, probe.tunnels);
        const frame::PacketView& packet = view.innermost();
        sample.payload_bytes = packet.network_end > packet.payload_offset
                                   ? packet.network_end - packet.payload_offset
                                   : 0;
    }
    if (probe.segment_bytes != 0 && sample.payload_bytes != 0) {
        sample.last_segment = (sample.payload_bytes - 1) % probe.segment_bytes + 1;
    }
    return sample;
}

Description separate(std::span<const Sample> samples) {
    const Separation found(samples);
    Description description{.text = "all frames"};
    if (found.wrong.empty() || found.right.empty()) {
        return description;
    }
    const Choice& best = found.best;
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < best.conditions.size(); ++i) {
        const Trait& condition = *best.conditions[i];
        std::vector<std::string> others;
        for (const Trait* other : alike(found.all, best, i, found.right)) {
            others.push_back(other->text);
        }
        texts.push_back(others.empty() ? condition.text
                                       : fmt::format("{} (the same frames: {})", condition.text,
                                                     fmt::join(others, "; ")));
        if (condition.border && !description.border) {
            description.border = condition.border;
        }
    }
    if (!texts.empty()) {
        description.text = fmt::format("{}", fmt::join(texts, ", "));
    }
    for (const Common& common : common_of(found.wrong, best)) {
        description.common += (description.common.empty() ? "" : ", ") + common.text();
    }
    description.counter_examples = best.standing.size();
    if (!best.standing.empty() && !best.conditions.empty()) {
        description.counter_example = matrix::describe(best.standing.front()->row);
        description.text +=
            fmt::format(" ({} of that kind came right, for example {})",
                        plural(best.standing.size(), "frame"), description.counter_example);
    }
    return description;
}

std::vector<OpenChoice> open_choices(std::span<const Sample> samples) {
    const Separation found(samples);
    std::vector<OpenChoice> open;
    if (found.wrong.empty() || found.right.empty()) {
        return open;
    }
    const auto conditions_but = [&](std::size_t left_out) {
        std::vector<std::function<bool(const Sample&)>> fits;
        for (std::size_t i = 0; i < found.best.conditions.size(); ++i) {
            if (i != left_out) {
                fits.push_back(found.best.conditions[i]->fits);
            }
        }
        return [fits](const Sample& sample) {
            return std::ranges::all_of(fits, [&](const auto& one) { return one(sample); });
        };
    };
    for (std::size_t i = 0; i < found.best.conditions.size(); ++i) {
        const Trait& named = *found.best.conditions[i];
        for (const Trait* other : alike(found.all, found.best, i, found.right)) {
            open.push_back({.between = named.text + "; " + other->text,
                            .tells = [rest = conditions_but(i), one = named.fits,
                                      two = other->fits](const Sample& sample) {
                                return rest(sample) && one(sample) != two(sample);
                            }});
        }
    }
    for (const Common& common : common_of(found.wrong, found.best)) {
        open.push_back({.between = common.text(),
                        .tells = [all = conditions_but(found.best.conditions.size()),
                                  common](const Sample& sample) {
                            const auto values = matrix::values_of(sample.row);
                            return all(sample) &&
                                   values[matrix::index_of(common.dimension)] != common.value;
                        }});
    }
    return open;
}

}  // namespace pathproof::truth
