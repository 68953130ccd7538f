#include "harness/truth/check.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "dataplane/base/join_each.h"
#include "dataplane/base/plural.h"
#include "harness/truth/errata.h"
#include "harness/truth/evidence.h"
#include "harness/truth/port_exchange.h"

namespace pathproof::truth {
namespace {

using verdict::Cell;
using verdict::CellVerdict;

struct Planted {
    std::vector<std::uint64_t> hits;  // by fault
    std::vector<CounterDelta> counters;
    std::vector<std::string> objections;
};

Result<Planted> stop_software_nic(tester::Client& tester, const port::PortInfo& device) {
    if (device.driver != softnic::kSoftwareNicName) {
        return Planted{};
    }
    const auto report = TRY(tester.stop_software_nic());
    Planted planted{.objections = report.objections};
    const auto& [sent, received] = report.directions;
    for (std::size_t i = 0; i < sent.fault_hits.size(); ++i) {
        planted.hits.push_back(sent.fault_hits[i] + received.fault_hits[i]);
    }
    planted.counters.push_back({"rx_csum_bad", received.nic.rx_csum_bad});
    return planted;
}

struct CellCount {
    std::uint64_t rows = 0;
    std::uint64_t frames = 0;
    std::uint64_t refused = 0;
    std::uint64_t lacking = 0;
};

CellCount count_sent(const RowsRun& run, const Column& column) {
    CellCount count;
    for (const TxRow& row : run.sent) {
        if (!columns_by_shape().is_in(column, row.row)) {
            continue;
        }
        count.lacking += row.lacking.empty() ? 0 : 1;
        count.rows += row.lacking.empty() ? 1 : 0;
        count.frames += row.result.seen;
        for (const matrix::TxFinding& finding : row.result.findings) {
            count.refused += finding.kind == matrix::FindingKind::kRefused ? finding.frames : 0;
        }
    }
    return count;
}

CellCount count_received(const RowsRun& run, const Column& column) {
    CellCount count;
    for (const RxRow& row : run.received) {
        if (columns_by_shape().is_in(column, row.row)) {
            ++count.rows;
            count.frames += row.result.frames;
        }
    }
    return count;
}

verdict::Measure measure(std::string name, std::string label, std::uint64_t value,
                         std::string unit) {
    return {.name = std::move(name),
            .label = std::move(label),
            .value = value,
            .unit = std::move(unit)};
}

const char* why_no_frames(const CellCount& count) {
    if (count.refused != 0) {
        return "the driver refused every frame of this kind";
    }
    return count.lacking != 0 ? "the port lacks the offloads that such rows ask for"
                              : "no row of the matrix is of this kind";
}

Cell make_cell(const RowsRun& run, const Findings& findings, profile::Direction direction,
               const Column& column) {
    const bool sent = direction == profile::Direction::kTransmit;
    const CellCount count = sent ? count_sent(run, column) : count_received(run, column);
    Cell cell{.id = cell_id(direction, column), .verdict = CellVerdict::kPass};
    cell.toggles = {{"direction", sent ? "sent by the port" : "received by the port"},
                    {"traffic", column.name}};
    cell.measures = {measure("frames", "frames judged", count.frames, "frames"),
                     measure("rows", "rows of the matrix", count.rows, "rows")};
    if (count.lacking != 0) {
        cell.measures.push_back(measure(
            "rows_lacking", "rows that need an offload the port has not", count.lacking, "rows"));
    }
    if (count.refused != 0) {
        cell.measures.push_back(
            measure("refused", "frames that the driver would not take", count.refused, "frames"));
    }
    const auto defects = defects_in(run, findings, direction, column);
    if (!defects.empty()) {
        cell.verdict = CellVerdict::kFail;
        cell.cause = defects.front()->title;
        cell.reason = join_each(defects, &Defect::signature);
    } else if (count.frames == 0) {
        cell.verdict = CellVerdict::kSkip;
        cell.reason = why_no_frames(count);
    }
    return cell;
}

// A counter belongs to no kind of traffic.
std::vector<Cell> counter_cells(const Findings& findings) {
    std::vector<Cell> cells;
    for (const Defect& defect : findings.defects) {
        if (defect.direction == profile::Direction::kPath) {
            cells.push_back({.id = "counter." + defect.where,
                             .toggles = {{"direction", "received by the port"},
                                         {"traffic", "counter " + defect.where}},
                             .verdict = CellVerdict::kFail,
                             .reason = defect.note,
                             .cause = defect.title});
        }
    }
    return cells;
}

std::string sentence(const Defect& defect) {
    std::string text = fmt::format("{}: {} frames in {} rows; {}", defect.signature(),
                                   defect.frames, defect.rows.size(), defect.where);
    if (defect.wire_value != defect.right_value) {
        text += fmt::format("; for example 0x{:04x} where 0x{:04x} is right", defect.wire_value,
                            defect.right_value);
    }
    text += defect.note.empty() ? "" : "; " + defect.note;
    for (const verdict::KnownErratum& erratum : defect.errata) {
        text += fmt::format("{} Looks like {} ({}; {}): {}", text.ends_with('.') ? "" : ".",
                            erratum.id, erratum.title, erratum.certainty, erratum.workaround);
    }
    return text.ends_with('.') ? text : text + ".";
}

// The row of the specimen, in words.
std::string example_of(const Defect& defect, const RowsRun& run) {
    if (defect.rows.empty()) {
        return {};
    }
    return matrix::describe(run.row(defect.direction, defect.rows.front()));
}

verdict::Proof defects_proof(const Findings& findings, const RowsRun& run) {
    verdict::Proof proof{.title = "What is wrong, and where",
                         .columns = {"signature", "where", "frames", "on the wire", "right",
                                     "for example", "looks like"}};
    for (const Defect& defect : findings.defects) {
        const bool valued = defect.wire_value != defect.right_value;
        proof.rows.push_back({defect.signature(), defect.where, std::to_string(defect.frames),
                              valued ? fmt::format("0x{:04x}", defect.wire_value) : "",
                              valued ? fmt::format("0x{:04x}", defect.right_value) : "",
                              example_of(defect, run),
                              join_each(defect.errata, &verdict::KnownErratum::id)});
    }
    return proof;
}

verdict::Proof planted_proof(const CheckSettings& settings, const Planted& planted) {
    verdict::Proof proof{.title = "Faults planted in the software NIC",
                         .columns = {"fault", "frames it acted on"}};
    bool idle = false;
    for (std::size_t i = 0; i < settings.planted.size() && i < planted.hits.size(); ++i) {
        proof.rows.push_back({settings.planted[i], std::to_string(planted.hits[i])});
        idle = idle || planted.hits[i] == 0;
    }
    proof.conclusion =
        idle ? "A fault that acted on no frame needs what two cabled ports do not have (a NAT "
               "between them, for example); `pathproof offload calibrate` plants every fault."
             : "Each planted fault acted on frames of this run.";
    return proof;
}

verdict::Proof refusals_proof(const Findings& findings, const RowsRun& run) {
    verdict::Proof proof{.title = "Frames that the driver would not take",
                         .columns = {"reason", "rows", "for example"}};
    for (const Refusal& refusal : findings.refusals) {
        proof.rows.push_back({refusal.reason, std::to_string(refusal.rows.size()),
                              matrix::describe(run.sent[refusal.rows.front()].row)});
    }
    return proof;
}

void conclude(verdict::ScenarioResult& result, const Findings& findings, const RowsRun& run,
              const std::vector<std::string>& objections) {
    result.verdict = findings.defects.empty() ? verdict::ScenarioVerdict::kNoDefectFound
                                              : verdict::ScenarioVerdict::kDefectFound;
    const std::uint64_t frames = run.frames();
    if (!objections.empty()) {
        result.verdict = verdict::ScenarioVerdict::kInconclusive;
        result.headline =
            fmt::format("The tester itself is not above doubt: {}", fmt::join(objections, "; "));
    } else if (findings.defects.empty()) {
        result.headline = fmt::format("No defect in {} frames.", frames);
    } else {
        result.headline =
            fmt::format("{} in {} frames: {}.", plural(findings.defects.size(), "defect"), frames,
                        join_each(findings.defects, &Defect::signature, "; "));
    }
    for (const Defect& defect : findings.defects) {
        result.explanation.push_back(sentence(defect));
    }
    if (!findings.defects.empty()) {
        result.cause = fmt::format("The port itself: {}", findings.defects.front().signature());
    }
}

// Says what the path does to plain frames; empty if it carries each as it is.
Result<std::string> path_objection(const Path& path, const CheckSettings& settings) {
    RowSettings plain = settings.rows;
    plain.plain = true;
    plain.probes = 1;
    const auto run = TRY(run_rows(path, plain, [](std::size_t, std::size_t) {}));
    struct Way {
        const std::string& from;
        std::uint64_t sent = 0;
        std::uint64_t right = 0;
        std::string example = {};

        void add(const matrix::Row& row, std::uint64_t frames, std::uint64_t arrived) {
            sent += frames;
            right += arrived;
            example = example.empty() && arrived < frames ? matrix::describe(row) : example;
        }
    };
    Way ways[] = {{path.device.name}, {path.far.name}};
    for (const TxRow& row : run.sent) {
        ways[0].add(row.row, row.result.intended, row.result.exact);
    }
    for (const RxRow& row : run.received) {
        const bool changed = std::ranges::any_of(row.result.findings, [](const auto& finding) {
            return finding.kind == matrix::RxFindingKind::kChanged ||
                   finding.kind == matrix::RxFindingKind::kHealed;
        });
        // Frames without an outer checksum over IPv6 count as bad ones, and are plain all the same.
        const matrix::Deliveries& came = row.result.deliveries;
        const std::uint64_t arrived =
            changed ? 0 : row.result.frames - came.good_lost - came.bad_lost;
        ways[1].add(row.row, row.result.frames, arrived);
    }
    std::string text;
    for (const Way& way : ways) {
        if (way.right < way.sent) {
            text += fmt::format(
                "{}{} of {} plain frames from {} did not arrive byte for byte, for example {}",
                text.empty() ? "" : "; ", way.sent - way.right, way.sent, way.from, way.example);
        }
    }
    return text;
}

}  // namespace

Result<verdict::ScenarioResult> check_ports(tester::Client& tester, const CheckSettings& settings) {
    const auto began = std::chrono::steady_clock::now();
    PortExchange exchange(tester);
    const Path path = exchange.path();
    const port::PortInfo& device = path.device;
    // The software NIC's wire is memory, and its planted faults are all that it is asked about.
    const auto objection =
        TRY(device.driver == softnic::kSoftwareNicName ? Result<std::string>("")
                                                       : path_objection(path, settings));
    verdict::ScenarioResult result;
    result.id = "offload-ports";
    result.title = "Offloads of a DPDK port";
    result.question =
        "Is every checksum and segment that the port makes right on the wire, and everything that "
        "it says of received frames true?";
    if (!objection.empty()) {
        result.headline = fmt::format(
            "Nothing is said of {}, for the path to it is not proven: {}.", device.name, objection);
        result.cells.push_back({.id = "path",
                                .toggles = {{"traffic", "plain, of every kind"}},
                                .verdict = CellVerdict::kInconclusive,
                                .reason = objection});
        return result;
    }
    const auto run = TRY(run_rows(path, settings.rows, settings.progress));
    const auto planted = TRY(stop_software_nic(tester, device));
    Findings findings = find_defects(run, device, planted.counters);
    explain_by_errata(findings.defects, settings.errata,
                      circumstances_of(device, tester.dpdk_version()));

    std::vector<std::string> objections = run.objections;
    objections.insert(objections.end(), planted.objections.begin(), planted.objections.end());
    conclude(result, findings, run, objections);
    for (const auto direction : {profile::Direction::kTransmit, profile::Direction::kReceive}) {
        for (const Column& column : columns_by_shape()) {
            const bool never =
                direction == profile::Direction::kReceive && count_received(run, column).rows == 0;
            if (!never) {
                result.cells.push_back(make_cell(run, findings, direction, column));
            }
        }
    }
    for (Cell& cell : counter_cells(findings)) {
        result.cells.push_back(std::move(cell));
    }
    if (!findings.defects.empty()) {
        result.proofs.push_back(defects_proof(findings, run));
    }
    if (!findings.refusals.empty()) {
        result.proofs.push_back(refusals_proof(findings, run));
    }
    if (!settings.planted.empty()) {
        result.proofs.push_back(planted_proof(settings, planted));
    }
    result.truth_tables.push_back(truth_table(run, findings, device, settings.truth));
    result.evidence = keep_evidence(tester, findings, run, settings.out_dir);
    result.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    return result;
}

}  // namespace pathproof::truth
