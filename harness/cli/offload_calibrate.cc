// pathproof offload calibrate: which defects the instrument would see.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "dataplane/base/new_file.h"
#include "harness/cli/commands.h"
#include "harness/process/json_text.h"
#include "harness/report/json.h"
#include "harness/report/text.h"
#include "harness/scenario/calibration_result.h"

namespace pathproof::cli {
namespace {

using calibration::CalibrationResult;
using calibration::FaultScore;
using calibration::Score;

struct CalibrateOptions {
    bool quick = false;
    std::uint64_t seed = 1;
    std::uint64_t frames = 0;  // 0: the default
    bool json = false;
    std::string out;
};

const char* text_of(Score score) {
    return score == Score::kYes ? "yes" : score == Score::kNo ? "NO" : "n/a";
}

std::string table_text(const std::vector<FaultScore>& scores) {
    std::string text =
        fmt::format("{:<4} {:<52} {:<9} {:<6} {:<8} {:>11} {:>15}  {}\n", "id", "planted",
                    "detected", "named", "located", "rows failed", "frames caught", "name given");
    for (const FaultScore& score : scores) {
        text += fmt::format(
            "{:<4} {:<52} {:<9} {:<6} {:<8} {:>11} {:>15}  {}\n", score.id, score.text,
            text_of(score.detected), text_of(score.named), text_of(score.located),
            fmt::format("{} of {}", score.failed, score.must_fail), score.caught, score.given);
        text += score.note.empty() ? "" : fmt::format("     {}\n", score.note);
    }
    return text;
}

std::string confusion_text(const CalibrationResult& result) {
    std::string text = "planted -> name given: rows\n";
    for (const auto& [key, rows] : result.confusion()) {
        text += fmt::format("  {} -> {}: {}\n", key.first, key.second, rows);
    }
    return text;
}

std::string masked_text(const CalibrationResult& result) {
    std::string text;
    for (const calibration::PairScore& pair : result.pairs) {
        if (pair.masked()) {
            text += fmt::format("  {} with {}: the {}'s is masked\n", pair.sender, pair.receiver,
                                pair.sender_masked ? "sender" : "receiver");
        }
    }
    return text.empty() ? "" : "pairs of which one is masked\n" + text;
}

std::string summary_text(const CalibrationResult& result) {
    using Row = verdict::CalibrationRow;
    const verdict::Calibration counted = scenario::to_verdict(result);
    std::string text = fmt::format(
        "calibration on the {}, seed {}: {} rows sent and {} received ({} feasible tuples), {} "
        "frames a row, {:.0f} s\n",
        softnic::kSoftwareNicName, counted.seed, result.send_rows, result.receive_rows,
        result.feasible_tuples, result.options.probes, result.seconds);
    text += fmt::format(
        "faults: {} of {} rows of the list detected; variants detected {}, named {}, "
        "located {}\n",
        result.rows_detected(), result.rows(), report::score_text(counted.faults, &Row::detected),
        report::score_text(counted.faults, &Row::named),
        report::score_text(counted.faults, &Row::located));
    text += fmt::format("faults unknown to the judge: {} called UNKNOWN\n",
                        report::score_text(counted.open_world, &Row::named));
    text += fmt::format(
        "pairs of a sender's and a receiver's fault: {}; both named {}, one masked "
        "{}, missed {}\n",
        counted.pairs, counted.pairs_both_named, counted.pairs_masked, counted.pairs_missed);
    text += fmt::format(
        "healthy frames and look-alikes: {} alarms in {} (a rate above {:.1g} is "
        "excluded, 95 %)\n",
        result.healthy.alarms, result.healthy.frames, result.healthy.upper_bound());
    text += fmt::format("broken judges: {} object to healthy frames\n",
                        report::score_text(counted.judge_mutants, &Row::detected));
    return text;
}

std::string failures_text(const CalibrationResult& result) {
    std::string text;
    for (const std::string& failure : result.failures()) {
        text += fmt::format("  {}\n", failure);
    }
    return text.empty() ? "calibrated: nothing missed, nothing misnamed, no false alarm\n"
                        : "NOT calibrated:\n" + text;
}

std::string full_text(const CalibrationResult& result) {
    return table_text(result.faults) + "\n" + table_text(result.open_world) + "\n" +
           confusion_text(result) + "\n" + masked_text(result);
}

nlohmann::ordered_json document(const CalibrationResult& result) {
    nlohmann::ordered_json out = report::to_json(scenario::to_verdict(result));
    out["passed"] = result.passed();
    out["failures"] = result.failures();
    out["rows_sent"] = result.send_rows;
    out["rows_received"] = result.receive_rows;
    out["feasible_tuples"] = result.feasible_tuples;
    out["excluded_alarm_rate"] = result.healthy.upper_bound();
    nlohmann::ordered_json& kinds = out["look_alikes"];
    for (std::size_t i = 0; i < calibration::kLookAlikes; ++i) {
        kinds[name(static_cast<calibration::LookAlike>(i))] = result.healthy.look_alikes[i];
    }
    out["seconds"] = result.seconds;
    return out;
}

Status write_out(const CalibrationResult& result, const std::string& folder) {
    TRY(doing(make_folders(folder, ErrorCode::kBadInput), "cannot make the folder {}", folder));
    const Status written =
        replace_file(folder + "/calibration.json", process::to_text(document(result), 2) + "\n");
    return written ? replace_file(
                         folder + "/calibration.txt",
                         full_text(result) + "\n" + summary_text(result) + failures_text(result))
                   : written;
}

calibration::CalibrationOptions options_of(const CalibrateOptions& options) {
    calibration::CalibrationOptions wanted =
        options.quick ? calibration::quick_options() : calibration::CalibrationOptions{};
    wanted.seed = options.seed;
    wanted.healthy_frames = options.frames == 0 ? wanted.healthy_frames : options.frames;
    wanted.workers = std::clamp(std::thread::hardware_concurrency(), 1u, 4u);
    return wanted;
}

Result<int> calibrate(const CalibrateOptions& options) {
    const auto result = TRY(calibration::calibrate(options_of(options)));
    if (options.json) {
        fmt::print("{}\n", process::to_text(document(result)));
    } else {
        fmt::print("{}\n{}{}", full_text(result), summary_text(result), failures_text(result));
    }
    if (!options.out.empty()) {
        TRY(write_out(result, options.out));
    }
    return result.passed() ? 0 : 1;
}

}  // namespace

void add_calibrate(CLI::App& offload, Command& chosen) {
    CLI::App* command = offload.add_subcommand(
        "calibrate",
        "Plant every known defect in a software NIC: which the judge sees, names and locates");
    const auto options = options_for<CalibrateOptions>(*command, chosen, calibrate);
    command->add_flag("--quick", options->quick,
                      "Pairs in place of triples, few healthy frames, some pairs of faults");
    command->add_option("--seed", options->seed, "Repeats a run")->capture_default_str();
    command
        ->add_option("--frames", options->frames,
                     "Healthy frames and look-alikes (default 3000000, with --quick 60000)")
        ->check(CLI::Range(std::uint64_t{1000}, std::uint64_t{1'000'000'000}));
    command->add_flag("--json", options->json, "Print the whole result as one JSON document");
    command->add_option("--out", options->out, "Folder for calibration.json and calibration.txt");
}

}  // namespace pathproof::cli
