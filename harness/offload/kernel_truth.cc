#include "harness/offload/kernel_truth.h"

#include <algorithm>
#include <map>

#include "harness/offload/truth.h"

namespace pathproof::offload {
namespace {

using matrix::RxFindingKind;
using verdict::Observation;
using verdict::Observed;

struct KernelTally {
    std::uint64_t judged = 0;
    std::uint64_t claimed = 0;
    std::uint64_t wrong = 0;
    std::map<std::string, std::uint64_t> names;
};

// The kernel says nothing of IP headers.
void add_claims(const RxRow& row, KernelTally& tally) {
    for (const auto& layer : row.claims) {
        for (std::size_t protocol = 0; protocol < layer.size(); ++protocol) {
            if (static_cast<judge::Protocol>(protocol) != judge::Protocol::kIpv4) {
                tally.judged += layer[protocol].verifiable;
                tally.claimed += layer[protocol].claimed;
            }
        }
    }
}

bool is_of_delivery(RxFindingKind kind) {
    return kind == RxFindingKind::kNotDelivered || kind == RxFindingKind::kChanged;
}

enum class Side { kClaims, kDelivery };

void add_findings(const RxRow& row, Side side, KernelTally& tally) {
    for (const matrix::RxFinding& finding : row.result.findings) {
        if (is_of_delivery(finding.kind) == (side == Side::kDelivery)) {
            tally.wrong += finding.frames;
            tally.names[finding.title] += finding.frames;
        }
    }
}

KernelTally tally_of(const RowsRun& run, std::size_t condition, Side side) {
    KernelTally tally;
    for (const RxRow& row : run.received) {
        if (condition_of(row.row) != condition) {
            continue;
        }
        if (side == Side::kClaims) {
            add_claims(row, tally);
        } else {
            tally.judged += row.result.frames;
        }
        add_findings(row, side, tally);
    }
    // A false claim can be about what cannot be judged.
    tally.judged = std::max(tally.judged, tally.wrong);
    return tally;
}

std::vector<std::string> names_of(const KernelTally& tally) {
    std::vector<std::pair<std::string, std::uint64_t>> sorted(tally.names.begin(),
                                                              tally.names.end());
    std::ranges::stable_sort(sorted, std::greater<>(),
                             [](const auto& each) { return each.second; });
    std::vector<std::string> names;
    for (const auto& [name, frames] : sorted) {
        names.push_back(name);
    }
    return names;
}

Observation observation_of(const KernelTally& tally, Side side, const std::string& cell,
                           std::size_t condition) {
    Observation seen{.frames = tally.judged, .wrong = tally.wrong, .cell = cell};
    if (tally.wrong != 0) {
        seen.observed = Observed::kWrong;
        seen.names = names_of(tally);
        seen.cell = cell + "." + condition_word(condition);
    } else if (tally.judged == 0) {
        seen.cell.clear();
        seen.note = "no frame of this run is of this kind";
    } else if (side == Side::kClaims && tally.claimed == 0) {
        seen.observed = Observed::kNoClaim;
        seen.note = "the driver leaves it to the kernel to check these";
    } else {
        seen.observed = Observed::kRight;
    }
    if (side == Side::kClaims && tally.claimed != 0) {
        seen.note =
            fmt::format("a claim was made of {} of {} checksums", tally.claimed, tally.judged);
        if (tally.wrong == 0) {
            seen.names = {"csum valid"};
        }
    }
    return seen;
}

verdict::TruthRow row_of(const RowsRun& run, Side side, const std::string& cell) {
    verdict::TruthRow row{.direction = "Rx"};
    for (std::size_t condition = 0; condition < kConditions; ++condition) {
        row.observed.push_back(
            observation_of(tally_of(run, condition, side), side, cell, condition));
    }
    return row;
}

}  // namespace

KernelReceived count_received(const RowsRun& run) {
    KernelReceived all;
    for (const RxRow& row : run.received) {
        KernelTally tally;
        add_claims(row, tally);
        all.frames += row.result.frames;
        all.bad += row.result.bad;
        all.verifiable += tally.judged;
        all.claimed += tally.claimed;
    }
    return all;
}

std::string condition_word(std::size_t condition) {
    const std::string id = cell_id(profile::Direction::kReceive, condition);
    return id.substr(id.find('.') + 1);
}

verdict::TruthRow kernel_claims(const RowsRun& run, const std::string& cell) {
    return row_of(run, Side::kClaims, cell);
}

verdict::TruthRow kernel_delivery(const RowsRun& run, const std::string& cell) {
    return row_of(run, Side::kDelivery, cell);
}

}  // namespace pathproof::offload
