#include "harness/truth/port_table.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>

#include "dataplane/base/by_frequency.h"
#include "dataplane/base/contains.h"
#include "dataplane/base/counts.h"

namespace pathproof::truth {
namespace {

using matrix::Encap;
using matrix::Row;
using verdict::Observation;
using verdict::Observed;

enum Condition : std::size_t {
    kPlain,
    kOptions,
    kVlan,
    kPadded,
    kFragments,
    kVxlanHome,
    kVxlanElsewhere,
    kGeneveGpe,
    kOverIp,
    kSegments,
};

constexpr const char* kNames[kConditions] = {"plain",
                                             "IP options, extension headers",
                                             "VLAN",
                                             "short or padded",
                                             "fragments",
                                             "VXLAN on 4789",
                                             "VXLAN elsewhere",
                                             "GENEVE, VXLAN-GPE",
                                             "GRE, IP in IP",
                                             "TSO, USO"};

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

struct Tally {
    std::uint64_t frames = 0;
    std::uint64_t wrong = 0;
    std::uint64_t refused = 0;
    std::uint64_t lacking = 0;  // rows that need an offload that is not there
    std::uint64_t claimed = 0;  // of received checksums: called good or bad
    std::map<std::string, std::uint64_t> names;

    void add(const std::string& name, std::uint64_t count) {
        wrong += count;
        names[name] += count;
    }
};
using Tallies = std::array<Tally, kConditions>;

template <typename Rows, typename Add>
Tallies by_condition(const Rows& rows, const Add& add) {
    Tallies tallies;
    for (const auto& row : rows) {
        add(row, tallies[condition_of(row.row)]);
    }
    return tallies;
}

// `cell`, `wrong_cell`: that hold the details of what is right, and of what is not.
Observation observation_of(const Tally& tally, const std::string& cell,
                           const std::string& wrong_cell) {
    Observation seen{.frames = tally.frames, .wrong = std::min(tally.wrong, tally.frames)};
    if (tally.wrong != 0) {
        seen.observed = Observed::kWrong;
        seen.names = by_frequency(tally.names);
        seen.cell = wrong_cell;
    } else if (tally.frames != 0) {
        seen.observed = Observed::kRight;
        seen.cell = cell;
    } else if (tally.refused != 0) {
        seen.observed = Observed::kRefused;
        seen.note = "the driver would not take the frames";
    } else {
        seen.note = tally.lacking != 0 ? "the port lacks an offload that such frames need"
                                       : "no row of the matrix is of this kind";
    }
    return seen;
}

verdict::TruthRow row_of(const std::string& offload, profile::Direction direction,
                         const Tallies& tallies) {
    verdict::TruthRow truth{.offload = offload,
                            .direction = direction == profile::Direction::kTransmit ? "Tx" : "Rx"};
    for (std::size_t condition = 0; condition < kConditions; ++condition) {
        const std::string cell = cell_id(direction, condition);
        truth.observed.push_back(observation_of(tallies[condition], cell, cell));
    }
    return truth;
}

void tally_sent(const TxRow& row, const std::string& offload, Tally& tally) {
    tally.lacking += row.lacking.empty() ? 0 : 1;
    std::uint64_t wrong = 0;
    for (const matrix::TxFinding& finding : row.result.findings) {
        if (finding.kind == matrix::FindingKind::kRefused) {
            tally.refused += finding.frames;
        } else if (is_cause(row.result, finding) && concerns(offload, row, finding.place)) {
            tally.add(finding.title, finding.frames);
            wrong += finding.frames;
        }
    }
    // What never came is wrong as well, and was not seen.
    tally.frames += std::max(row.result.seen, std::min(wrong, row.result.intended));
}

bool lists(const TxRow& row, const std::string& offload) {
    return offload == kNoOffload ? row.offloads.empty() : contains(row.offloads, offload);
}

verdict::TruthRow sent_row(const RowsRun& run, const std::string& offload) {
    return row_of(offload, profile::Direction::kTransmit,
                  by_condition(run.sent, [&](const TxRow& row, Tally& tally) {
                      if (lists(row, offload)) {
                          tally_sent(row, offload, tally);
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

// Checksums of a row's frames that can be judged, of the layers and protocols that are wanted.
template <typename Wanted>
ClaimCount claims_of(const RxRow& row, const Wanted& wanted) {
    ClaimCount all;
    for (std::size_t layer = 0; layer < judge::kRxLayers; ++layer) {
        for (std::size_t protocol = 0; protocol < judge::kProtocolCount; ++protocol) {
            if (wanted(static_cast<judge::RxLayer>(layer),
                       static_cast<judge::Protocol>(protocol))) {
                add_counts(all, row.claims[layer][protocol]);
            }
        }
    }
    return all;
}

// The kernel says nothing of IP headers.
ClaimCount transport_claims(const RxRow& row) {
    return claims_of(row, [](judge::RxLayer, judge::Protocol protocol) {
        return protocol != judge::Protocol::kIpv4;
    });
}

verdict::TruthRow claims_row(const RowsRun& run, const std::string& offload) {
    const Tallies tallies = by_condition(run.received, [&](const RxRow& row, Tally& tally) {
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
    for (std::size_t condition = 0; condition < kConditions; ++condition) {
        Observation& seen = truth.observed[condition];
        if (seen.observed == Observed::kRight && tallies[condition].claimed == 0) {
            seen.observed = Observed::kNotTested;
            seen.note = "no claim is made of such frames (unknown), good or bad";
        }
    }
    return truth;
}

bool is_of_delivery(const matrix::RxFinding& finding) {
    return finding.kind == matrix::RxFindingKind::kNotDelivered ||
           finding.kind == matrix::RxFindingKind::kChanged;
}

enum class Side { kClaims, kDelivery };

void add_findings(const RxRow& row, Side side, Tally& tally) {
    for (const matrix::RxFinding& finding : row.result.findings) {
        if (is_of_delivery(finding) == (side == Side::kDelivery)) {
            tally.add(finding.title, finding.frames);
        }
    }
}

void tally_delivery(const RxRow& row, Tally& tally) {
    tally.frames += row.result.frames;
    add_findings(row, Side::kDelivery, tally);
}

verdict::TruthRow delivery_row(const RowsRun& run) {
    verdict::TruthRow truth = row_of("delivery", profile::Direction::kReceive,
                                     by_condition(run.received, tally_delivery));
    truth.advertised = "on";
    return truth;
}

void tally_claims(const RxRow& row, Tally& tally) {
    const ClaimCount claims = transport_claims(row);
    tally.frames += claims.verifiable;
    tally.claimed += claims.claimed;
    add_findings(row, Side::kClaims, tally);
}

verdict::TruthRow kernel_row(const RowsRun& run, Side side, const std::string& cell) {
    verdict::TruthRow truth{.direction = "Rx"};
    Tallies tallies =
        by_condition(run.received, side == Side::kClaims ? tally_claims : tally_delivery);
    for (std::size_t condition = 0; condition < kConditions; ++condition) {
        Tally& tally = tallies[condition];
        // A false claim can be about what cannot be judged.
        tally.frames = std::max(tally.frames, tally.wrong);
        Observation seen = observation_of(tally, cell, cell + "." + condition_word(condition));
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

const char* condition_name(std::size_t condition) {
    return kNames[condition];
}

std::size_t condition_of(const Row& row) {
    if (row.segmentation != matrix::Segmentation::kNone) {
        return kSegments;
    }
    switch (row.encap) {
        case Encap::kVxlanOverIpv4:
        case Encap::kVxlanOverIpv6:
            return row.tunnel_port == matrix::TunnelPort::k4789 ? kVxlanHome : kVxlanElsewhere;
        case Encap::kGeneve:
        case Encap::kGeneve40:
        case Encap::kGeneve124:
        case Encap::kVxlanGpe: return kGeneveGpe;
        case Encap::kIpInIp:
        case Encap::kGre: return kOverIp;
        case Encap::kNone: break;
    }
    if (row.fragmentation != matrix::Fragmentation::kNone) {
        return kFragments;
    }
    if (row.trailer != matrix::Trailer::kNone) {
        return kPadded;
    }
    if (row.vlan != matrix::Vlan::kNone) {
        return kVlan;
    }
    const bool bare =
        row.network == matrix::InnerNetwork::kIpv4 || row.network == matrix::InnerNetwork::kIpv6;
    return bare ? kPlain : kOptions;
}

std::string condition_word(std::size_t condition) {
    std::string id;
    for (const char* at = kNames[condition]; *at != '\0'; ++at) {
        const bool word = std::isalnum(static_cast<unsigned char>(*at)) != 0;
        if (word) {
            id += static_cast<char>(std::tolower(static_cast<unsigned char>(*at)));
        } else if (!id.ends_with('-')) {
            id += '-';
        }
    }
    return id;
}

std::string cell_id(profile::Direction direction, std::size_t condition) {
    return std::string(profile::name(direction)) + "." + condition_word(condition);
}

std::vector<const Defect*> defects_in(const RowsRun& run, const Findings& findings,
                                      profile::Direction direction, std::size_t condition) {
    std::vector<const Defect*> shown;
    for (const Defect& defect : findings.defects) {
        const bool here =
            defect.direction == direction && std::ranges::any_of(defect.rows, [&](std::size_t row) {
                return condition_of(run.row(direction, row)) == condition;
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
    table.conditions.assign(std::begin(kNames), std::end(kNames));
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
        add(sent_row(run, offload), offload == kNoOffload || contains(device.tx_offloads, offload),
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
