#include "harness/bench/rounds.h"

#include <algorithm>

namespace pathproof::bench {
namespace {

bool is_clean(const Reading& reading) {
    return reading.objection.empty();
}

std::size_t clean_count(const LaneResult& lane) {
    return static_cast<std::size_t>(
        std::count_if(lane.readings.begin(), lane.readings.end(), is_clean));
}

bool has_enough(const LaneResult& lane, unsigned rounds) {
    return !lane.absent.empty() || clean_count(lane) >= rounds;
}

Result<Reading> take_reading(const Lane& lane, const RoundPlan& plan) {
    const auto before = plan.clock();
    if (!before) {
        return pass_on(before.error());
    }
    auto measured = lane.run();
    if (!measured) {
        return fail(measured.error(), "{}", lane.title);
    }
    const auto after = plan.clock();
    if (!after) {
        return pass_on(after.error());
    }
    Reading reading{.figures = std::move(measured->figures),
                    .contention = contention_between(*before, *after),
                    .objection = {}};
    reading.contention.waiting_share = measured->waiting_share;
    reading.objection = objection(reading.contention);
    if (reading.objection.empty()) {
        reading.objection = measured->objection;
    }
    return reading;
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
        const Lane& lane = lanes[place];
        if (!lane.absent.empty()) {
            continue;
        }
        if (plan.progress) {
            plan.progress(round, lane);
        }
        auto reading = take_reading(lane, plan);
        if (!reading) {
            return pass_on(reading.error());
        }
        if (round > 0) {
            results[place].readings.push_back(std::move(*reading));
        }
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
                           .readings = {}});
    }
    for (unsigned round = 0; round <= std::max(plan.most_rounds, plan.rounds); ++round) {
        const bool enough =
            std::all_of(results.begin(), results.end(),
                        [&](const LaneResult& lane) { return has_enough(lane, plan.rounds); });
        if (enough) {
            break;
        }
        if (const Status ran = run_round(round, lanes, plan, results); !ran) {
            return pass_on(ran.error());
        }
    }
    for (LaneResult& lane : results) {
        lane.from_contended = plan.contended == RoundPlan::Contended::kUseWhenNothingElse &&
                              !lane.readings.empty() && clean_count(lane) == 0;
    }
    return results;
}

}  // namespace pathproof::bench
