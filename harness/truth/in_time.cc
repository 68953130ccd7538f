#include "harness/truth/in_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/verdict/interval.h"

namespace pathproof::truth {
namespace {

constexpr std::uint64_t kLongestPeriod = 1024;
constexpr double kChance = 1e-6;
constexpr double kOnTheBeat = 0.95;  // of the wrong frames
constexpr double kBeatsTaken =
    0.75;  // of the frames on the beat: the others came out right all the same
constexpr std::uint64_t kLeastBurst = 3;

using Positions = std::vector<std::uint64_t>;

Positions wrong_in(const Stretch& stretch) {
    Positions at;
    for (std::size_t i = 0; i < stretch.size(); ++i) {
        if (stretch[i]) {
            at.push_back(i);
        }
    }
    return at;
}

// Wrong frames on the best beat of a period within a stretch, and the frames that lie on that beat
// from the first wrong one to the last.
struct Beat {
    std::uint64_t wrong = 0;
    std::uint64_t on_beat = 0;
    std::uint64_t slots = 0;
};

Beat beat_of(const Positions& at, std::uint64_t period) {
    std::vector<std::uint64_t> counts(period);
    for (const std::uint64_t position : at) {
        ++counts[position % period];
    }
    const auto best = std::ranges::max_element(counts);
    const auto phase = static_cast<std::uint64_t>(best - counts.begin());
    const auto is_on = [&](std::uint64_t position) { return position % period == phase; };
    const auto first = std::ranges::find_if(at, is_on);
    const auto last = std::find_if(at.rbegin(), at.rend(), is_on);
    return {at.size(), *best, (*last - *first) / period + 1};
}

// Returns whether the wrong frames repeat with the period; each of the `stretches` may have a phase
// of its own.
bool has_period(const std::vector<Positions>& stretches, std::uint64_t period) {
    Beat all;
    double by_chance = 1;
    for (const Positions& at : stretches) {
        if (at.size() < 2) {
            continue;
        }
        const Beat beat = beat_of(at, period);
        all.wrong += beat.wrong;
        all.on_beat += beat.on_beat;
        all.slots += beat.slots;
        // The first sets the phase; each further one meets it by chance once in `period`.
        by_chance *=
            std::pow(1.0 / static_cast<double>(period), static_cast<double>(beat.on_beat) - 1);
    }
    const auto wrong = static_cast<double>(all.wrong);
    const auto on_beat = static_cast<double>(all.on_beat);
    return all.wrong > 0 && by_chance < kChance && on_beat >= kOnTheBeat * wrong &&
           on_beat >= kBeatsTaken * static_cast<double>(all.slots);
}

std::uint64_t period_of(const std::vector<Positions>& stretches) {
    std::uint64_t longest = 0;
    for (const Positions& at : stretches) {
        for (std::size_t i = 1; i < at.size(); ++i) {
            longest = std::max(longest, at[i] - at[i - 1]);
        }
    }
    for (std::uint64_t period = std::min(longest, kLongestPeriod); period > 1; --period) {
        if (has_period(stretches, period)) {
            return period;
        }
    }
    return 0;
}

std::uint64_t find_period(std::span<const Stretch> stretches) {
    Stretch whole;
    std::vector<Positions> each;
    for (const Stretch& stretch : stretches) {
        whole.insert(whole.end(), stretch.begin(), stretch.end());
        each.push_back(wrong_in(stretch));
    }
    const std::uint64_t over_all = period_of({wrong_in(whole)});
    return over_all != 0 ? over_all : period_of(each);
}

void find_bursts(std::span<const Stretch> stretches, InTime& seen) {
    std::uint64_t runs = 0;
    std::uint64_t shortest = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t longest = 0;
    for (const Stretch& stretch : stretches) {
        std::uint64_t run = 0;
        const auto end_run = [&] {
            if (run != 0) {
                ++runs;
                shortest = std::min(shortest, run);
                longest = std::max(longest, run);
            }
            run = 0;
        };
        for (const bool wrong : stretch) {
            wrong ? static_cast<void>(++run) : end_run();
        }
        end_run();
    }
    // Wrong frames that fall independently of each other make runs of 1 / (1 - share) on average.
    const double share = static_cast<double>(seen.wrong) / static_cast<double>(seen.frames);
    const double mean = static_cast<double>(seen.wrong) / static_cast<double>(runs);
    if (runs >= 2 && mean >= kLeastBurst && mean > 3 / (1 - share)) {
        seen.kind = InTime::Kind::kBursts;
        seen.bursts = runs;
        seen.shortest = shortest;
        seen.longest = longest;
    }
}

std::string one_in(double share) {
    return share > 0 ? fmt::format("1 in {:.0f}", std::max(1.0, std::round(1 / share))) : "never";
}

}  // namespace

InTime in_time(std::span<const Stretch> stretches) {
    InTime seen;
    for (const Stretch& stretch : stretches) {
        seen.frames += stretch.size();
        seen.wrong += static_cast<std::uint64_t>(std::ranges::count(stretch, true));
    }
    if (seen.wrong == 0) {
        return seen;
    }
    if (seen.wrong == seen.frames) {
        seen.kind = InTime::Kind::kAll;
        return seen;
    }
    seen.every = find_period(stretches);
    if (seen.every != 0) {
        seen.kind = InTime::Kind::kEvery;
        return seen;
    }
    seen.kind = InTime::Kind::kNowAndThen;
    find_bursts(stretches, seen);
    return seen;
}

namespace {

const char* ordinal_ending(std::uint64_t number) {
    const bool teen = number % 100 >= 11 && number % 100 <= 13;
    if (teen) {
        return "th";
    }
    switch (number % 10) {
        case 1: return "st";
        case 2: return "nd";
        case 3: return "rd";
        default: return "th";
    }
}

}  // namespace

std::string ordinal(std::uint64_t number) {
    return fmt::format("{}{}", number, ordinal_ending(number));
}

std::string rate_text(std::uint64_t hits, std::uint64_t frames) {
    const verdict::Interval interval = verdict::fraction_interval(hits, frames);
    if (frames == 0) {
        return "not measured";
    }
    if (hits == 0) {
        return fmt::format("below {} at 95 %", one_in(interval.high));
    }
    return fmt::format("{} (95 %: {} to {})",
                       one_in(static_cast<double>(hits) / static_cast<double>(frames)),
                       one_in(interval.low), one_in(interval.high));
}

std::string text(const InTime& seen) {
    switch (seen.kind) {
        case InTime::Kind::kNone:
            return seen.frames == 0
                       ? "none were sent"
                       : fmt::format("none of {} ({})", seen.frames, rate_text(0, seen.frames));
        case InTime::Kind::kAll: return fmt::format("all {}", seen.frames);
        case InTime::Kind::kEvery:
            return fmt::format("every {} of {}", ordinal(seen.every), seen.frames);
        case InTime::Kind::kBursts:
            return fmt::format("{} in {} bursts of {}, of {}", seen.wrong, seen.bursts,
                               seen.shortest == seen.longest
                                   ? std::to_string(seen.longest)
                                   : fmt::format("{} to {}", seen.shortest, seen.longest),
                               seen.frames);
        case InTime::Kind::kNowAndThen: break;
    }
    return fmt::format("{} of {}, {}", seen.wrong, seen.frames, rate_text(seen.wrong, seen.frames));
}

}  // namespace pathproof::truth
