#include "harness/scenario/performance/soak.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "dataplane/base/file.h"
#include "harness/message/archive.h"
#include "harness/message/fields.h"
#include "harness/process/json_text.h"
#include "harness/process/log.h"
#include "harness/scenario/measures.h"
#include "harness/scenario/performance/path_bench.h"
#include "harness/verdict/interval.h"

namespace pathproof::scenario::performance {

FIELDS(SoakSample, at_s, seconds, offered_pps, sent, lost, bad_checksums, reordered, device_errors,
       memory_available_kib, slab_kib, tester_limited)

namespace {

using nlohmann::json;
using verdict::Cell;
using verdict::CellVerdict;

constexpr const char* kSoakSchema = "pathproof-soak/1";
constexpr double kLongestSample = 10;  // seconds
constexpr double kLeastSamples = 20;
constexpr std::size_t kMostPoints = 400;  // of a curve

template <typename T>
T total(const std::vector<SoakSample>& samples, T SoakSample::*value) {
    return std::accumulate(samples.begin(), samples.end(), T{},
                           [&](T sum, const SoakSample& sample) { return sum + sample.*value; });
}

// KiB an hour that a value grew by, by least squares.
double growth_an_hour(const std::vector<SoakSample>& samples, std::int64_t SoakSample::*value) {
    const auto count = static_cast<double>(samples.size());
    double x = 0;
    double y = 0;
    for (const SoakSample& sample : samples) {
        x += sample.at_s / count;
        y += static_cast<double>(sample.*value) / count;
    }
    double xx = 0;
    double xy = 0;
    for (const SoakSample& sample : samples) {
        xx += (sample.at_s - x) * (sample.at_s - x);
        xy += (sample.at_s - x) * (static_cast<double>(sample.*value) - y);
    }
    return xx > 0 ? 3600 * xy / xx : 0;
}

// Errors and drops that the DUT counts at both devices.
Result<std::uint64_t> device_errors(PathBench& bench) {
    const auto counters = TRY(bench.dut().counters());
    std::uint64_t sum = 0;
    for (const std::string& device : {bench.in_device(), bench.out_device()}) {
        for (const char* name : {"rx_errors", "tx_errors", "rx_dropped", "tx_dropped"}) {
            sum += value_in(counters, device + "." + name);
        }
    }
    return sum;
}

// An unfinished soak of the same lab and length, or a new one.
Soak begin_or_resume(const std::string& file, const Soak& fresh) {
    const auto text = file.empty() ? Result<std::string>(std::string()) : read_file(file);
    auto found = text && !text->empty() ? parse_soak(*text) : Result<Soak>(Soak{});
    if (!found || found->samples.empty() || found->is_complete() || found->lab != fresh.lab ||
        found->planned_s != fresh.planned_s) {
        return fresh;
    }
    ++found->sittings;
    process::log(fmt::format("soak: goes on after {:.0f} of {:.0f} s, at {:.0f} frames/s as before",
                             found->done_s(), found->planned_s, found->load_pps));
    return std::move(*found);
}

std::string text_of(const Soak& soak) {
    std::string text = head_line(soak);
    for (const SoakSample& sample : soak.samples) {
        text += sample_line(sample);
    }
    return text;
}

Result<SoakSample> take_sample(PathBench& bench, const Soak& soak, double seconds) {
    const std::uint64_t before = TRY(device_errors(bench));
    const auto trial = TRY(bench.measurer().measure(
        {.load_pps = soak.load_pps,
         .duration = search::Nanoseconds(static_cast<std::int64_t>(seconds * 1e9))}));
    const std::uint64_t after = TRY(device_errors(bench));
    const auto use = TRY(bench.dut().cpu_use(bench.in_device()));
    return SoakSample{.at_s = soak.done_s() + seconds,
                      .seconds = seconds,
                      .offered_pps = trial.offered_pps,
                      .sent = trial.sent,
                      .lost = trial.lost,
                      .bad_checksums = trial.bad_checksums,
                      .reordered = trial.reordered,
                      .device_errors = after - std::min(after, before),
                      .memory_available_kib = use.memory_available_kib,
                      .slab_kib = use.slab_kib,
                      .tester_limited = !trial.tester_limit.empty()};
}

}  // namespace

std::string head_line(const Soak& soak) {
    return process::to_text(json{{"schema", kSoakSchema},
                                 {"lab", soak.lab},
                                 {"planned_s", soak.planned_s},
                                 {"load_pps", soak.load_pps},
                                 {"sittings", soak.sittings}}) +
           "\n";
}

std::string sample_line(const SoakSample& sample) {
    return process::to_text(message::encode(sample)) + "\n";
}

Result<Soak> parse_soak(const std::string& text) {
    const auto bad = [](const std::string& what) {
        return fail(ErrorCode::kBadInput, "it is no record of a soak ({}): {}", kSoakSchema, what);
    };
    Soak soak;
    std::size_t at = 0;
    for (std::size_t line = 0; at < text.size(); ++line) {
        const std::size_t end = text.find('\n', at);
        if (end == std::string::npos) {
            break;  // the program ended while it was written
        }
        const json read = process::json_or_null(text.substr(at, end - at));
        at = end + 1;
        if (line == 0) {
            if (!read.is_object() || read.value("schema", "") != kSoakSchema) {
                return bad("its first line does not say so");
            }
            soak.lab = read.value("lab", "");
            soak.planned_s = read.value("planned_s", 0.0);
            soak.load_pps = read.value("load_pps", 0.0);
            soak.sittings = read.value("sittings", std::uint64_t{1});
            continue;
        }
        auto sample = message::decode<SoakSample>(read);
        if (!sample) {
            return bad(fmt::format("line {}: {}", line + 1, sample.error().message));
        }
        soak.samples.push_back(*sample);
    }
    return text.empty() ? Result<Soak>(bad("it is empty")) : Result<Soak>(std::move(soak));
}

Cell conclude(const std::string& id, const Soak& soak) {
    Cell cell{.id = id, .toggles = {{"frames", "64 bytes"}}};
    if (soak.samples.empty()) {
        cell.verdict = CellVerdict::kInconclusive;
        cell.reason = "no sample was taken";
        return cell;
    }
    const auto& samples = soak.samples;
    std::vector<double> rates;
    for (const SoakSample& sample : samples) {
        rates.push_back(static_cast<double>(sample.sent - std::min(sample.sent, sample.lost)) /
                        sample.seconds);
    }
    cell.measures.push_back(
        {.name = "seconds",
         .label = "under load",
         .value = soak.done_s(),
         .unit = "s",
         .note = soak.sittings > 1 ? fmt::format("in {} runs", soak.sittings) : ""});
    cell.measures.push_back(verdict::mean_of("forwarded_pps", "forwarded", rates, "frames/s"));
    cell.measures.push_back({.name = "least_pps",
                             .label = "forwarded in the worst sample",
                             .value = *std::ranges::min_element(rates),
                             .unit = "frames/s"});
    cell.measures.push_back(verdict::share("lost_share", "lost", total(samples, &SoakSample::lost),
                                           total(samples, &SoakSample::sent)));
    const std::uint64_t bad = total(samples, &SoakSample::bad_checksums);
    cell.measures.push_back(count_of("bad_checksums", "frames with a wrong checksum", bad));
    cell.measures.push_back(
        count_of("reordered", "out of order", total(samples, &SoakSample::reordered)));
    cell.measures.push_back(count_of("device_errors",
                                     "errors and drops that the DUT's devices count",
                                     total(samples, &SoakSample::device_errors)));
    for (const auto& [name, label, value] :
         {std::tuple{"slab_growth", "kernel memory (slab) grew by", &SoakSample::slab_kib},
          std::tuple{"available_growth", "memory available grew by",
                     &SoakSample::memory_available_kib}}) {
        cell.measures.push_back({.name = name,
                                 .label = label,
                                 .value = growth_an_hour(samples, value),
                                 .unit = "KiB/h",
                                 .note = fmt::format("from {} to {} KiB", samples.front().*value,
                                                     samples.back().*value)});
    }
    const bool limited = std::ranges::any_of(samples, &SoakSample::tester_limited);
    cell.measures.push_back(
        words_of(verdict::kLimitedBy, "limited by", limited ? "tester" : "device"));
    cell.verdict = CellVerdict::kPass;
    if (bad != 0) {
        cell.verdict = CellVerdict::kFail;
        cell.cause = "wrong-checksum";
        cell.reason = fmt::format("{} frames came back with a wrong checksum", bad);
    } else if (!soak.is_complete()) {
        cell.verdict = CellVerdict::kInconclusive;
        cell.reason = fmt::format(
            "it ended after {:.0f} of {:.0f} s; the same command with the same --out goes on with "
            "it",
            soak.done_s(), soak.planned_s);
    } else if (limited) {
        cell.reason =
            "the tester was the limit in some samples: what they lack is not the device's";
    }
    return cell;
}

std::vector<verdict::Chart> soak_charts(const Soak& soak) {
    verdict::Chart rate{
        .title = "Soak: rate over time", .unit = "1000 frames/s", .x_label = "minutes under load"};
    verdict::Chart loss{.title = "Soak: loss over time",
                        .unit = "% of the frames",
                        .x_label = "minutes under load"};
    verdict::Chart memory{
        .title = "Soak: memory of the DUT", .unit = "MiB", .x_label = "minutes under load"};
    verdict::Curve forwarded{.label = "forwarded"};
    verdict::Curve lost{.label = "lost"};
    verdict::Curve slab{.label = "kernel memory (slab)"};
    verdict::Curve available{.label = "available"};
    const std::size_t step = soak.samples.size() / kMostPoints + 1;
    for (std::size_t n = 0; n < soak.samples.size(); n += step) {
        const SoakSample& sample = soak.samples[n];
        const double minutes = sample.at_s / 60;
        const auto arrived = static_cast<double>(sample.sent - std::min(sample.sent, sample.lost));
        forwarded.points.push_back({.x = minutes, .y = arrived / sample.seconds / 1e3});
        const verdict::Interval share = verdict::fraction_interval(sample.lost, sample.sent);
        lost.points.push_back({.x = minutes,
                               .y = sample.sent == 0 ? 0
                                                     : 100 * static_cast<double>(sample.lost) /
                                                           static_cast<double>(sample.sent),
                               .interval = verdict::Interval{100 * share.low, 100 * share.high}});
        slab.points.push_back({.x = minutes, .y = static_cast<double>(sample.slab_kib) / 1024});
        available.points.push_back(
            {.x = minutes, .y = static_cast<double>(sample.memory_available_kib) / 1024});
    }
    rate.curves = {std::move(forwarded)};
    loss.curves = {std::move(lost)};
    memory.curves = {std::move(slab), std::move(available)};
    return {std::move(rate), std::move(loss), std::move(memory)};
}

Result<Cell> run_soak(Context& context, PathBench& bench, double load_pps,
                      verdict::ScenarioResult& result) {
    const Options& options = context.options;
    const std::string file =
        options.report_folder.empty() ? "" : options.report_folder + "/" + kSoakFile;
    Soak soak =
        begin_or_resume(file, {.lab = context.lab.name(),
                               .planned_s = static_cast<double>(options.number(kSoakOption, 0)),
                               .load_pps = load_pps});
    if (soak.load_pps <= 0) {
        return Cell{.id = kSoakOption,
                    .verdict = CellVerdict::kInconclusive,
                    .reason = "no load is carried without loss"};
    }
    std::ofstream log;
    if (!file.empty()) {
        log.open(file, std::ios::trunc);
        log << text_of(soak) << std::flush;
    }
    TRY(bench.start({{64, 1}}));
    const double length = std::min(kLongestSample, soak.planned_s / kLeastSamples);
    while (!soak.is_complete() && context.journal.is_open()) {
        // The last one takes what is left, and is never a sliver.
        const double left = soak.planned_s - soak.done_s();
        const bool is_last = left < 1.5 * length;
        soak.samples.push_back(TRY(take_sample(bench, soak, is_last ? left : length)));
        soak.samples.back().at_s = is_last ? soak.planned_s : soak.samples.back().at_s;
        log << sample_line(soak.samples.back()) << std::flush;
    }
    if (!file.empty() && !log) {
        process::log(
            fmt::format("{} could not be written: this soak cannot be gone on with", file));
    }
    std::ranges::move(soak_charts(soak), std::back_inserter(result.charts));
    return conclude(kSoakOption, soak);
}

}  // namespace pathproof::scenario::performance
