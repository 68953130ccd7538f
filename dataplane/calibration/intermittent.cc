#include "dataplane/calibration/intermittent.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "dataplane/softnic/facts.h"

namespace pathproof::calibration {
namespace {

using softnic::Fault;

constexpr std::uint32_t kFlows = 256;          // different probes, sent in turn
constexpr std::uint64_t kEnoughFrames = 2048;  // of a fault that hits a class of frames
// Expected hits: that fewer than three come then has a probability of 5e-4 (Poisson).
constexpr double kExpectedHits = 12;

// Plain UDP whose checksum the NIC makes.
constexpr matrix::Row kRow{.handover = matrix::Handover::kInner};

bool has_fact(const Fault& fault, softnic::Fact fact) {
    return std::ranges::any_of(fault.predicate.conditions,
                               [&](const auto& condition) { return condition.fact == fact; });
}

std::uint64_t frames_for(const Fault& fault) {
    if (fault.after > 0) {
        return 2 * fault.after;
    }
    return fault.rate < 1 ? static_cast<std::uint64_t>(std::ceil(kExpectedHits / fault.rate))
                          : kEnoughFrames;
}

struct Run {
    std::uint64_t frames = 0;
    std::uint64_t changed = 0;    // differ from a healthy NIC's
    std::uint64_t caught = 0;     // the judge objects
    std::uint64_t astray = 0;     // caught and not changed, or changed and not caught
    std::uint64_t misplaced = 0;  // changed though the fault may not, or the other way round
    matrix::TxCellResult cell;
};

// Returns whether the fault must change a frame (false: it must not). A fault with a rate need not
// change any single frame.
bool must_change(const Fault& fault, const softnic::TxFrame& frame, std::uint64_t number) {
    return number >= fault.after &&
           softnic::effect_on(fault, frame) == softnic::FaultEffect::kDifferent;
}

Result<std::vector<SentProbe>> make_probes(std::uint64_t seed) {
    const matrix::ProbeMaker maker(matrix::software_nic_limits(), matrix::Direction::kTransmit, {},
                                   seed);
    softnic::SoftNic healthy;
    std::vector<SentProbe> probes;
    for (std::uint32_t index = 0; index < kFlows; ++index) {
        SentProbe probe = TRY(make_sent(maker, kRow, {0, index}, healthy));
        probes.push_back(std::move(probe));
    }
    return probes;
}

Run run(const Fault& fault, std::vector<SentProbe>& probes, std::uint64_t frames,
        std::uint64_t seed) {
    softnic::SoftNic nic({}, {fault}, seed);
    matrix::TxCell cell(kRow);
    softnic::TxResult sent;
    Run run{.frames = frames};
    for (std::uint64_t number = 0; number < frames; ++number) {
        SentProbe& probe = probes[number % kFlows];
        softnic::TxFrame& frame = probe.frames.front();
        frame.queue = static_cast<std::uint16_t>(number / kFlows % 2);
        nic.transmit(frame, sent);
        const std::uint64_t exact = cell.counts().exact;
        cell.add(probe.probe, sent.frames);
        const bool changed = sent.frames != probe.healthy.front();
        const bool caught = cell.counts().exact == exact;
        run.changed += changed ? 1 : 0;
        run.caught += caught ? 1 : 0;
        run.astray += changed != caught ? 1 : 0;
        const bool certain = fault.rate == 1;
        run.misplaced += certain && must_change(fault, frame, number) != changed ? 1 : 0;
    }
    run.cell = cell.result();
    return run;
}

bool as_many_as_the_rate_gives(const Fault& fault, const Run& run) {
    const double expected = static_cast<double>(run.frames) * fault.rate;
    return std::abs(static_cast<double>(run.changed) - expected) <= 4 * std::sqrt(expected) + 1;
}

void conclude(FaultScore& score, const Fault& fault, const Run& run) {
    const std::vector<Verdict> verdicts = causes_of(run.cell);
    const bool in_place =
        fault.rate < 1 ? as_many_as_the_rate_gives(fault, run) : run.misplaced == 0;
    score.rows = 1;
    score.must_fail = 1;
    score.failed = verdicts.empty() ? 0 : 1;
    score.effect = {.hit = run.changed, .equivalent = 0, .harmless = 0, .wrong = run.changed};
    score.caught = run.caught;
    score.given = titles_of(verdicts);
    ++score.names[score.given];
    score.detected = yes_if(run.caught > 0);
    score.exact = naming_of(fault, verdicts, nullptr) == Naming::kExact ? 1 : 0;
    score.named = yes_if(!verdicts.empty() && score.exact == 1);
    score.located = yes_if(run.caught > 0 && run.astray == 0 && in_place);
    score.note = fmt::format("{} of {} frames", run.caught, run.frames);
}

}  // namespace

bool is_intermittent(const softnic::FaultModel& model) {
    const Fault fault = softnic::fault_of(model);
    return fault.rate < 1 || fault.after > 0 || has_fact(fault, softnic::Fact::kQueue) ||
           has_fact(fault, softnic::Fact::kFlow);
}

FaultScore score_intermittent(const softnic::FaultModel& model, std::uint64_t seed,
                              std::uint64_t most_frames) {
    const Fault fault = softnic::fault_of(model);
    FaultScore score;
    score.id = model.id;
    score.text = model.text;
    const std::uint64_t frames = frames_for(fault);
    if (frames > most_frames) {
        score.detected = score.named = score.located = Score::kNotApplicable;
        score.note = fmt::format(
            "not run: {} frames are needed to show it, {} are allowed and exclude rates from "
            "{:.2g} "
            "on only",
            frames, most_frames, 3 / static_cast<double>(most_frames));
        return score;
    }
    Result<std::vector<SentProbe>> probes = make_probes(seed);
    if (!probes) {
        score.note = probes.error().message;
        return score;
    }
    conclude(score, fault, run(fault, *probes, frames, seed));
    return score;
}

}  // namespace pathproof::calibration
