#include "harness/truth/port_table.h"

#include <algorithm>
#include <map>
#include <set>

#include "dataplane/base/contains.h"
#include "harness/truth/tally.h"

namespace pathproof::truth {
namespace {

using matrix::Row;
using verdict::Observation;
using verdict::Observed;

// Asked of nobody: what software made must arrive as it is.
constexpr const char* kNoOffload = "none (made in software)";

// The checksum that an offload makes, as the judge words its place; empty for the others.
bool makes(const std::string& offload, const std::string& place) {
    static const std::map<std::string, std::string> kProtocols = {{"UDP_CKSUM", ".udp"},
                                                                  {"TCP_CKSUM", ".tcp"},
                                                                  {"SCTP_CKSUM", ".sctp"},
                                                                  {"IPV4_CKSUM", ".ipv4"}};
    if (offload == "OUTER_UDP_CKSUM") {
        return place == "outer.udp";
    }
    if (offload == "OUTER_IPV4_CKSUM") {
        return place == "outer.ipv4";
    }
    const auto protocol = kProtocols.find(offload);
    return protocol != kProtocols.end() && !place.starts_with("outer.") &&
           place.ends_with(protocol->second);
}

// A wrong checksum is held against the offload that makes it; what none makes, against all that
// the row asked for.
bool concerns(const std::string& offload, const TxRow& row, const std::string& place) {
    if (makes(offload, place)) {
        return true;
    }
    return std::ranges::none_of(row.offloads,
                                [&](const std::string& other) { return makes(other, place); });
}

verdict::TruthRow row_of(const std::string& offload, profile::Direction direction,
                         const Tallies& tallies) {
    verdict::TruthRow truth{.offload = offload,
                            .direction = direction == profile::Direction::kTransmit ? "Tx" : "Rx"};
    for (std::size_t i = 0; i < tallies.size(); ++i) {
        const std::string cell = cell_id(direction, columns_by_shape()[i]);
        truth.observed.push_back(observation_of(tallies[i], cell, cell));
    }
    return truth;
}

void tally_sent(const TxRow& row, const std::string& offload, const NamesByPlace& names,
                Tally& tally) {
    tally.lacking += row.lacking.empty() ? 0 : 1;
    std::uint64_t wrong = 0;
    for (const matrix::TxFinding& cause : causes_of(row.result.findings, names)) {
        if (cause.kind == matrix::FindingKind::kRefused) {
            tally.refused += cause.frames;
        } else if (concerns(offload, row, cause.place)) {
            tally.add(cause.title, cause.frames);
            wrong += cause.frames;
        }
    }
    // Frames that never came are wrong as well, and were not seen.
    tally.frames += std::max(row.result.seen, std::min(wrong, row.result.intended));
}

bool lists(const TxRow& row, const std::string& offload) {
    return offload == kNoOffload ? row.offloads.empty() : contains(row.offloads, offload);
}

verdict::TruthRow sent_row(const RowsRun& run, const std::string& offload,
                           const NamesByPlace& names) {
    return row_of(offload, profile::Direction::kTransmit,
                  by_column(run.sent, [&](const TxRow& row, Tally& tally) {
                      if (lists(row, offload)) {
                          tally_sent(row, offload, names, tally);
                      }
                  }));
}

std::string offload_at(const Row& row, const std::string& layer, const RowsRun& run) {
    const std::string place = place_of(row, layer, run);
    for (const char* offload : {"OUTER_UDP_CKSUM", "OUTER_IPV4_CKSUM", "UDP_CKSUM", "TCP_CKSUM",
                                "SCTP_CKSUM", "IPV4_CKSUM"}) {
        if (makes(offload, place)) {
            return offload;
        }
    }
    return {};
}

verdict::TruthRow claims_row(const RowsRun& run, const std::string& offload) {
    const Tallies tallies = by_column(run.received, [&](const RxRow& row, Tally& tally) {
        const ClaimCount claims = claims_of(row, [&](auto layer, auto protocol) {
            return rx_offload_for(layer, protocol) == offload;
        });
        tally.frames += claims.verifiable;
        tally.claimed += claims.claimed;
        for (const matrix::RxFinding& finding : row.result.findings) {
            if (offload_at(row.row, finding.place, run) == offload) {
                tally.add(finding.title, finding.frames);
                tally.frames += claims.verifiable == 0 ? finding.frames : 0;
            }
        }
    });
    verdict::TruthRow truth = row_of(offload, profile::Direction::kReceive, tallies);
    for (std::size_t i = 0; i < tallies.size(); ++i) {
        Observation& seen = truth.observed[i];
        if (seen.observed == Observed::kRight && tallies[i].claimed == 0) {
            seen.observed = Observed::kNotTested;
            seen.note = "no claim is made of such frames (unknown), good or bad";
        }
    }
    return truth;
}

verdict::TruthRow delivery_row(const RowsRun& run) {
    verdict::TruthRow truth =
        row_of("delivery", profile::Direction::kReceive, by_column(run.received, tally_delivery));
    truth.advertised = "on";
    return truth;
}

void add_finding(verdict::TruthRow& row, const Findings& findings) {
    std::vector<std::string> parts;
    if (row.expected == "required" && row.advertised == "not there") {
        parts.push_back("the profile requires it and the port does not offer it");
    }
    if (row.expected == "absent" && row.advertised == "on") {
        parts.push_back("the profile says that there is none, and the port offers it");
    }
    const bool sent = row.direction == "Tx";
    const bool wrong = contains(row.observed, Observed::kWrong, &Observation::observed);
    if (wrong) {
        parts.push_back(sent ? "the port offers it and what leaves is wrong"
                             : "the port offers it and what it says, or hands on, is wrong");
    }
    row.finding = fmt::format("{}", fmt::join(parts, "; "));
    if (!wrong) {
        return;
    }
    std::set<std::string> known;
    for (const Defect& defect : findings.defects) {
        const bool here = std::ranges::any_of(row.observed, [&](const Observation& seen) {
            return contains(seen.names, defect.title);
        });
        const bool same_way = (defect.direction == profile::Direction::kTransmit) == sent;
        if (!here || !same_way) {
            continue;
        }
        for (const verdict::KnownErratum& erratum : defect.errata) {
            if (known.insert(erratum.id).second) {
                row.errata.push_back(erratum);
            }
        }
    }
}

}  // namespace

std::string cell_id(profile::Direction direction, const Column& column) {
    return std::string(profile::name(direction)) + "." + column.word;
}

std::vector<const Defect*> defects_in(const RowsRun& run, const Findings& findings,
                                      profile::Direction direction, const Column& column) {
    std::vector<const Defect*> shown;
    for (const Defect& defect : findings.defects) {
        const bool here =
            defect.direction == direction && std::ranges::any_of(defect.rows, [&](std::size_t row) {
                return columns_by_shape().is_in(column, run.row(direction, row));
            });
        if (here) {
            shown.push_back(&defect);
        }
    }
    return shown;
}

verdict::TruthTable truth_table(const RowsRun& run, const Findings& findings,
                                const port::PortInfo& device, const TruthSettings& settings) {
    verdict::TruthTable table{.title = "Offloads of a DPDK port", .device = settings.device};
    for (const Column& column : columns_by_shape()) {
        table.conditions.emplace_back(column.name);
    }
    const NamesByPlace names = names_by_place(sent_rows(run));
    std::vector<std::string> offloads = {kNoOffload};
    for (const TxRow& row : run.sent) {
        for (const std::string& offload : row.offloads) {
            if (!contains(offloads, offload)) {
                offloads.push_back(offload);
            }
        }
    }
    std::ranges::sort(offloads.begin() + 1, offloads.end());
    const auto add = [&](verdict::TruthRow row, bool there,
                         const std::vector<profile::OffloadExpectation>* expectations) {
        row.advertised = there ? "on" : "not there";
        row.expected = expectations != nullptr ? profile::expected(*expectations, row.offload) : "";
        add_finding(row, findings);
        table.rows.push_back(std::move(row));
    };
    const auto& profile = settings.profile;
    for (const std::string& offload : offloads) {
        add(sent_row(run, offload, names),
            offload == kNoOffload || contains(device.tx_offloads, offload),
            profile ? &profile->dpdk_tx : nullptr);
    }
    for (const char* offload : {"IPV4_CKSUM", "UDP_CKSUM", "TCP_CKSUM", "SCTP_CKSUM",
                                "OUTER_IPV4_CKSUM", "OUTER_UDP_CKSUM"}) {
        add(claims_row(run, offload), contains(device.rx_offloads, offload),
            profile ? &profile->dpdk_rx : nullptr);
    }
    table.rows.push_back(delivery_row(run));
    add_finding(table.rows.back(), findings);
    const std::uint64_t frames = run.frames();
    table.excluded = frames == 0
                         ? "nothing was judged"
                         : fmt::format(
                               "{} frames judged: a defect that hits any of them in more than "
                               "{:.2g} of cases would have shown (95 %)",
                               frames, 3.0 / static_cast<double>(frames));
    return table;
}

}  // namespace pathproof::truth
