#include "harness/preflight/tester_calibration.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "dataplane/base/file.h"
#include "dataplane/base/new_file.h"
#include "harness/message/archive.h"
#include "harness/process/json_text.h"
#include "harness/process/state_folder.h"
#include "harness/tester/messages.h"
#include "harness/verdict/interval.h"

namespace pathproof::preflight {

FIELDS(CalibratedWay, from, to, highest_pps, carried_pps, sent, lost, bad_checksums, p50_us, p99_us,
       max_us, bias, clock_ppm, tester_limit)
FIELDS(TesterCalibration::Port, name, device, driver, mac)
FIELDS(TesterCalibration, lab, date, version, kernel, ports, ways)

namespace {

using nlohmann::json;

constexpr const char* kCalibrationsSchema = "pathproof-calibrations/1";
constexpr double kShareForLoss = 0.9;     // of the highest rate
constexpr double kShareForLatency = 0.1;  // likewise

// 198.18.0.0/15, set apart for this (RFC 2544, C.2.2): nobody routes it, for the ports are joined by a cable.
measure::PathLoad load_between(const std::vector<port::PortInfo>& ports, std::size_t from,
                               std::size_t to) {
    return {.from = from,
            .to = to,
            .source_mac = ports[from].mac,
            .destination_mac = ports[to].mac,
            .source = frame::IpAddress::v4(0xc6120002),
            .destination = {frame::IpAddress::v4(0xc6130002), 7},
            .allow = "wire"};
}

Result<CalibratedWay> calibrate_way(tester::Client& tester, const std::string& from_name,
                                    const std::string& to_name, std::size_t from, std::size_t to,
                                    std::chrono::milliseconds trial) {
    constexpr double kFewPps = 1000;
    constexpr std::uint64_t kFewFrames = 100;
    CalibratedWay way{.from = from_name, .to = to_name};
    TRY(tester.start_load(load_between(tester.ports(), from, to)));
    const auto probe =
        TRY(tester.run_trial({.load_pps = kFewPps, .duration = trial, .frames = kFewFrames}));
    if (probe.lost == probe.sent) {
        return fail(
            ErrorCode::kFailed,
            "no frame of tester port {} came to {}: for its calibration the tester's ports are "
            "cabled to each other, without the DUT between them",
            from_name, to_name);
    }
    const auto full = TRY(tester.run_trial({.duration = trial}));
    way.highest_pps = full.offered_pps;
    const auto loss =
        TRY(tester.run_trial({.load_pps = kShareForLoss * way.highest_pps, .duration = 3 * trial}));
    way.carried_pps = loss.offered_pps;
    way.sent = loss.sent;
    way.lost = loss.lost;
    way.bad_checksums = probe.bad_checksums + full.bad_checksums + loss.bad_checksums;
    way.tester_limit = loss.tester_limit;
    const auto late =
        TRY(tester.run_trial({.load_pps = kShareForLatency * way.highest_pps, .duration = trial}));
    way.p50_us = static_cast<double>(late.latency.quantile_ns(0.5)) / 1e3;
    way.p99_us = static_cast<double>(late.latency.quantile_ns(0.99)) / 1e3;
    way.max_us = static_cast<double>(late.latency.max_ns()) / 1e3;
    const auto end = TRY(tester.stop_load());
    way.bias = end.bias;
    way.clock_ppm = end.clock_ppm;
    return way;
}

std::string rate_text(const CalibratedWay& way) {
    return fmt::format("{:.0f} frames/s of 64 bytes", way.highest_pps);
}

std::string loss_text(const CalibratedWay& way) {
    const auto interval = verdict::fraction_interval(way.lost, way.sent);
    return fmt::format(
        "{} of {} at {:.0f} frames/s (at most {:.2g} %){}{}", way.lost, way.sent, way.carried_pps,
        100 * interval.high,
        way.bad_checksums == 0 ? "" : fmt::format("; {} with a wrong checksum", way.bad_checksums),
        way.tester_limit.empty() ? "" : "; " + way.tester_limit);
}

std::string latency_text(const CalibratedWay& way) {
    return fmt::format(
        "half within {:.1f}, 99 % within {:.1f}, longest {:.1f} us; of it the tester's own: {:.1f} "
        "us at "
        "least, {:.1f} us of a burst",
        way.p50_us, way.p99_us, way.max_us, static_cast<double>(way.bias.floor_ns) / 1e3,
        static_cast<double>(way.bias.burst_ns) / 1e3);
}

std::string clock_text(const CalibratedWay& way) {
    return way.clock_ppm ? fmt::format("{:+.2f} ppm against the host's clock", *way.clock_ppm)
                         : "not measured: the trials took less than a second";
}

std::string age_text(double seconds) {
    constexpr double kDay = 86'400;
    return seconds < 2 * kDay ? fmt::format("{:.0f} hours ago", seconds / 3600)
                              : fmt::format("{:.0f} days ago", seconds / kDay);
}

}  // namespace

std::string why_not_of(const std::optional<TesterCalibration>& kept, const lab::LabFile& file) {
    if (!kept) {
        return fmt::format(
            "no calibration of the tester of lab '{}' is kept; 'pathproof lab calibrate' "
            "makes one",
            file.name);
    }
    for (const TesterCalibration::Port& port : kept->ports) {
        const auto same = std::ranges::find_if(file.ports, [&](const lab::TesterPort& one) {
            return one.name == port.name && one.device == port.device;
        });
        if (same == file.ports.end()) {
            return fmt::format(
                "the calibration of {} is of port {} on {}, which the lab file does not "
                "have so any more",
                kept->date, port.name, port.device);
        }
    }
    return "";
}

std::optional<double> age_of(const TesterCalibration& calibration, std::int64_t now_unix_s) {
    std::tm when{};
    if (strptime(calibration.date.c_str(), "%Y-%m-%dT%H:%M:%S", &when) == nullptr) {
        return std::nullopt;
    }
    return static_cast<double>(now_unix_s - timegm(&when));
}

verdict::FactGroup facts_of(const TesterCalibration& calibration, std::int64_t now_unix_s) {
    const auto fact = [](const std::string& name, const std::string& value) {
        return verdict::Fact{.name = name,
                             .value = value,
                             .status = verdict::Fact::Status::kRead,
                             .source = "pathproof lab calibrate"};
    };
    verdict::FactGroup group{.title = "Tester calibration"};
    const auto age = age_of(calibration, now_unix_s);
    group.facts.push_back(
        fact("date", calibration.date + (age ? " (" + age_text(*age) + ")" : "")));
    group.facts.push_back(fact("made by", fmt::format("pathproof {}, kernel {}",
                                                      calibration.version, calibration.kernel)));
    for (const TesterCalibration::Port& port : calibration.ports) {
        group.facts.push_back(fact("port " + port.name,
                                   fmt::format("{} ({}, {})", port.device, port.driver, port.mac)));
    }
    for (const CalibratedWay& way : calibration.ways) {
        const std::string which = way.from + " to " + way.to + ": ";
        group.facts.push_back(fact(which + "highest rate", rate_text(way)));
        group.facts.push_back(fact(which + "lost", loss_text(way)));
        group.facts.push_back(fact(which + "latency", latency_text(way)));
        group.facts.push_back(fact(which + "clock", clock_text(way)));
    }
    return group;
}

std::string text_of(const TesterCalibration& calibration) {
    std::string text = fmt::format("calibration of the tester of lab '{}', {}\n", calibration.lab,
                                   calibration.date);
    for (const CalibratedWay& way : calibration.ways) {
        text += fmt::format(
            "{} to {}\n  highest rate  {}\n  lost          {}\n  latency       {}\n"
            "  clock         {}\n",
            way.from, way.to, rate_text(way), loss_text(way), latency_text(way), clock_text(way));
    }
    return text;
}

Result<std::vector<CalibratedWay>> calibrate(tester::Client& tester, const lab::LabFile& file,
                                             std::size_t first, std::size_t second,
                                             std::chrono::milliseconds trial) {
    std::vector<CalibratedWay> ways;
    for (const auto& [from, to] : {std::pair{first, second}, {second, first}}) {
        ways.push_back(TRY(calibrate_way(tester, file.ports.at(from).name, file.ports.at(to).name,
                                         from, to, trial)));
    }
    return ways;
}

std::string calibrations_file() {
    return process::state_folder() + "/calibrations.json";
}

Result<std::vector<TesterCalibration>> parse_calibrations(const std::string& text) {
    const json read = process::json_or_null(text);
    if (!read.is_object() || read.value("schema", json()) != kCalibrationsSchema ||
        !read.contains("calibrations")) {
        return fail(ErrorCode::kBadInput, "it holds no calibrations ({})", kCalibrationsSchema);
    }
    return message::decode<std::vector<TesterCalibration>>(read["calibrations"]);
}

std::string calibrations_text(const std::vector<TesterCalibration>& all) {
    return process::to_text(
               json{{"schema", kCalibrationsSchema}, {"calibrations", message::encode(all)}}, 1) +
           "\n";
}

namespace {

// Reads the calibrations that the file keeps; none if there is no file.
Result<std::vector<TesterCalibration>> kept_in(const std::string& file) {
    const auto text = read_file(file);
    if (!text && text.error().code == ErrorCode::kNotFound) {
        return std::vector<TesterCalibration>();
    }
    if (!text) {
        return pass_on(text.error());
    }
    auto all = parse_calibrations(*text);
    return all ? std::move(all)
               : fail(ErrorCode::kBadInput,
                      "{} cannot be used: {}; move it away, and 'pathproof lab calibrate' makes it "
                      "anew",
                      file, all.error().message);
}

}  // namespace

Result<std::optional<TesterCalibration>> find_calibration(const std::string& file,
                                                          const std::string& lab) {
    auto all = TRY(kept_in(file));
    const auto found = std::ranges::find(all, lab, &TesterCalibration::lab);
    return found == all.end() ? std::optional<TesterCalibration>()
                              : std::optional(std::move(*found));
}

Status keep_calibration(const std::string& file, const TesterCalibration& calibration) {
    auto all = TRY(kept_in(file));
    std::erase_if(all, [&](const auto& each) { return each.lab == calibration.lab; });
    all.insert(all.begin(), calibration);
    const std::string folder = std::filesystem::path(file).parent_path();
    TRY(doing(make_folders(folder, ErrorCode::kFailed), "make the folder {}", folder));
    return replace_file(file, calibrations_text(all));
}

}  // namespace pathproof::preflight
