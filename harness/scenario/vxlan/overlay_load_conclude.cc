#include <fmt/ranges.h>

#include <algorithm>

#include "harness/lab/snat.h"
#include "harness/scenario/concluded.h"
#include "harness/scenario/measures.h"
#include "harness/scenario/vxlan/overlay_load.h"
#include "harness/setting/cures.h"

namespace pathproof::scenario {
namespace {

using verdict::Cell;
using verdict::CellVerdict;
using verdict::Measure;
using verdict::ScenarioVerdict;

struct LoadTotals {
    std::uint64_t frames = 0;
    std::uint64_t bad = 0;
    std::uint64_t stale = 0;
    std::uint64_t lost = 0;
    std::uint64_t unexplained = 0;
    std::uint64_t flows = 0;
    std::uint64_t translated = 0;
    double most_per_second = 0;
    unsigned streams = 0;
    unsigned complete = 0;
    std::string trouble;
};

LoadTotals totals_of(const LoadFacts& facts) {
    LoadTotals all;
    for (const LoadPhase& phase : facts.phases) {
        all.frames += phase.frames;
        all.bad += phase.bad_frames;
        all.stale += phase.stale_port;
        all.lost += phase.lost + phase.not_carried;
        all.unexplained += phase.unexplained();
        all.flows += phase.flows;
        all.translated += phase.translated;
        all.most_per_second = std::max(all.most_per_second, phase.frames_per_second());
        all.streams += phase.streams;
        all.complete += phase.streams_complete;
        all.trouble = all.trouble.empty() ? phase.trouble : all.trouble;
    }
    return all;
}

const LoadPhase* tcp_of(const LoadFacts& facts) {
    const auto found = std::ranges::find(facts.phases, "tcp", &LoadPhase::name);
    return found == facts.phases.end() ? nullptr : &*found;
}

Measure rate_of(const std::string& name, const std::string& label, double value,
                const std::string& unit, const std::string& note = "") {
    return {.name = name, .label = label, .value = value, .unit = unit, .note = note};
}

void add_phase(const LoadFacts& facts, const LoadPhase& phase, std::vector<Measure>& measures) {
    const auto of = [&](const char* what) { return phase.name + "." + what; };
    const auto label = [&](const char* what) { return phase.name + ": " + what; };
    const double line = facts.link_mbps / 1e3;
    measures.push_back(count_of(of("frames"), label("frames judged"), phase.frames, "frames"));
    measures.push_back(rate_of(of("frames_per_second"), label("frames judged a second"),
                               phase.frames_per_second(), "frames/s"));
    measures.push_back(
        rate_of(of("gbit_per_second"), label("on the wire"), phase.gbit_per_second(), "Gbit/s"));
    if (line > 0) {
        measures.push_back(rate_of(of("share_of_line"), label("share of the line's rate"),
                                   100 * phase.gbit_per_second() / line, "%"));
    }
    measures.push_back(
        count_of(of("bad_frames"), label("with a wrong checksum"), phase.bad_frames, "frames"));
    measures.push_back(count_of(of("stale_port"), label("of them, right for the port before NAT"),
                                phase.stale_port, "frames"));
    measures.push_back(
        count_of(of("not_judged"), label("lost by the tester's own ports"), phase.lost, "frames"));
    if (phase.not_carried != 0) {
        measures.push_back(count_of(of("not_carried"),
                                    label("judged, and not taken by the far port"),
                                    phase.not_carried, "frames"));
    }
    if (phase.streams == 0) {
        measures.push_back(count_of(of("arrived"), label("datagrams that came to the far pod"),
                                    phase.datagrams_arrived));
        return;
    }
    measures.push_back(
        count_of(of("streams_complete"),
                 fmt::format("{}: streams complete, of {}", phase.name, phase.streams),
                 phase.streams_complete));
    measures.push_back(rate_of(of("goodput"), label("payload"), phase.goodput_gbit(), "Gbit/s"));
}

const Cell* first_load_with(const std::vector<Cell>& cells, CellVerdict verdict) {
    const auto found = std::ranges::find(cells, verdict, &Cell::verdict);
    return found == cells.end() ? nullptr : &*found;
}

const LoadFacts* find_load(const std::vector<LoadFacts>& measured, const std::string& id) {
    const auto found = std::ranges::find(
        measured, id, [](const LoadFacts& one) -> const std::string& { return one.what.id; });
    return found == measured.end() ? nullptr : &*found;
}

std::string goodput_text(const LoadFacts* facts) {
    const LoadPhase* tcp = facts == nullptr ? nullptr : tcp_of(*facts);
    return tcp == nullptr || tcp->streams_complete < tcp->streams
               ? "not measured"
               : fmt::format("{:.2f} Gbit/s", tcp->goodput_gbit());
}

// Compares the same traffic with the flag on and off where nothing is broken.
std::string cost_text(const std::vector<LoadFacts>& measured) {
    Clauses parts;
    for (const char* frames : {"gso", "no-gso"}) {
        const LoadFacts* on = find_load(measured, fmt::format("control.load.no-nat.{}", frames));
        const LoadFacts* off =
            find_load(measured, fmt::format("control.load.no-nat.flag-off.{}", frames));
        if (on != nullptr && off != nullptr) {
            parts.push_back(fmt::format("{} super-frames {} with the flag on and {} with it off",
                                        std::string_view(frames) == "gso" ? "with" : "without",
                                        goodput_text(on), goodput_text(off)));
        }
    }
    return parts.empty()
               ? ""
               : "Its cost, as payload over TCP without NAT: " + in_a_row(parts, "; ") + ".";
}

verdict::Chart goodput_chart(const std::vector<LoadFacts>& measured) {
    verdict::Chart chart{.title = "Payload over TCP between the pods", .unit = "Gbit/s"};
    for (const LoadFacts& facts : measured) {
        if (const LoadPhase* tcp = tcp_of(facts)) {
            const bool whole = tcp->streams_complete == tcp->streams;
            chart.bars.push_back(
                {.label = facts.what.id,
                 .value = tcp->goodput_gbit(),
                 .kind = whole ? verdict::Bar::Kind::kGood : verdict::Bar::Kind::kBad});
        }
    }
    return chart;
}

}  // namespace

double LoadPhase::gbit_per_second() const {
    constexpr double kBeside = 8 + 4 + 12;  // preamble with delimiter, FCS, gap
    return seconds > 0 ? (static_cast<double>(bytes) + kBeside * static_cast<double>(frames)) * 8 /
                             seconds / 1e9
                       : 0;
}

double LoadPhase::goodput_gbit() const {
    return stream_seconds > 0 ? static_cast<double>(stream_bytes) * 8 / stream_seconds / 1e9 : 0;
}

std::vector<LoadPoint> load_points() {
    OverlayPoint no_nat = kSuspect;
    no_nat.masquerade = false;
    OverlayPoint no_nat_off = no_nat;
    no_nat_off.vxlan_tx = false;
    OverlayPoint cured = kSuspect;
    cured.vxlan_tx = false;
    std::vector<LoadPoint> points;
    for (const auto& [name, point, role] :
         {std::tuple{"control.load.no-nat", no_nat, Cell::Role::kControl},
          {"control.load.no-nat.flag-off", no_nat_off, Cell::Role::kControl},
          {"load.masquerade", kSuspect, Cell::Role::kMatrix},
          {"cure.load.flag-off", cured, Cell::Role::kCure}}) {
        for (const bool gso : {true, false}) {
            points.push_back(
                {fmt::format("{}.{}", name, gso ? "gso" : "no-gso"), point, gso, role});
            // Bytes stay as they came: what is wrong is then the sender's.
            points.back().point.wire = softnic::WireMode::kPassThrough;
        }
    }
    return points;
}

Cell judge_load(const LoadFacts& facts) {
    const LoadTotals all = totals_of(facts);
    Cell cell{.id = facts.what.id,
              .toggles = {{"vxlan device tx offload", facts.what.point.vxlan_tx ? "on" : "off"},
                          {"outer SNAT", lab::outer_snat_text(facts.what.point.masquerade)},
                          {"super-frames of the pods (tso, gso)", facts.what.gso ? "on" : "off"}},
              .role = facts.what.role,
              .verdict = CellVerdict::kPass,
              .evidence = facts.evidence};
    for (const LoadPhase& phase : facts.phases) {
        add_phase(facts, phase, cell.measures);
    }
    cell.measures.push_back(count_of("frames", "frames judged in all", all.frames, "frames"));
    cell.measures.push_back(count_of("bad_frames", "with a wrong checksum", all.bad, "frames"));
    cell.measures.push_back(count_of(verdict::kUnexplained, "wrong checksums without a cause",
                                     all.unexplained, "frames"));
    if (!all.trouble.empty() || all.frames == 0) {
        cell.verdict = CellVerdict::kError;
        cell.reason = all.trouble.empty() ? "no frame came to the wire" : all.trouble;
        return cell;
    }
    const std::string limit =
        all.lost == 0 ? ""
                      : fmt::format(
                            "; the tester was the limit: {} frames more were not judged or not "
                            "carried",
                            all.lost);
    if (all.bad != 0) {
        cell.verdict = CellVerdict::kFail;
        cell.cause = all.unexplained == 0 ? "stale-port" : "";
        cell.reason = fmt::format(
            "{} of {} frames carry a wrong checksum, {} of them the right one for the port before "
            "NAT; {} of {} TCP streams came through{}",
            all.bad, all.frames, all.stale, all.complete, all.streams, limit);
        return cell;
    }
    if (all.complete < all.streams) {
        cell.verdict = CellVerdict::kFail;
        cell.reason = fmt::format(
            "{} of {} TCP streams came through, and none of {} frames carries a "
            "wrong checksum{}",
            all.complete, all.streams, all.frames, limit);
        return cell;
    }
    const bool without_nat = facts.what.point.masquerade && all.translated < all.flows;
    if (without_nat || (facts.what.point.masquerade && all.flows == 0)) {
        cell.verdict = CellVerdict::kInconclusive;
        cell.reason = fmt::format(
            "NAT did not take place: {} of {} flows of the tunnel got another "
            "source port",
            all.translated, all.flows);
    }
    return cell;
}

void conclude_load(const std::vector<LoadFacts>& measured, const OverlayNaming& naming,
                   verdict::ScenarioResult& result) {
    LoadTotals healthy;
    LoadTotals suspect;
    double most_per_second = 0;
    std::string failing;
    std::string cured;
    bool cure_passes = true;
    for (const LoadFacts& facts : measured) {
        Cell cell = judge_load(facts);
        const LoadTotals all = totals_of(facts);
        most_per_second = std::max(most_per_second, all.most_per_second);
        LoadTotals& to = cell.role == Cell::Role::kMatrix ? suspect : healthy;
        to.frames += all.frames;
        to.bad += all.bad;
        to.stale += all.stale;
        result.unexplained += all.unexplained;
        if (cell.role == Cell::Role::kMatrix && cell.verdict == CellVerdict::kFail &&
            cell.cause == "stale-port" && failing.empty()) {
            failing = cell.id;
        }
        if (cell.role == Cell::Role::kCure) {
            cured = cured.empty() ? cell.id : cured;
            cure_passes = cure_passes && cell.verdict == CellVerdict::kPass;
        }
        (cell.role == Cell::Role::kControl ? result.controls : result.cells)
            .push_back(std::move(cell));
    }
    for (const LoadPoint& point : load_points()) {
        result.planned.push_back(point.id);
    }
    result.charts.push_back(goodput_chart(measured));
    const std::string judged = fmt::format("{} frames were judged, up to {:.0f} a second.",
                                           healthy.frames + suspect.frames, most_per_second);
    const Cell* error = first_load_with(result.cells, CellVerdict::kError);
    error = error == nullptr ? first_load_with(result.controls, CellVerdict::kError) : error;
    const Cell* control = first_load_with(result.controls, CellVerdict::kFail);
    result.verdict = ScenarioVerdict::kInconclusive;
    if (error != nullptr) {
        result.headline =
            fmt::format("Not every cell could be measured: {}: {}.", error->id, error->reason);
    } else if (control != nullptr) {
        result.headline = fmt::format("A control fails: {}: {}.", control->id, control->reason);
    } else if (!failing.empty()) {
        result.verdict = ScenarioVerdict::kReproduced;
        result.headline = fmt::format(
            "At full load {} of {} frames left with a wrong outer UDP checksum, each counted: {} "
            "are "
            "right for the source port before NAT. {}",
            suspect.bad, suspect.frames, suspect.stale, judged);
        result.cause = fmt::format(
            "The outer UDP checksum is the one for the source port that the "
            "vxlan device chose; SNAT gave the packet another.");
        result.before_cell = failing;
        if (!cured.empty()) {
            result.after_cell = cured;
            result.cure_shown = cure_passes && naming.flag_restored;
            result.cure = fmt::format(
                "{}. Seen in this run: {} {}",
                setting::cure("tx-checksum-off").text({{"$TUNNEL", naming.vxlan}}),
                cure_passes
                    ? "with it no checksum of any frame is wrong, and every stream comes through."
                    : "it did NOT help.",
                cost_text(measured));
        }
    } else if (const Cell* unsure = first_load_with(result.cells, CellVerdict::kInconclusive)) {
        result.headline = fmt::format("Not every cell had what it looks for: {}: {}.", unsure->id,
                                      unsure->reason);
    } else if (const Cell* other = first_load_with(result.cells, CellVerdict::kFail)) {
        result.headline =
            fmt::format("A cell fails from another cause: {}: {}.", other->id, other->reason);
    } else {
        result.verdict = ScenarioVerdict::kNotReproduced;
        result.headline = fmt::format("No frame carries a wrong checksum at full load. {}", judged);
    }
}

}  // namespace pathproof::scenario
