#include "harness/scenario/offload_truth/receive.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "dataplane/base/join_each.h"
#include "dataplane/judge/explain.h"
#include "harness/scenario/measures.h"
#include "harness/scenario/offload_truth/counters.h"
#include "harness/scenario/offload_truth/part.h"
#include "harness/truth/errata.h"
#include "harness/truth/feature_use.h"
#include "harness/truth/port_table.h"
#include "harness/truth/received_table.h"

namespace pathproof::scenario {
namespace {

using truth::counted_kinds;
using truth::CountedKind;
using truth::is_on;
using truth::kCountedKinds;
using truth::KindCount;
using truth::receive_features;
using truth::ReceiveOutcome;
using truth::Setting;
using truth::SettingTaken;
using truth::TruthPart;
using truth::TruthRun;
using truth::WireKind;
using truth::WrongValue;
using verdict::Cell;
using verdict::CellVerdict;

using ReceiveRun = PartRun<ReceiveOutcome>;

// Returns the checksums that a NIC with rx-checksum on could vouch for; if it never does, that is
// reported. Nobody expects it of a virtual device.
port::PortInfo promises_of(const TruthRun& run, const SettingTaken& taken) {
    port::PortInfo device{.name = run.device, .device = run.device, .driver = run.driver};
    if (run.wire == WireKind::kCable && is_on(taken.features, "rx-checksum")) {
        device.rx_offloads = {"UDP_CKSUM", "TCP_CKSUM"};
    }
    return device;
}

}  // namespace

truth::RowSettings receive_rows(const Context& context, const TruthBench& bench) {
    const bool full = context.options.matrix() == truth::MatrixSize::kFull;
    return {.directions = truth::Directions::kReceived,
            .strength = full ? matrix::Strength::kTriples : matrix::Strength::kPairs,
            .seed = context.options.seed,
            .probes = full ? kProbesFull : kProbesQuick,
            .mtu = bench.device().longest_packet,
            .also_received =
                truth::plain_rows({.handover = matrix::Handover::kSoftware},
                                  {matrix::RxInput::kGood, matrix::RxInput::kBadInnerTransport}),
            .only_also = false,
            .patience = bench.pace().patience / 2};
}

namespace {

// The rows behind the defects are received once more; what does not show again is not held against
// the device.
Status confirm_received(const Context& context, TruthBench& bench, const port::PortInfo& device,
                        ReceiveOutcome& outcome) {
    std::set<std::size_t> rows;
    for (const truth::Defect& defect : outcome.findings.defects) {
        rows.insert(defect.rows.begin(), defect.rows.end());
    }
    if (rows.empty()) {
        return {};
    }
    truth::RowSettings settings = receive_rows(context, bench);
    settings.only_also = true;
    settings.also_received.clear();
    for (const std::size_t row : rows) {
        settings.also_received.push_back(outcome.run.received[row].row);
    }
    auto again = TRY(bench.receive(settings));
    truth::keep_confirmed({rows.begin(), rows.end()}, device, std::move(again), outcome);
    return {};
}

Status measure(Context& context, TruthBench& bench, const TruthRun& run,
               const AddressedDevice* addressed, ReceiveOutcome& outcome) {
    context.progress.step(outcome.id());
    outcome.run = TRY(bench.receive(receive_rows(context, bench)));
    const port::PortInfo device = promises_of(run, outcome.taken);
    outcome.findings = truth::find_defects(outcome.run, device, {});
    outcome.silences = truth::take_silences(outcome.findings);
    TRY(confirm_received(context, bench, device, outcome));
    truth::explain_by_errata(outcome.findings.defects, run.errata,
                             {.driver = run.driver, .kernel = run.kernel, .dpdk = ""});
    if (addressed != nullptr) {
        outcome.counts = TRY(count_addressed(bench, *addressed, context.options.seed));
        outcome.counted = true;
    }
    return {};
}

Cell cell_of(const ReceiveOutcome& outcome) {
    const truth::KernelReceived seen = truth::count_received(outcome.run);
    Cell cell{
        .id = outcome.id(),
        .toggles = {{"offloads", outcome.setting.title()}, {"frames", "received, good and bad"}},
        .verdict = CellVerdict::kPass};
    cell.measures = {
        count_of("frames_received", "frames sent to the device", seen.frames),
        count_of("frames_bad", "of them with a wrong checksum", seen.bad),
        count_of("claims", "transport checksums that a claim was made of", seen.claimed),
        count_of("verifiable", "of so many that can be judged", seen.verifiable)};
    const std::vector<truth::Defect>& defects = outcome.findings.defects;
    if (!outcome.run.objections.empty()) {
        cell.verdict = CellVerdict::kError;
        cell.reason = fmt::format("{}", fmt::join(outcome.run.objections, "; "));
    } else if (!defects.empty()) {
        cell.verdict = CellVerdict::kFail;
        cell.cause = defects.front().title;
        cell.reason = join_each(defects, &truth::Defect::signature);
    } else if (!outcome.once.empty()) {
        const truth::Defect& once = outcome.once.front();
        cell.verdict = CellVerdict::kInconclusive;
        cell.reason =
            fmt::format("seen once, not confirmed: {}, {} frames", once.signature(), once.frames);
    }
    return cell;
}

// The frames behind the defects of one condition, with every field explained.
Cell failing_cell(const ReceiveOutcome& outcome, const truth::Column& column,
                  const std::vector<const truth::Defect*>& defects, TruthBench& bench) {
    Cell cell{.id = outcome.id() + "." + column.word,
              .toggles = {{"offloads", outcome.setting.title()},
                          {"frames", std::string("received: ") + column.name}},
              .verdict = CellVerdict::kFail,
              .reason = join_each(defects, &truth::Defect::signature),
              .cause = defects.front()->title};
    std::vector<matrix::FrameBytes> frames;
    std::string text;
    std::uint64_t wrong = 0;
    for (const truth::Defect* each : defects) {
        const truth::Defect& defect = *each;
        wrong += defect.frames;
        text += fmt::format("{}: {} frames in {} rows; {}\n", defect.signature(), defect.frames,
                            defect.rows.size(), defect.where);
        if (!defect.specimen.wire.empty()) {
            frames.push_back(defect.specimen.wire);
            text += fmt::format("frame {} of the pcapng, as it was sent to the device:\n{}\n",
                                frames.size(),
                                judge::explain(defect.specimen.wire,
                                               judge::Evidence{.tunnels = outcome.run.tunnels}));
        }
    }
    cell.measures = {count_of("frames_wrong", "frames falsely described or not delivered", wrong)};
    if (!frames.empty()) {
        cell.measures.push_back(words_of("specimen", "one such frame, as it was sent to the device",
                                         fmt::format("{:02x}", fmt::join(frames.front(), ""))));
    }
    bench.keep(frames, text, cell);
    return cell;
}

void add_cells(const ReceiveRun& run, TruthBench& bench, std::vector<Cell>& cells) {
    for (const ReceiveOutcome& outcome : run.outcomes) {
        cells.push_back(cell_of(outcome));
        for (const truth::Column& column : truth::columns_by_shape()) {
            const auto defects = truth::defects_in(outcome.run, outcome.findings,
                                                   profile::Direction::kReceive, column);
            if (defects.empty()) {
                continue;
            }
            cells.push_back(failing_cell(outcome, column, defects, bench));
        }
    }
}

// Names the receive features' states under a setting: "rx-checksum on, rx-gro off".
std::string state_of(const std::vector<agent::Feature>& features) {
    return join_each(receive_features(features), [&](const std::string& name) {
        return fmt::format("{} {}", name, is_on(features, name) ? "on" : "off");
    });
}

void add_counter_values(const CounterVerdict& judged, const std::string& setting,
                        std::vector<WrongValue>& values) {
    for (std::size_t i = 0; i < kCountedKinds; ++i) {
        for (const verdict::Observation& seen :
             {judged.kernel.observed[i], judged.driver.observed[i]}) {
            if (seen.observed == verdict::Observed::kWrong) {
                values.push_back({.part = TruthPart::kCounters,
                                  .setting = setting,
                                  .title = fmt::format("{}", fmt::join(seen.names, ", ")),
                                  .place = counted_kinds()[i].name,
                                  .where = seen.note,
                                  .wrong = std::min(seen.wrong, seen.frames),
                                  .frames = seen.frames,
                                  .observations = 2,
                                  .meaning = "Frames with bad checksums are taken, lost or counted "
                                             "wrongly: " +
                                             seen.note + "."});
            }
        }
    }
}

verdict::TruthTable counters_table(TruthRun& run, const ReceiveRun& received,
                                   const std::string& why_not, std::vector<Cell>& cells) {
    verdict::TruthTable table{
        .title = "Bad frames to the kernel's own address: taken, refused, counted",
        .device = run.device};
    for (const CountedKind& kind : counted_kinds()) {
        table.conditions.emplace_back(kind.name);
    }
    std::vector<verdict::TruthRow> of_driver;
    for (const ReceiveOutcome& outcome : received.outcomes) {
        if (!outcome.counted) {
            continue;
        }
        CounterVerdict judged =
            judge_counters(outcome.counts, outcome.setting.id(), outcome.setting.title());
        add_counter_values(judged, outcome.setting.title(), run.values.wrong);
        judged.kernel.offload = "InCsumErrors, " + outcome.setting.title();
        judged.driver.offload = "ethtool -S, " + outcome.setting.title();
        for (verdict::TruthRow* row : {&judged.kernel, &judged.driver}) {
            row->advertised = is_on(outcome.taken.features, "rx-checksum") ? "on" : "off";
        }
        table.rows.push_back(std::move(judged.kernel));
        of_driver.push_back(std::move(judged.driver));
        cells.push_back(std::move(judged.cell));
    }
    // A driver without such counters is told of once.
    const bool any = std::ranges::any_of(received.outcomes, [](const ReceiveOutcome& outcome) {
        return std::ranges::any_of(outcome.counts,
                                   [](const KindCount& count) { return !count.driver.empty(); });
    });
    if (!any && !of_driver.empty()) {
        of_driver.resize(1);
        of_driver.front().offload = "ethtool -S";
    }
    std::ranges::move(of_driver, std::back_inserter(table.rows));
    table.excluded =
        why_not.empty()
            ? "Held against the judge's own count of the same frames: /proc/net/snmp, snmp6 and "
              "netstat, and the driver's own counters of bad checksums where it has any. SCTP is "
              "not counted here: its module keeps its own."
            : "Not measured: " + why_not;
    return table;
}

std::uint64_t frames_in(const ReceiveOutcome& outcome, const std::vector<std::size_t>& rows) {
    std::uint64_t frames = 0;
    for (const std::size_t row : rows) {
        frames += outcome.run.received[row].result.frames;
    }
    return frames;
}

// Adds the receiving side's values to the report on the device.
void add_values(const ReceiveRun& received, const std::vector<Cell>& counter_cells, TruthRun& run) {
    const auto clean = std::ranges::find_if(received.outcomes, [](const ReceiveOutcome& outcome) {
        return outcome.findings.defects.empty() && outcome.once.empty();
    });
    for (const ReceiveOutcome& outcome : received.outcomes) {
        run.values.received += truth::count_received(outcome.run).frames;
        for (const truth::Defect& silence : outcome.silences) {
            run.values.unvouched.push_back(
                {outcome.setting.title(), silence.place, silence.frames});
        }
        for (const auto* defects : {&outcome.findings.defects, &outcome.once}) {
            for (const truth::Defect& defect : *defects) {
                const std::uint64_t frames = frames_in(outcome, defect.rows);
                WrongValue value{.part = TruthPart::kReceived,
                                 .setting = outcome.setting.title(),
                                 .title = defect.title,
                                 .place = defect.place,
                                 .where = defect.where,
                                 .wrong = std::min(defect.frames, frames),
                                 .frames = frames,
                                 .observations = defects == &outcome.once ? 1u : 2u};
                value.meaning = fmt::format("What the device says of received frames: {}, {}.",
                                            defect.signature(), defect.where);
                if (clean != received.outcomes.end() &&
                    outcome.setting.kind == Setting::Kind::kAsFound) {
                    value.cure = fmt::format(
                        "{} on {}. Seen in this run: nothing false is said of any frame then.",
                        state_of(clean->taken.features), run.device);
                    value.before = outcome.id();
                    value.after = clean->id();
                }
                run.values.wrong.push_back(std::move(value));
            }
        }
    }
    for (const Cell& cell : counter_cells) {
        if (cell.verdict == CellVerdict::kInconclusive) {
            run.values.hidden.push_back(fmt::format("{}: {}", cell.id, cell.reason));
        }
    }
}

}  // namespace

std::size_t receive_steps(const std::vector<agent::Feature>& features) {
    return truth::receive_settings_for(features).size();
}

Status judge_receipt(Context& context, TruthBench& bench, TruthRun& run,
                     verdict::ScenarioResult& result) {
    auto addressed = AddressedDevice::take(bench.host(), bench.device().name);
    const Part<ReceiveOutcome> part{.id = "rx",
                                    .features = receive_features(run.as_found),
                                    .points = truth::receive_settings_for(run.as_found),
                                    .judge = [&](ReceiveOutcome& outcome) {
                                        return measure(context, bench, run,
                                                       addressed ? &*addressed : nullptr, outcome);
                                    }};
    const ReceiveRun received = TRY(run_part(bench, part));
    add_cells(received, bench, result.cells);
    result.truth_tables.push_back(truth::claims_table(run, received.as_found, received.outcomes));
    std::vector<Cell> counter_cells;
    result.truth_tables.push_back(
        counters_table(run, received, addressed ? "" : addressed.error().message, counter_cells));
    add_values(received, counter_cells, run);
    std::ranges::move(counter_cells, std::back_inserter(result.cells));
    result.cells.push_back(received.put_back);
    return {};
}

}  // namespace pathproof::scenario
