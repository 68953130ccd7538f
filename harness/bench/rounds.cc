#include "harness/bench/rounds.h"

#include <algorithm>

namespace pathproof::bench {
namespace {

// A lane that has failed so often and never given figures is not tried again.
constexpr std::size_t kMostFailures = 3;

bool is_clean(const Reading& reading) {
    return reading.objection.empty();
}

std::size_t clean_count(const LaneResult& lane) {
    return static_cast<std::size_t>(
        std::count_if(lane.readings.begin(), lane.readings.end(), is_clean));
}

bool is_given_up(const LaneResult& lane) {
    return lane.readings.empty() && lane.failures.size() >= kMostFailures;
}

bool is_over(const LaneResult& lane, unsigned rounds) {
    return !lane.absent.empty() || is_given_up(lane) || clean_count(lane) >= rounds;
}

Reading reading_of(Measurement&& measured, Contention contention) {
    contention.waiting_share = measured.waiting_share;
    Reading reading{.figures = std::move(measured.figures),
                    .contention = contention,
                    .objection = objection(contention)};
    if (reading.objection.empty()) {
        reading.objection = std::move(measured.objection);
    }
    return reading;
}

Status run_lane(unsigned round, const Lane& lane, const RoundPlan& plan, LaneResult& result) {
    if (plan.progress) {
        plan.progress(round, lane);
    }
    const auto before = TRY(plan.clock());
    auto measured = lane.run();
    const auto after = TRY(plan.clock());
    if (!measured) {
        result.failures.push_back({.round = round, .why = measured.error().message});
        if (plan.failed) {
            plan.failed(lane, result.failures.back());
        }
        return {};
    }
    if (round > 0) {
        result.readings.push_back(
            reading_of(std::move(*measured), contention_between(before, after)));
    }
    return {};
}

// The lanes' places in the order of this round.
std::vector<std::size_t> order_of(unsigned round, std::size_t lanes) {
    std::vector<std::size_t> order(lanes);
    for (std::size_t i = 0; i < lanes; ++i) {
        order[i] = round % 2 == 0 ? i : lanes - 1 - i;
    }
    return order;
}

Status run_round(unsigned round, const std::vector<Lane>& lanes, const RoundPlan& plan,
                 std::vector<LaneResult>& results) {
    for (const std::size_t place : order_of(round, lanes.size())) {
        if (!lanes[place].absent.empty() || is_given_up(results[place])) {
            continue;
        }
        TRY(run_lane(round, lanes[place], plan, results[place]));
    }
    return {};
}

}  // namespace

std::size_t LaneResult::rejected() const {
    return from_contended ? 0 : readings.size() - clean_count(*this);
}

std::vector<double> LaneResult::values(const std::string& figure) const {
    std::vector<double> found;
    for (const Reading& reading : readings) {
        const auto value = reading.figures.find(figure);
        if (value != reading.figures.end() && (from_contended || is_clean(reading))) {
            found.push_back(value->second);
        }
    }
    return found;
}

Result<std::vector<LaneResult>> run_rounds(const std::vector<Lane>& lanes, const RoundPlan& plan) {
    std::vector<LaneResult> results;
    for (const Lane& lane : lanes) {
        results.push_back({.id = lane.id,
                           .title = lane.title,
                           .note = lane.note,
                           .absent = lane.absent,
                           .readings = {},
                           .failures = {}});
    }
    for (unsigned round = 0; round <= std::max(plan.most_rounds, plan.rounds); ++round) {
        const bool over = std::all_of(results.begin(), results.end(), [&](const LaneResult& lane) {
            return is_over(lane, plan.rounds);
        });
        if (over) {
            break;
        }
        TRY(run_round(round, lanes, plan, results));
    }
    for (LaneResult& lane : results) {
        lane.from_contended = plan.contended == RoundPlan::Contended::kUseWhenNothingElse &&
                              !lane.readings.empty() && clean_count(lane) == 0;
    }
    return results;
}

}  // namespace pathproof::bench
