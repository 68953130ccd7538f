#include "dataplane/calibration/calibration.h"

#include <fmt/format.h>

#include <chrono>
#include <set>

#include "dataplane/calibration/intermittent.h"
#include "dataplane/calibration/parallel.h"

namespace pathproof::calibration {
namespace {

using softnic::FaultModel;

std::vector<FaultScore> score_all(std::span<const FaultModel> models, const Material& material,
                                  const CalibrationOptions& options) {
    std::vector<FaultScore> scores(models.size());
    for_each_piece(models.size(), options.workers, [&](std::size_t which) {
        const FaultModel& model = models[which];
        scores[which] = is_intermittent(model)
                            ? score_intermittent(model, options.seed, options.most_intermittent)
                            : score_fault(model, material, options.seed, options.blind_to);
    });
    return scores;
}

std::string mechanism_of(const std::string& text) {
    const auto fault = softnic::parse_fault(text);
    return fault ? std::string(softnic::mechanism_name(*fault)) : text;
}

void add_failures(const FaultScore& score, std::vector<std::string>& failures) {
    const std::string who = fmt::format("{} {}", score.id, score.text);
    if (score.detected == Score::kNo) {
        failures.push_back(
            fmt::format("{}: not detected{}{}", who, score.note.empty() ? "" : ": ", score.note));
        return;
    }
    for (const std::string& row : score.missed) {
        failures.push_back(fmt::format("{}: missed in row '{}'", who, row));
    }
    for (const std::string& row : score.extra) {
        failures.push_back(
            fmt::format("{}: objected to in row '{}', where it does not act", who, row));
    }
    for (const std::string& name : score.wrongly_named) {
        failures.push_back(fmt::format("{}: called {}", who, name));
    }
    const bool told = !score.missed.empty() || !score.extra.empty() || !score.wrongly_named.empty();
    if (!told && (score.named == Score::kNo || score.located == Score::kNo)) {
        failures.push_back(fmt::format("{}: {} ({})", who,
                                       score.named == Score::kNo ? "not named" : "not located",
                                       score.given));
    }
}

void add_failures(const PairScore& pair, std::vector<std::string>& failures) {
    if (pair.both_named() || pair.masked()) {
        return;
    }
    const bool sender = pair.sender_named || pair.sender_masked;
    failures.push_back(fmt::format("{} and {} together: {} is neither named nor masked ({})",
                                   pair.sender, pair.receiver,
                                   sender ? "the receiver's" : "the sender's",
                                   pair.given.empty() ? "nothing seen" : pair.given));
}

}  // namespace

CalibrationOptions quick_options() {
    return {.strength = matrix::Strength::kPairs,
            .healthy_frames = 60'000,
            .most_intermittent = 20'000,
            .pair_step = 4};
}

std::size_t CalibrationResult::rows() const {
    std::set<std::string> ids;
    for (const FaultScore& score : faults) {
        ids.insert(score.id);
    }
    return ids.size();
}

std::size_t CalibrationResult::rows_detected() const {
    std::set<std::string> detected;
    std::set<std::string> missed;
    for (const FaultScore& score : faults) {
        if (score.detected == Score::kYes) {
            detected.insert(score.id);
        } else if (score.detected == Score::kNo) {
            missed.insert(score.id);
        }
    }
    std::erase_if(detected, [&](const std::string& id) { return missed.contains(id); });
    return detected.size();
}

std::map<std::pair<std::string, std::string>, std::uint64_t> CalibrationResult::confusion() const {
    std::map<std::pair<std::string, std::string>, std::uint64_t> counts;
    for (const std::vector<FaultScore>* scores : {&faults, &open_world}) {
        for (const FaultScore& score : *scores) {
            for (const auto& [name, rows] : score.names) {
                counts[{mechanism_of(score.text), name}] += rows;
            }
        }
    }
    return counts;
}

std::vector<std::string> CalibrationResult::failures() const {
    std::vector<std::string> failures;
    for (const std::vector<FaultScore>* scores : {&faults, &open_world}) {
        for (const FaultScore& score : *scores) {
            add_failures(score, failures);
        }
    }
    for (const PairScore& pair : pairs) {
        add_failures(pair, failures);
    }
    for (const std::string& example : healthy.examples) {
        failures.push_back(fmt::format("false alarm among healthy frames: {}", example));
    }
    for (std::size_t i = 0; i < kLookAlikes; ++i) {
        if (healthy.look_alikes[i] == 0) {
            failures.push_back(fmt::format("no look-alike {} among the healthy frames",
                                           name(static_cast<LookAlike>(i))));
        }
    }
    for (const MutantScore& mutant : mutants) {
        if (!mutant.as_it_must()) {
            failures.push_back(
                fmt::format("the byte-wise judge with the mistake '{}' objects to {} "
                            "of {} healthy frames",
                            judge::name(mutant.mistake), mutant.alarms, mutant.frames));
        }
    }
    return failures;
}

Result<CalibrationResult> calibrate(const CalibrationOptions& options) {
    const auto start = std::chrono::steady_clock::now();
    const Material material = TRY(make_material(options));
    CalibrationOptions fewer = options;
    fewer.strength = matrix::Strength::kPairs;
    // Pairs need names, not every combination of values.
    const Material small = TRY(make_material(fewer));
    CalibrationResult result{.options = options};
    result.send_rows = material.send.size();
    result.receive_rows = material.receive.size();
    result.feasible_tuples = material.feasible_tuples;
    result.faults = score_all(softnic::fault_models(), material, options);
    result.open_world = score_all(softnic::open_world_models(), material, options);
    result.pairs = score_pairs(small, options.seed, options.workers, options.pair_step);
    result.mutants = score_mutants(small);
    result.healthy = TRY(run_healthy(material, options));
    result.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
}

}  // namespace pathproof::calibration
