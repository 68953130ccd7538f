#include "harness/cli/traffic_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace pathproof::cli {
namespace {

using judge::ChecksumState;
using judge::QueryState;
using nlohmann::json;

std::string row(const char* what, const std::string& value) {
    return fmt::format("  {:<38}{:>14}\n", what, value);
}
std::string row(const char* what, std::uint64_t value) {
    return row(what, std::to_string(value));
}

std::uint64_t count(const std::array<std::uint64_t, 4>& layer, ChecksumState state) {
    return layer[static_cast<std::size_t>(state)];
}

bool seen(const std::array<std::uint64_t, 4>& layer) {
    return std::ranges::any_of(layer, [](std::uint64_t frames) { return frames != 0; });
}

std::string checksum_rows(const judge::ChecksumCounts& checksums) {
    std::string text;
    for (std::size_t n = 0; n < checksums.size(); ++n) {
        if (seen(checksums[n])) {
            text += fmt::format(
                "  {:<14}{:>12} good{:>10} bad{:>10} disabled{:>10} not verifiable\n",
                judge::name(judge::layer_at(n)), count(checksums[n], ChecksumState::kGood),
                count(checksums[n], ChecksumState::kBad),
                count(checksums[n], ChecksumState::kDisabled),
                count(checksums[n], ChecksumState::kUnverifiable));
        }
    }
    return text.empty() ? text : "checksums of received frames:\n" + text;
}

json checksum_json(const judge::ChecksumCounts& checksums) {
    json layers = json::object();
    for (std::size_t n = 0; n < checksums.size(); ++n) {
        if (seen(checksums[n])) {
            layers[judge::word(judge::layer_at(n))] = {
                {"good", count(checksums[n], ChecksumState::kGood)},
                {"bad", count(checksums[n], ChecksumState::kBad)},
                {"disabled", count(checksums[n], ChecksumState::kDisabled)},
                {"unverifiable", count(checksums[n], ChecksumState::kUnverifiable)}};
        }
    }
    return layers;
}

std::string received_rows(const judge::ReceiveTally& tally, const char* wanted) {
    return row("frames received", tally.received) + row(wanted, tally.answers) +
           row("  with a wrong checksum", tally.bad_checksum) +
           row("  malformed", tally.malformed) + row("  other traffic", tally.other_traffic) +
           row("    of them ICMP errors", tally.icmp_errors);
}

json received_json(const judge::ReceiveTally& tally, const char* wanted) {
    return {{"frames", tally.received},
            {wanted, tally.answers},
            {"bad_checksum", tally.bad_checksum},
            {"malformed", tally.malformed},
            {"other_traffic", tally.other_traffic},
            {"icmp_errors", tally.icmp_errors}};
}

std::string objection_rows(const std::vector<std::string>& objections) {
    std::string text;
    for (const std::string& objection : objections) {
        text += "not to be relied on: " + objection + "\n";
    }
    return text;
}

json head_json(const port::PortInfo& port) {
    return {{"port", port.name},
            {"driver", port.driver},
            {"evidence", port::evidence_name(port.evidence)}};
}

std::uint64_t state(const traffic::StreamReport& report, QueryState state) {
    return report.answers.states[static_cast<std::size_t>(state)];
}

double us(std::int64_t ns) {
    return static_cast<double>(ns) / 1e3;
}

}  // namespace

std::string stream_table(const traffic::StreamReport& report, const port::PortInfo& port) {
    std::string text = fmt::format("port {} ({}, {}){}\n", port.name, port.driver,
                                   port::evidence_name(port.evidence),
                                   report.partial ? ": PARTIAL, stopped before the end" : "");
    text += row("queries sent", fmt::format("{} of {}", report.sent, report.planned));
    text += row("  refused by the driver", report.refused);
    text += row("  more than 10 us late", report.late);
    text += row("queries per second", fmt::format("{:.1f}", report.queries_per_second));
    text += row("answered", state(report, QueryState::kAnswered));
    text += row("  late", state(report, QueryState::kLate));
    text += row("  from another address", state(report, QueryState::kWrongSource));
    text += row("  wrong", state(report, QueryState::kWrong));
    text += row("  further answers", report.answers.further_answers);
    text += row("not answered", report.unanswered());
    const judge::LatencySummary latency = report.answers.latency.summary();
    if (latency.count > 0) {
        text += row("answered after, us (min p50 p99 max)",
                    fmt::format("{:.1f} {:.1f} {:.1f} {:.1f}", us(latency.min_ns),
                                us(latency.p50_ns), us(latency.p99_ns), us(latency.max_ns)));
    }
    return text + received_rows(report.received, "  answers to these queries") +
           checksum_rows(report.checksums) + objection_rows(report.objections);
}

json stream_json(const traffic::StreamReport& report, const port::PortInfo& port) {
    const judge::LatencySummary latency = report.answers.latency.summary();
    json out = head_json(port);
    out.update({{"partial", report.partial},
                {"planned", report.planned},
                {"sent", report.sent},
                {"refused", report.refused},
                {"late", report.late},
                {"worst_late_us", us(report.worst_late_ns)},
                {"seconds", report.sending_seconds},
                {"queries_per_second", report.queries_per_second},
                {"answers",
                 {{"answered", state(report, QueryState::kAnswered)},
                  {"late", state(report, QueryState::kLate)},
                  {"wrong_source", state(report, QueryState::kWrongSource)},
                  {"wrong", state(report, QueryState::kWrong)},
                  {"none", report.unanswered()},
                  {"further", report.answers.further_answers}}},
                {"latency_us",
                 {{"min", us(latency.min_ns)},
                  {"p50", us(latency.p50_ns)},
                  {"p99", us(latency.p99_ns)},
                  {"max", us(latency.max_ns)}}},
                {"received", received_json(report.received, "answers")},
                {"checksums", checksum_json(report.checksums)},
                {"objections", report.objections}});
    return out;
}

std::string respond_table(const traffic::RespondReport& report, const port::PortInfo& port) {
    const traffic::ResponderCounts& queries = report.queries;
    return fmt::format("port {} ({}, {}), {:.1f} s\n", port.name, port.driver,
                       port::evidence_name(port.evidence), report.seconds) +
           row("queries", queries.queries) + row("  answered", queries.answered) +
           row("    of them in place", queries.quick) +
           row("  lost on purpose", queries.lost_on_purpose) +
           row("  still waiting for their time", report.waiting) +
           row("  no room", queries.no_room) + row("  not sent", queries.not_sent) +
           row("reflected", queries.reflected) + row("  not sent", queries.not_reflected) +
           received_rows(report.received, "  queries") + checksum_rows(report.checksums) +
           objection_rows(report.objections);
}

json respond_json(const traffic::RespondReport& report, const port::PortInfo& port) {
    json out = head_json(port);
    out.update({{"seconds", report.seconds},
                {"queries",
                 {{"received", report.queries.queries},
                  {"answered", report.queries.answered},
                  {"in_place", report.queries.quick},
                  {"lost_on_purpose", report.queries.lost_on_purpose},
                  {"waiting", report.waiting},
                  {"no_room", report.queries.no_room},
                  {"not_sent", report.queries.not_sent}}},
                {"reflected",
                 {{"sent", report.queries.reflected}, {"not_sent", report.queries.not_reflected}}},
                {"received", received_json(report.received, "queries")},
                {"received_by_lcore", report.received_by_worker},
                {"checksums", checksum_json(report.checksums)},
                {"objections", report.objections}});
    return out;
}

}  // namespace pathproof::cli
