// What is said of stale-udp: each clause from a value that is not zero.
#include "harness/scenario/measures.h"
#include "harness/scenario/service_path/stale_udp.h"

namespace pathproof::scenario {
namespace {

using verdict::CellVerdict;
using ConcludedStale = ConcludedCell<MeasuredStaleUdpCell>;
using Stales = std::vector<ConcludedStale>;

// Datagrams that the entry explains: it goes from the service to the endpoint that is gone, and has
// counted them.
bool by_entry(const StaleUdpValues& seen) {
    return seen.entry && seen.entry_packets >= seen.to_gone;
}

std::uint64_t unexplained_in(const StaleUdpValues& seen) {
    return seen.to_gone != 0 && !by_entry(seen) ? seen.to_gone : 0;
}

// Datagrams that IPVS's connection explains: it waits for the endpoint that is gone to come back.
bool by_ipvs(const StaleUdpCell& what, const StaleUdpValues& seen) {
    return what.by_ipvs() && seen.ipvs_to_gone && seen.to_new == 0;
}

std::string gone_text(const StaleUdpCell& what, const StaleUdpValues& seen) {
    if (what.by_ipvs() && seen.to_gone == 0) {
        return fmt::format("{} datagrams after the change came out nowhere",
                           some_of(seen.lost(), seen.sent));
    }
    return fmt::format(
        "{} datagrams after the change went to the endpoint that is gone, {}",
        some_of(seen.to_gone, seen.sent),
        (what.has_endpoint() ? std::string() : "REJECT counted ") +
            (seen.to_new + seen.rejected == 0 ? "none"
                                              : std::to_string(seen.to_new + seen.rejected)) +
            (what.has_endpoint() ? " to the one that serves" : ""));
}

const char* then_text(AfterChange then) {
    switch (then) {
        case AfterChange::kGoesOn: return "the flow goes on";
        case AfterChange::kNewFlow: return "a new flow";
        case AfterChange::kSilent: return "silence, then the flow goes on";
        case AfterChange::kForgets: return "entries deleted, the flow goes on";
    }
    return "";
}

void add_measures(const StaleUdpValues& seen, verdict::Cell& cell) {
    const auto datagrams = counts_in("datagrams");
    cell.measures = {
        datagrams("sent_before", "sent before the change", seen.sent_before),
        datagrams("reached_before", "of them at the endpoint", seen.reached_before),
        datagrams("sent", "sent after the change", seen.sent),
        datagrams("to_gone", "of them at the endpoint that is gone", seen.to_gone),
        datagrams("to_new", "of them at the endpoint that serves", seen.to_new),
        datagrams("rejected", "of them counted by REJECT", seen.rejected),
        datagrams("lost", "of them nowhere", seen.lost()),
        count_of("rule_hits", "packets that the service's rule counted", seen.rule_hits),
        count_of("entry_packets", "packets that the old entry counted after the change",
                 seen.entry_packets),
        count_of("entry_timeout", "seconds that the old entry has left", seen.entry_timeout_s, "s"),
        count_of("deleted", "entries deleted by the cure", seen.deleted),
        count_of("ipvs_to_gone", "connections of IPVS to the endpoint that is gone",
                 seen.ipvs_to_gone ? 1 : 0),
        count_of(verdict::kUnexplained, "to the endpoint that is gone, and no entry tells why",
                 unexplained_in(seen), "datagrams"),
    };
}

bool stale_harmed(const ConcludedStale& each) {
    return each.cell.verdict == CellVerdict::kFail &&
           (each.cell.cause == "stale-entry" || each.cell.cause == "ipvs-nodest");
}

// Of one way that a service is served.
TriedCure tried_cure(const Stales& cells, bool by_ipvs) {
    const ConcludedStale* cure = first_of(cells, [&](const auto& each) {
        return each.is(CellRole::kCure) && each.what().by_ipvs() == by_ipvs;
    });
    const ConcludedStale* again = first_of(cells, [&](const auto& each) {
        return each.what().again && each.what().by_ipvs() == by_ipvs && stale_harmed(each);
    });
    const std::string name = by_ipvs ? "`sysctl -w net.ipv4.vs.expire_nodest_conn=1`"
                             : cure == nullptr || cure->seen().cure_command.empty()
                                 ? "delete the flow's entry"
                                 : "`" + cure->seen().cure_command + "`";
    const std::string why = not_shown(cure, again != nullptr);
    if (!why.empty()) {
        return {.text = fmt::format("{} ({})", name, why)};
    }
    const StaleUdpValues& seen = cure->seen();
    const std::string then = fmt::format("{} datagrams reached the endpoint that serves",
                                         some_of(seen.to_new, seen.sent));
    const StaleUdpValues& without = again->seen();
    return {
        .text = by_ipvs
                    ? fmt::format("{} on the DUT (then {}{}; without it again {} came out nowhere)",
                                  name, then,
                                  seen.lost() == 0 ? ""
                                                   : ", and the one that ended the old connection "
                                                     "was lost",
                                  some_of(without.lost(), without.sent))
                    : fmt::format("{} on the DUT, for each endpoint that is gone ({} deleted, the "
                                  "entry of another flow stayed; then {}; without it again {} the "
                                  "one that is gone)",
                                  name, seen.deleted, then, some_of(without.to_gone, without.sent)),
        .shown = true,
        .cell = cure->cell.id};
}

// Sets the cure and whether it was shown, for each way that failed.
void tell_cure(const Stales& cells, bool by_rules, bool by_ipvs, verdict::ScenarioResult& result) {
    result.cure_shown = true;
    Clauses texts;
    for (const auto& [failed, ipvs] : {std::pair{by_rules, false}, {by_ipvs, true}}) {
        if (failed) {
            const TriedCure cure = tried_cure(cells, ipvs);
            texts.push_back(cure.text);
            result.cure_shown = result.cure_shown && cure.shown;
            result.after_cell = result.after_cell.empty() ? cure.cell : result.after_cell;
        }
    }
    result.after_cell = result.cure_shown ? result.after_cell : "";
    result.cure = in_a_row(texts, "; for IPVS ");
}

void conclude_stale(const Stales& cells, const ConcludedStale& first,
                    verdict::ScenarioResult& result) {
    std::uint64_t packets = 0;
    std::uint64_t gone = 0;
    std::uint64_t nowhere = 0;
    const ConcludedStale* dnat = nullptr;
    const ConcludedStale* ipvs = nullptr;
    Clauses found;
    for (const ConcludedStale& each : cells) {
        if (stale_harmed(each) && each.is(CellRole::kMatrix) &&
            (!each.what().again || &each == &first)) {
            found.push_back(each.cell.id + ": " + gone_text(each.what(), each.seen()));
            if (each.what().by_ipvs()) {
                nowhere += each.seen().lost();
                ipvs = ipvs == nullptr ? &each : ipvs;
                continue;
            }
            packets += each.seen().entry_packets;
            gone += each.seen().to_gone;
            dnat = dnat == nullptr ? &each : dnat;
        }
    }
    result.headline = in_a_row(found, "; ") + ".";
    Clauses causes;
    if (dnat != nullptr) {
        causes.push_back(fmt::format(
            "DNAT rules are asked for the first packet of a flow alone. The flow's entry of "
            "conntrack goes to an endpoint that the service's rules do not name any more, and each "
            "datagram renews it: {} of them, {} packets counted by the entries after the change. "
            "{}: \"{}\".",
            gone, packets, dnat->cell.id, dnat->seen().entry_text));
    }
    if (ipvs != nullptr) {
        causes.push_back(fmt::format(
            "IPVS keeps the connection of a flow to an endpoint that was deleted, and with "
            "expire_nodest_conn=0 it drops what comes for it: {} datagrams came out nowhere. {}: "
            "\"{}\".",
            nowhere, ipvs->cell.id, ipvs->seen().ipvs_connection));
    }
    result.cause = in_a_row(causes, " ");
    tell_cure(cells, dnat != nullptr, ipvs != nullptr, result);
    result.before_cell = result.cure_shown ? first.cell.id : "";
}

}  // namespace

verdict::Cell conclude(const StaleUdpCell& what, const StaleUdpValues& seen) {
    verdict::Cell cell{.id = what.id,
                       .toggles = {{"service then", what.has_endpoint() ? "another endpoint"
                                                                        : "no endpoint: REJECT"},
                                   {"sender", then_text(what.then)},
                                   {"IP", what.family == frame::Family::kIpv4 ? "4" : "6"},
                                   {"service by", what.by_ipvs() ? "IPVS" : "DNAT rules"}},
                       .role = what.role,
                       .verdict = CellVerdict::kPass};
    add_measures(seen, cell);
    const auto end = ending(cell);
    if (not_measured(cell, seen.lacks, seen.objections)) {
        return cell;
    }
    Clauses lacking;
    tell(lacking, seen.sent_before == 0, "no datagram was sent before the change");
    tell(lacking, seen.reached_before != seen.sent_before,
         "before the change {} datagrams reached the endpoint",
         some_of(seen.reached_before, seen.sent_before));
    tell(lacking, seen.sent == 0, "no datagram was sent after the change");
    if (!lacking.empty()) {
        return end(CellVerdict::kInconclusive, "", in_a_row(lacking));
    }
    if (unexplained_in(seen) != 0) {
        return end(CellVerdict::kInconclusive, "",
                   gone_text(what, seen) + ", and no entry of conntrack tells why");
    }
    if (seen.to_gone != 0 && what.by_ipvs()) {
        return end(CellVerdict::kFail, "still-served", gone_text(what, seen));
    }
    if (seen.to_gone != 0) {
        // Where the entry is new it was the rules that sent it there.
        return end(CellVerdict::kFail, seen.entry_is_new ? "stale-rules" : "stale-entry",
                   fmt::format("{}; {}: \"{}\"", gone_text(what, seen),
                               seen.entry_is_new ? "its entry is younger than the change"
                                                 : "the entry from before it was renewed by each",
                               seen.entry_text));
    }
    if (seen.lost() != 0 && by_ipvs(what, seen)) {
        return end(CellVerdict::kFail, "ipvs-nodest",
                   fmt::format("{}; IPVS keeps the flow's connection to the endpoint that is gone: "
                               "\"{}\"",
                               gone_text(what, seen), seen.ipvs_connection));
    }
    // The one that ended IPVS's old connection.
    if (seen.lost() != 0 && !(what.expires_nodest && seen.lost() == 1 && !seen.ipvs_to_gone)) {
        return end(CellVerdict::kFail, "lost",
                   fmt::format("{} of {} datagrams after the change came out nowhere", seen.lost(),
                               seen.sent));
    }
    if (what.then == AfterChange::kForgets && (seen.deleted == 0 || !seen.bystander)) {
        return end(CellVerdict::kFail, "",
                   seen.deleted == 0 ? "there was no entry to delete"
                                     : "the entry of another flow was deleted too");
    }
    return cell;
}

verdict::ScenarioResult conclude(const std::vector<MeasuredStaleUdpCell>& measured) {
    const auto harm_of = [](const ConcludedStale& each, auto&) -> Harm {
        const StaleUdpValues& seen = each.seen();
        return {each.what().by_ipvs() ? seen.lost() : seen.to_gone, seen.sent,
                unexplained_in(seen)};
    };
    return conclude_cells(measured, "Datagrams that went to an endpoint that is gone", harm_of,
                          stale_harmed, conclude_stale,
                          "After each change of the service's rules its flows followed them.");
}

}  // namespace pathproof::scenario
