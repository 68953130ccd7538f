#include "dataplane/load/mix_pattern.h"

#include <numeric>

namespace pathproof::load {
namespace {

constexpr std::uint64_t kLongestPeriod = 100'000;
constexpr std::size_t kMostParts = 255;
// One part alone has no turns to take; its run is as long as is handy.
constexpr std::uint32_t kAlone = 1u << 16;

// Turns that each part has in a period: a part that makes two frames a turn has half as many.
std::vector<std::uint64_t> turns_of(std::span<const MixShare> shares) {
    std::vector<std::uint64_t> turns;
    std::uint64_t common = 0;
    for (const MixShare& share : shares) {
        turns.push_back(std::uint64_t{share.weight} * 2 / share.frames_at_once);
        common = std::gcd(common, turns.back());
    }
    for (std::uint64_t& part : turns) {
        part /= common;
    }
    return turns;
}

void append(std::vector<MixRun>& runs, std::uint8_t part, std::uint32_t frames) {
    if (!runs.empty() && runs.back().part == part) {
        runs.back().frames += frames;
        return;
    }
    runs.push_back({part, frames});
}

std::vector<MixRun> smooth(std::span<const MixShare> shares, std::span<const std::uint64_t> turns) {
    const auto total =
        static_cast<std::int64_t>(std::accumulate(turns.begin(), turns.end(), std::uint64_t{0}));
    std::vector<std::int64_t> current(turns.size(), 0);
    std::vector<MixRun> runs;
    for (std::int64_t turn = 0; turn < total; ++turn) {
        std::size_t next = 0;
        for (std::size_t part = 0; part < turns.size(); ++part) {
            current[part] += static_cast<std::int64_t>(turns[part]);
            next = current[part] > current[next] ? part : next;
        }
        current[next] -= total;
        append(runs, static_cast<std::uint8_t>(next), shares[next].frames_at_once);
    }
    return runs;
}

}  // namespace

Result<std::vector<MixRun>> mix_pattern(std::span<const MixShare> shares) {
    if (shares.empty() || shares.size() > kMostParts) {
        return fail(ErrorCode::kBadInput, "a mix of {} parts; name 1 to {}", shares.size(),
                    kMostParts);
    }
    for (const MixShare& share : shares) {
        if (share.weight == 0) {
            return fail(ErrorCode::kBadInput,
                        "a part of the mix has weight 0; leave it out or give it a share");
        }
    }
    if (shares.size() == 1) {
        return std::vector<MixRun>{{0, kAlone}};
    }
    const std::vector<std::uint64_t> turns = turns_of(shares);
    std::uint64_t frames = 0;
    for (std::size_t part = 0; part < turns.size(); ++part) {
        frames += turns[part] * shares[part].frames_at_once;
    }
    if (frames > kLongestPeriod) {
        return fail(ErrorCode::kBadInput,
                    "the weights of the mix repeat after {} frames only; choose weights with a "
                    "common divisor, so that it is {} at most",
                    frames, kLongestPeriod);
    }
    return smooth(shares, turns);
}

}  // namespace pathproof::load
