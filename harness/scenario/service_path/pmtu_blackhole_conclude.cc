// What is said of pmtu-blackhole: each clause from a value that is not zero.
#include "harness/scenario/measures.h"
#include "harness/scenario/service_path/pmtu_blackhole.h"

namespace pathproof::scenario {
namespace {

using verdict::CellVerdict;

using Pmtus = std::vector<ConcludedCell<MeasuredPmtuCell>>;
using ConcludedPmtu = Pmtus::value_type;

bool stops_at_the_hop(const PmtuCell& what, const PmtuValues& seen) {
    return seen.passes == what.fits() && seen.stops == what.fits() + 1;
}

// "fragments-dropped", "icmp-filtered"; empty: it is neither.
std::string blackhole(const PmtuCell& what, const PmtuValues& seen) {
    if (!seen.hangs() || !stops_at_the_hop(what, seen)) {
        return "";
    }
    return seen.cut != 0 && seen.fragments_dropped != 0  ? "fragments-dropped"
           : seen.too_big != 0 && seen.icmp_dropped != 0 ? "icmp-filtered"
                                                         : "";
}

// Why it is something else.
OtherCause not_the_hop(const PmtuValues& seen) {
    if (!seen.path.outages.empty()) {
        return {"link-down", in_a_row(seen.path.outages) + " had no link for a time"};
    }
    if (seen.by_other_rules() != 0) {
        return {"rule-drop", fmt::format("rules of netfilter dropped {} packets on the DUT",
                                         seen.by_other_rules())};
    }
    return {"lost", "no counter of the router tells why"};
}

bool unexplained(const PmtuCell& what, const PmtuValues& seen) {
    return !seen.large && blackhole(what, seen).empty() && not_the_hop(seen).cause == "lost";
}

std::string sizes_text(const PmtuValues& seen) {
    return seen.passes == 0  ? "sizes were not measured"
           : seen.stops == 0 ? fmt::format("packets of up to {} bytes pass", seen.passes)
                             : fmt::format("packets of {} bytes pass, those of {} do not",
                                           seen.passes, seen.stops);
}

std::string hop_text(const PmtuValues& seen) {
    Clauses clauses;
    tell_count(clauses, seen.cut, "the router cut {} datagrams");
    tell_count(clauses, seen.fragments_dropped, "the VTEPs discarded {} fragments");
    tell_count(clauses, seen.too_big, "the router refused {} datagrams as too large to pass uncut");
    tell_count(clauses, seen.icmp_dropped, "{} of its ICMP messages were filtered");
    return in_a_row(clauses);
}

std::string through_text(const PmtuValues& seen) {
    if (!seen.ping || !seen.small) {
        return fmt::format("ping {}, a transfer of 100 bytes {}, one of 60000 {}",
                           seen.ping ? "got through" : "failed",
                           seen.small ? "got through" : "failed",
                           seen.large ? "got through" : "failed");
    }
    return fmt::format("ping and a transfer of 100 bytes got through, one of 60000 {}",
                       seen.large ? "too" : "hung");
}

void add_measures(const PmtuCell& what, const PmtuValues& seen, verdict::Cell& cell) {
    const auto probe = [](const char* name, const char* label, bool value) {
        return verdict::Measure{.name = name, .label = label, .value = value};
    };
    cell.measures = {
        probe("ping", "ping", seen.ping),
        probe("small", "transfer of 100 bytes", seen.small),
        probe("large", "transfer of 60000 bytes", seen.large),
        count_of("acknowledged", "of it acknowledged", seen.acknowledged, "bytes"),
        count_of("passes", "largest packet that passed", seen.passes, "bytes"),
        count_of("stops", "smallest that did not (0: none)", seen.stops, "bytes"),
        count_of("cut", "datagrams that the router cut", seen.cut),
        count_of("too_big", "datagrams that it refused as too large", seen.too_big),
        count_of("icmp_sent", "its ICMP destination unreachable", seen.icmp_sent),
        count_of("icmp_dropped", "of them filtered", seen.icmp_dropped),
        count_of("icmp_seen", "seen by the client", seen.icmp_seen),
        count_of("fragments_dropped", "fragments that the VTEPs discarded", seen.fragments_dropped),
        count_of("rule_drops", "packets that other rules dropped", seen.by_other_rules()),
        count_of(verdict::kUnexplained, "transfers that failed, and nothing tells why",
                 unexplained(what, seen) ? 1 : 0),
    };
}

bool swallowed(const ConcludedPmtu& each) {
    return !blackhole(each.what(), each.seen()).empty();
}

bool harmed_by_hop(const ConcludedPmtu& each) {
    return each.is(CellRole::kMatrix) && swallowed(each);
}

std::string pmtu_cures(const Pmtus& cells, const ConcludedPmtu& first,
                       verdict::ScenarioResult& result) {
    const auto* again = first_again(cells, harmed_by_hop);
    const std::uint32_t fits = first.what().fits();
    Clauses lines;
    for (const auto& [id, name] :
         {std::pair{"cure.mtu",
                    fmt::format("an MTU of {} on the tunnel (the path's less 50)", fits)},
          {"cure.df-set.icmp-passes.fragments-dropped",
           "outer DF set, and the routers' ICMP let through"},
          {"cure.mss-clamp", fmt::format("TCPMSS --set-mss {} on the tunnel", fits - 40)}}) {
        const ConcludedPmtu* cell = by_id(cells, id);
        if (const std::string why = not_shown(cell, again != nullptr); !why.empty()) {
            lines.push_back(fmt::format("{} ({})", name, why));
        } else {
            lines.push_back(fmt::format("{} ({}; {})", name, through_text(cell->seen()),
                                        sizes_text(cell->seen())));
            show_cure(first, *cell, result);
        }
    }
    return in_a_row(lines, "\n");
}

void conclude_blackhole(const Pmtus& cells, const ConcludedPmtu& first,
                        verdict::ScenarioResult& result) {
    Clauses headline;
    for (const ConcludedPmtu& each : cells) {
        tell(headline, harmed_by_hop(each) && (!each.what().again || &each == &first), "{}",
             each.what().label);
    }
    result.headline = fmt::format("Ping and small transfers get through, large ones hang: {}.",
                                  in_a_row(headline, "; "));
    Clauses causes;
    for (const char* cause : {"fragments-dropped", "icmp-filtered"}) {
        if (const auto* one = first_of(cells, [&](const ConcludedPmtu& each) {
                return harmed_by_hop(each) && each.cell.cause == cause;
            })) {
            causes.push_back(fmt::format("{}: {}", one->cell.id, hop_text(one->seen())));
        }
    }
    result.cause = fmt::format(
        "The tunnel takes packets of {} bytes and adds 50, a hop of its path passes {}: {}. In {}.",
        first.what().tunnel.mtu, first.what().tunnel.hop_mtu, sizes_text(first.seen()),
        in_a_row(causes, "; in "));
    result.cure = pmtu_cures(cells, first, result);
}

}  // namespace

verdict::Cell conclude(const PmtuCell& what, const PmtuValues& seen) {
    const TunnelOptions& tunnel = what.tunnel;
    verdict::Cell cell{
        .id = what.id,
        .toggles = {{"outer DF", tunnel.df ? "set" : "unset"},
                    {"ICMP", tunnel.icmp ? "passes" : "filtered"},
                    {"fragments", tunnel.fragments ? "pass" : "dropped"},
                    {"tunnel MTU", std::to_string(tunnel.mtu)},
                    {"hop MTU", std::to_string(tunnel.hop_mtu)},
                    {"MSS", tunnel.mss == 0 ? "as it is" : std::to_string(tunnel.mss)}},
        .role = what.role,
        .verdict = CellVerdict::kPass};
    add_measures(what, seen, cell);
    const auto end = ending(cell);
    if (not_measured(cell, "", seen.objections)) {
        return cell;
    }
    if (seen.ping && seen.small && seen.large) {
        return cell;
    }
    if (const std::string cause = blackhole(what, seen); !cause.empty()) {
        return end(CellVerdict::kFail, cause,
                   in_a_row({through_text(seen), sizes_text(seen), hop_text(seen)}, "; "));
    }
    const OtherCause other = not_the_hop(seen);
    Clauses clauses = {through_text(seen)};
    tell(clauses, seen.passes, "{}", sizes_text(seen));
    tell(clauses, seen.stops, "the hop would stop those above {}", what.fits());
    clauses.push_back(other.clause);
    return end(CellVerdict::kFail, other.cause, in_a_row(clauses, "; "));
}

verdict::ScenarioResult conclude(const std::vector<MeasuredPmtuCell>& measured) {
    verdict::Proof proof{
        .title = "What gets through, by the outer DF bit, ICMP and fragments",
        .columns = {"outer DF", "ICMP", "fragments", "tunnel MTU", "hop MTU", "MSS", "60000 bytes",
                    "packets pass up to", "cut", "fragments discarded", "too large",
                    "ICMP filtered", "ICMP at the client"},
        .conclusion =
            "Packets are those of ping inside of the tunnel; the counters are of the "
            "router, of the rules and of the client."};
    const auto harm_of = [&](const ConcludedPmtu& each, auto&) -> Harm {  // the table is its chart
        const PmtuValues& seen = each.seen();
        if (each.cell.verdict != CellVerdict::kError && !each.what().again) {
            std::vector<std::string>& row = proof.rows.emplace_back();
            for (const auto& toggle : each.cell.toggles) {
                row.push_back(toggle.second);
            }
            row.push_back(seen.large ? "ok" : seen.hangs() ? "HANGS" : "fails");
            for (const std::uint64_t value :
                 {std::uint64_t{seen.passes}, seen.cut, seen.fragments_dropped, seen.too_big,
                  seen.icmp_dropped, seen.icmp_seen}) {
                row.push_back(std::to_string(value));
            }
        }
        return {.unexplained = unexplained(each.what(), seen) ? 1U : 0U};
    };
    auto result = conclude_cells(
        measured, "", harm_of, swallowed, conclude_blackhole,
        "Transfers got through the tunnel, whatever the router's ICMP and fragments met.");
    if (!proof.rows.empty()) {
        result.proofs.push_back(std::move(proof));
    }
    return result;
}

}  // namespace pathproof::scenario
