#include <nlohmann/json.hpp>

#include "harness/cli/followed_text.h"
#include "harness/cli/generate/figures.h"
#include "harness/cli/generate/rate_text.h"
#include "harness/cli/generate/result.h"
#include "harness/cli/traffic_rows.h"
#include "harness/message/archive.h"
#include "harness/message/fields.h"

namespace pathproof::load {

FIELDS(HandOver, left_out, refused, taken_back, no_buffer, stuck)
FIELDS(WorkerHealth, worker, ran_ns, waited_ns, stalls, stalled_ns, longest_stall_ns,
       cycles_per_frame)

}  // namespace pathproof::load

namespace pathproof::cli {
namespace {

using load::TrialReport;
using nlohmann::json;

json histogram_json(const judge::LatencyHistogram& times) {
    return {{"count", times.count()},
            {"min", us(times.min_ns())},
            {"p50", us(times.quantile_ns(0.5))},
            {"p90", us(times.quantile_ns(0.9))},
            {"p99", us(times.quantile_ns(0.99))},
            {"p99_9", us(times.quantile_ns(0.999))},
            {"max", us(times.max_ns())}};
}

json answers_json(const TrialReport& report, const load::ClassTotals& all) {
    return {
        {"answered", all.unique - all.late}, {"late", all.late},       {"wrong", all.wrong},
        {"none", report.missing()},          {"damaged", all.damaged}, {"further", all.duplicates},
        {"reordered", all.reordered}};
}

json classes_json(const TrialReport& report) {
    json classes = json::object();
    for (const ClassFigures& one : class_figures(report)) {
        classes[frame::name(one.traffic)] = {{"sent", one.sent},
                                             {"as_sent", one.came->as_sent()},
                                             {"unique", one.came->unique},
                                             {"missing", one.missing()},
                                             {"duplicates", one.came->duplicates},
                                             {"reordered", one.came->reordered},
                                             {"late", one.came->late},
                                             {"wrong", one.came->wrong},
                                             {"damaged", one.came->damaged},
                                             {"latency_us", histogram_json(one.came->latency)}};
    }
    return classes;
}

json compared_json(const GenerateResult& result) {
    json fields = json::object();
    for (const load::WrongField& one : wrong_fields(result.report)) {
        fields[one.name] = one.frames;
    }
    const auto listed = [](const std::vector<load::WrongFrame>& frames) {
        json list = json::array();
        for (const load::WrongFrame& one : frames) {
            list.push_back(
                {{"at_s", us(one.at_ns) / 1e6}, {"bytes", one.bytes.size()}, {"what", one.what}});
        }
        return list;
    };
    return {{"allowed", load::text(result.allowed)},
            {"wrong", result.report.wrong()},
            {"fields", fields},
            {"first", listed(result.wrong_frames)},
            {"damaged", listed(result.damaged_frames)}};
}

json icmp_json(const GenerateResult& result) {
    json list = json::array();
    for (const load::IcmpErrorCount& count : result.report.intake.icmp_errors) {
        json fields = json::object();
        for (std::size_t i = 0; i < load::kQuoteFields; ++i) {
            if (count.wrong[i] != 0) {
                fields[load::name(static_cast<load::QuoteField>(i))] = count.wrong[i];
            }
        }
        list.push_back(
            {{"port", count.kind.port == 0 ? result.sending.name : result.receiving.name},
             {"family", count.kind.network == frame::Network::kIpv4 ? 4 : 6},
             {"type", count.kind.type},
             {"code", count.kind.code},
             {"mtu", count.kind.mtu},
             {"text", load::text(count.kind)},
             {"frames", count.frames},
             {"ours", count.ours},
             {"wrong_quotes", count.wrong_quotes},
             {"wrong_fields", std::move(fields)},
             {"example", count.example}});
    }
    return list;
}

json reordering_json(const TrialReport& report) {
    const judge::SequenceTotals all = all_streams(report);
    std::vector<std::uint64_t> distances(all.distance.begin(), all.distance.end());
    while (!distances.empty() && distances.back() == 0) {
        distances.pop_back();
    }
    return {{"furthest", all.furthest}, {"too_old", all.too_old}, {"by_power_of_two", distances}};
}

json departures_json(const TrialReport& report) {
    const load::InterDeparture& departures = report.departures;
    json out = {{"gap_us", histogram_json(departures.gaps)},
                {"late", departures.late},
                {"worst_late_us", us(departures.worst_late_ns)},
                {"seconds_judged", departures.windows},
                {"worst_second", departures.worst_window}};
    if (report.skew.pairs > 0) {
        out["pair_skew_ns"] = {{"pairs", report.skew.pairs},
                               {"min", report.skew.min_ns},
                               {"mean", report.skew.mean_ns},
                               {"max", report.skew.max_ns}};
    }
    return out;
}

json bias_json(const load::OwnBias& bias) {
    return {{"floor", us(bias.floor_ns)},
            {"single", us(bias.single_ns)},
            {"burst", us(bias.burst_ns)},
            {"hand_over", us(bias.hand_over_ns)},
            {"poll", us(bias.poll_ns)}};
}

json flags_json(const load::RxFlagCounts& flags) {
    return {{"good_on_good", flags.good_on_good},
            {"good_on_bad", flags.good_on_bad},
            {"bad_on_good", flags.bad_on_good},
            {"bad_on_bad", flags.bad_on_bad},
            {"no_claim", flags.unknown}};
}

void add_arrivals(json& out, const TrialReport& report) {
    const load::ClassTotals all = load::all_classes(report.intake);
    out.update({{"answers", answers_json(report, all)},
                {"classes", classes_json(report)},
                {"reordering", reordering_json(report)},
                {"latency_us", histogram_json(all.latency)},
                {"latency_less_own_us", histogram_json(all.latency.less(report.bias.floor_ns))}});
}

}  // namespace

json result_json(const GenerateResult& result) {
    const TrialReport& report = result.report;
    json out = head_json(result.sending);
    out.update(
        {{"type", "result"},
         {"receive_port", head_json(result.receiving)},
         {"verdict", verdict_line(result)},
         {"partial", report.partial},
         {"planned", report.order.frames},
         {"sent", report.sent},
         {"hand", message::encode(report.handed)},
         {"neighbours",
          {{"answered", report.neighbours.answered}, {"not_sent", report.neighbours.not_sent}}},
         {"refused", report.handed.refused},
         {"late", report.departures.late},
         {"worst_late_us", us(report.departures.worst_late_ns)},
         {"seconds", report.sending_seconds},
         {"asked_per_second", report.order.frames_per_second},
         {"outstanding", report.order.outstanding},
         {"queries_per_second", report.achieved_pps},
         {"frames_per_second", report.achieved_pps},
         {"mean_frame_bytes", report.mean_frame_bytes},
         {"bits_per_second", report.achieved_pps * bits_on_wire(report.mean_frame_bytes)},
         {"tracked", result.tracked},
         {"own_bias_us", bias_json(report.bias)},
         {"departures", departures_json(report)},
         {"received", received_json(report.intake.received, "answers")},
         {"of_known_shape", report.intake.known},
         {"checksums", checksum_json(report.intake.checksums)},
         {"rx_flags",
          {{"ip", flags_json(report.intake.ip_flags)},
           {"transport", flags_json(report.intake.l4_flags)}}},
         {"workers", message::encode(report.workers)},
         {"overhead_ms", us(report.overhead_ns) / 1e3},
         {"tester_limit", report.tester_limit},
         {"objections", report.objections},
         {"remedies", result.remedies()},
         {"repeat", result.repeat}});
    if (report.clock_ppm) {
        out["clock_ppm"] = *report.clock_ppm;
    }
    if (!report.clock_proof.empty()) {
        out["clock_proof"] = report.clock_proof;
    }
    out["remarks"] = result.remarks();
    out["icmp_errors"] = icmp_json(result);
    out["wrong_checksums"] = json::array();
    for (const SumName& sum : result.sums) {
        out["wrong_checksums"].push_back({{"layer", sum.layer},
                                          {"frames", sum.frames},
                                          {"name", sum.name},
                                          {"meaning", sum.meaning},
                                          {"wire", sum.wire},
                                          {"right", sum.right}});
    }
    if (result.judged) {
        out["followed"] = followed_json(result.judged->followed, result.judged->conclusion);
    }
    if (result.studied) {
        out["studied"] = followed_json(result.studied->followed, result.studied->conclusion);
    }
    if (result.tracked) {
        add_arrivals(out, report);
        out["compared"] = compared_json(result);
    }
    return out;
}

}  // namespace pathproof::cli
