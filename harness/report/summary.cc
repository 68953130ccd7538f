#include <fmt/format.h>

#include "harness/report/badge.h"
#include "harness/report/certificate.h"
#include "harness/report/coverage.h"
#include "harness/report/prices.h"
#include "harness/report/report.h"
#include "harness/report/text.h"
#include "harness/verdict/preflight.h"

namespace pathproof::report {
namespace {

using namespace verdict;

constexpr std::size_t kWidth = 100;
constexpr std::size_t kLabel = 9;  // "  cause  "

// The foreground colour of ECMA-48 section 8.3.117 (SGR): green, red or yellow.
int colour_number(std::string_view tone) {
    if (tone == "good") {
        return 32;
    }
    return tone == "bad" ? 31 : 33;
}

// ECMA-48 section 8.3.117 (SGR): bold and a colour.
std::string painted(const Badge& badge, Colour colour) {
    if (colour == Colour::kNone) {
        return badge.word;
    }
    return fmt::format("\033[1;{}m{}\033[0m", colour_number(badge.tone), badge.word);
}

std::string labelled(const char* label, const std::string& text) {
    std::string lines;
    for (const std::string& line : lines_of(text)) {
        lines += fmt::format("  {:<{}}{}\n", lines.empty() ? label : "", kLabel - 2,
                             wrap(line, kWidth, kLabel));
    }
    return lines;
}

std::string of_scenario(const ScenarioResult& scenario, Colour colour) {
    std::string text = fmt::format("\n{}  {}\n", wrap(scenario.id, kWidth, 0),
                                   painted(badge_of(scenario.verdict), colour));
    text += labelled("cells", coverage_text(coverage_of(scenario)));
    if (!scenario.part.empty()) {
        text += labelled("part", "only the cells that match " + scenario.part + " were run");
    }
    if (!scenario.repetitions.empty()) {
        text += labelled("runs",
                         fmt::format("{} repetitions, with the seeds {} to {}; cause and cure "
                                     "are of repetition {}",
                                     scenario.repetitions.size(), scenario.repetitions.front().seed,
                                     scenario.repetitions.back().seed, scenario.kept));
    }
    if (!scenario.headline.empty()) {
        text += labelled("found", scenario.headline);
    }
    if (!scenario.cause.empty()) {
        text += labelled("cause", scenario.cause);
    }
    if (!scenario.cure.empty()) {
        text += labelled("cure", scenario.cure);
        text +=
            labelled("", scenario.cure_shown ? "(shown in this run)" : "(not shown in this run)");
    }
    if (scenario.unexplained > 0) {
        text += labelled("open", fmt::format("{} lost or wrong answers without a known cause",
                                             scenario.unexplained));
    }
    return text;
}

std::string certificate_text(const RunResult& run) {
    constexpr std::size_t kIndent = 23;  // "  Takes the place of   "
    std::string text = "\n";
    for (const auto& [name, value] : certificate_rows(run)) {
        // A long name has a line of its own.
        const bool fits = name.size() + 4 < kIndent;
        text += fmt::format(
            "  {}{}{}\n", wrap(name, kWidth, 2),
            fits ? std::string(kIndent - 2 - name.size(), ' ') : "\n" + std::string(kIndent, ' '),
            wrap(value, kWidth, kIndent));
    }
    return text;
}

// A line an area, where the run speaks of more than one.
std::string areas_text(const RunResult& run) {
    const auto areas = judge_areas(run.scenarios);
    std::string text;
    if (areas.size() < 2) {
        return text;
    }
    constexpr std::size_t kIndent = 21;  // "  device and driver  "
    for (const AreaVerdict& area : areas) {
        text += fmt::format(
            "  {:<{}}{}\n", name(area.area), kIndent - 2,
            wrap(fmt::format("{}: {}", name(area.verdict), area.sentence), kWidth, kIndent));
    }
    return text;
}

// Checks before the run that did not pass, and how the cables were proved.
std::string preflight_text(const Preflight& preflight) {
    std::string text = "\npreflight\n";
    for (const Preflight::Cable& cable : preflight.cables) {
        text += labelled("cable",
                         fmt::format("{} - {}: {}", cable.port, cable.device, name(cable.proof)));
    }
    std::size_t good = 0;
    for (const Preflight::Check& check : preflight.checks) {
        good += check.outcome == "ok" ? 1 : 0;
        if (check.outcome != "ok") {
            text += labelled(check.outcome.c_str(),
                             fmt::format("{}: {}: {}", check.of, check.what, check.found));
        }
    }
    return text + labelled("ok", fmt::format("{} of {} checks", good, preflight.checks.size()));
}

}  // namespace

std::string summary(const RunResult& run, Colour colour) {
    std::string text =
        fmt::format("{}  {}\n", painted(headline_of(run), colour), subject_of(run.evidence_class));
    text += wrap(meaning(run), kWidth, 0) + "\n";
    text += areas_text(run);
    text += run.preflight ? preflight_text(*run.preflight) : "";
    for (const std::string& reason : run.reasons) {
        text += "  - " + wrap(reason, kWidth, 4) + "\n";
    }
    for (const ScenarioResult& scenario : run.scenarios) {
        text += of_scenario(scenario, colour);
    }
    text += run.prices ? prices_text(*run.prices) : "";
    text += certificate_text(run);
    // Not wrapped: it is there to be copied.
    return text + "\n" + "repeat   " + wrap(run.repeat_command, std::string::npos, kLabel) + "\n";
}

}  // namespace pathproof::report
