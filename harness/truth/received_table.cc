#include "harness/truth/received_table.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "harness/truth/tally.h"

namespace pathproof::truth {
namespace {

using verdict::Observation;
using verdict::Observed;

enum class Side { kClaims, kDelivery };

// The kernel says nothing of IP headers.
ClaimCount transport_claims(const RxRow& row) {
    return claims_of(row, [](judge::RxLayer, judge::Protocol protocol) {
        return protocol != judge::Protocol::kIpv4;
    });
}

void tally_claims(const RxRow& row, Tally& tally) {
    const ClaimCount claims = transport_claims(row);
    tally.frames += claims.verifiable;
    tally.claimed += claims.claimed;
    for (const matrix::RxFinding& finding : row.result.findings) {
        if (!is_of_delivery(finding)) {
            tally.add(finding.title, finding.frames);
        }
    }
}

verdict::TruthRow kernel_row(const RowsRun& run, Side side, const std::string& cell) {
    verdict::TruthRow truth{.direction = "Rx"};
    Tallies tallies =
        by_column(run.received, side == Side::kClaims ? tally_claims : tally_delivery);
    for (std::size_t i = 0; i < tallies.size(); ++i) {
        Tally& tally = tallies[i];
        // A false claim can be about a checksum that cannot be judged.
        tally.frames = std::max(tally.frames, tally.wrong);
        Observation seen = observation_of(tally, cell, cell + "." + columns_by_shape()[i].word);
        if (seen.observed == Observed::kNotTested) {
            seen.note = "no frame of this run is of this kind";
        } else if (tally.claimed != 0) {
            seen.note =
                fmt::format("a claim was made of {} of {} checksums", tally.claimed, tally.frames);
            seen.names = tally.wrong == 0 ? std::vector<std::string>{"csum valid"} : seen.names;
        } else if (side == Side::kClaims && tally.wrong == 0) {
            seen.observed = Observed::kNoClaim;
            seen.note = "the driver leaves it to the kernel to check these";
        }
        truth.observed.push_back(std::move(seen));
    }
    return truth;
}

bool is_same(const Defect& a, const Defect& b) {
    return a.place == b.place && a.title == b.title &&
           (a.place != "frame" || (a.frames == b.frames && a.rows.size() == b.rows.size()));
}

// "set off, is off"
std::string set_and_is(const ReceiveOutcome& outcome, const std::string& feature) {
    return fmt::format("set {}, is {}",
                       outcome.setting.kind == Setting::Kind::kOneOff ? "off" : "on",
                       is_on(outcome.taken.features, feature) ? "on" : "off");
}

std::string label_of(const Setting& setting) {
    switch (setting.kind) {
        case Setting::Kind::kAsFound: return "rx-checksum";
        case Setting::Kind::kOneOff: return setting.feature + ", alone off";
        case Setting::Kind::kOneOn:
        case Setting::Kind::kAllOn:
        case Setting::Kind::kAllOff: break;
    }
    return "rx-checksum and rx-gro, both on";
}

void describe_row(const TruthRun& run, const ReceiveOutcome& outcome,
                  const std::vector<agent::Feature>& as_found, verdict::TruthRow& row) {
    const bool found = outcome.setting.kind == Setting::Kind::kAsFound;
    const std::string feature =
        outcome.setting.feature.empty() ? "rx-checksum" : outcome.setting.feature;
    row.expected = expectation_of(run, feature);
    row.advertised = found ? advertised(as_found, feature) : set_and_is(outcome, feature);
    std::vector<std::string> sentences;
    for (const Defect& defect : outcome.findings.defects) {
        sentences.push_back(
            fmt::format("{}: {} frames; {}", defect.signature(), defect.frames, defect.where));
        row.errata.insert(row.errata.end(), defect.errata.begin(), defect.errata.end());
    }
    for (const Defect& silence : outcome.silences) {
        sentences.push_back(fmt::format(
            "vouches for no {} checksum of {}: the kernel checks each by itself, which costs CPU",
            silence.place, silence.frames));
    }
    row.finding = fmt::format("{}", fmt::join(sentences, "; "));
}

}  // namespace

KernelReceived count_received(const RowsRun& run) {
    KernelReceived all;
    for (const RxRow& row : run.received) {
        const ClaimCount claims = transport_claims(row);
        all.frames += row.result.frames;
        all.bad += row.result.bad;
        all.verifiable += claims.verifiable;
        all.claimed += claims.claimed;
    }
    return all;
}

verdict::TruthRow kernel_claims(const RowsRun& run, const std::string& cell) {
    return kernel_row(run, Side::kClaims, cell);
}

verdict::TruthRow kernel_delivery(const RowsRun& run, const std::string& cell) {
    return kernel_row(run, Side::kDelivery, cell);
}

void keep_confirmed(const std::vector<std::size_t>& rows, const port::PortInfo& device,
                    RowsRun again, ReceiveOutcome& outcome) {
    const Findings shown = find_defects(again, device, {});
    std::vector<Defect> confirmed;
    for (Defect& defect : outcome.findings.defects) {
        const bool is_shown = std::ranges::any_of(
            shown.defects, [&](const Defect& other) { return is_same(defect, other); });
        (is_shown ? confirmed : outcome.once).push_back(std::move(defect));
    }
    outcome.findings.defects = std::move(confirmed);
    for (const Defect& defect : outcome.once) {
        for (const std::size_t row : defect.rows) {
            const auto at = std::ranges::find(rows, row) - rows.begin();
            outcome.run.received[row].result = again.received[static_cast<std::size_t>(at)].result;
            outcome.run.received[row].result.findings.clear();
        }
    }
    // A loss that was none the second time took nothing that is judged.
    outcome.run.objections = std::move(again.objections);
}

verdict::TruthTable claims_table(const TruthRun& run, const std::vector<agent::Feature>& as_found,
                                 const std::vector<ReceiveOutcome>& outcomes) {
    verdict::TruthTable table{.title = "Receive offloads: what is said of good and bad frames",
                              .device = run.device};
    std::uint64_t frames = 0;
    for (const Column& column : columns_by_shape()) {
        table.conditions.emplace_back(column.name);
    }
    for (const ReceiveOutcome& outcome : outcomes) {
        verdict::TruthRow row = kernel_claims(outcome.run, outcome.id());
        row.offload = label_of(outcome.setting);
        describe_row(run, outcome, as_found, row);
        table.rows.push_back(std::move(row));
        frames += count_received(outcome.run).frames;
    }
    for (const ReceiveOutcome& outcome : outcomes) {
        verdict::TruthRow row = kernel_delivery(outcome.run, outcome.id());
        row.offload = "delivery, " + outcome.setting.title();
        row.advertised = "-";
        table.rows.push_back(std::move(row));
    }
    table.excluded = fmt::format(
        "{} frames, good ones and each layer bad singly and doubly. csum valid: "
        "TP_STATUS_CSUM_VALID of PACKET_AUXDATA, and true of every frame that it was said of; the "
        "kernel says nothing of IP headers, and calls nothing bad.",
        frames);
    return table;
}

}  // namespace pathproof::truth
