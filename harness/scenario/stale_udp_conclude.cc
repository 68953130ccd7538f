// What is said of stale-udp: each clause from a value that is not zero.
#include "harness/scenario/measures.h"
#include "harness/scenario/stale_udp.h"

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

std::string gone_text(const StaleUdpCell& what, const StaleUdpValues& seen) {
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
    const auto datagrams = [](const char* name, const char* label, std::uint64_t value) {
        return count_of(name, label, value, "datagrams");
    };
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
        count_of(verdict::kUnexplained, "to the endpoint that is gone, and no entry tells why",
                 unexplained_in(seen), "datagrams"),
    };
}

bool harmed(const ConcludedStale& each) {
    return each.cell.verdict == CellVerdict::kFail && each.cell.cause == "stale-entry";
}

// Sets the cure and whether it was shown.
void tell_cure(const Stales& cells, verdict::ScenarioResult& result) {
    const ConcludedStale* cure =
        first_of(cells, [](const auto& each) { return each.is(CellRole::kCure); });
    const ConcludedStale* again =
        first_of(cells, [](const auto& each) { return each.what().again && harmed(each); });
    const std::string name = cure == nullptr || cure->seen().cure_command.empty()
                                 ? "delete the flow's entry"
                                 : "`" + cure->seen().cure_command + "`";
    result.cure_shown = cure != nullptr && cure->passes() && again != nullptr;
    if (!result.cure_shown) {
        result.cure =
            fmt::format("{} ({})", name,
                        cure == nullptr  ? "not tried in this run"
                        : cure->passes() ? "not shown: without it the failure was not seen again"
                                         : "not shown: " + cure->cell.reason);
        return;
    }
    result.after_cell = cure->cell.id;
    result.cure = fmt::format(
        "{} on the DUT, for each endpoint that is gone ({} deleted, the entry of another flow "
        "stayed; then {} datagrams reached the endpoint that serves; without it again {} the one "
        "that is gone)",
        name, cure->seen().deleted, some_of(cure->seen().to_new, cure->seen().sent),
        some_of(again->seen().to_gone, again->seen().sent));
}

void conclude_reproduced(const Stales& cells, const ConcludedStale& first,
                         verdict::ScenarioResult& result) {
    result.verdict = verdict::ScenarioVerdict::kReproduced;
    std::uint64_t packets = 0;
    std::uint64_t gone = 0;
    Clauses found;
    for (const ConcludedStale& each : cells) {
        if (harmed(each) && each.is(CellRole::kMatrix) && (!each.what().again || &each == &first)) {
            found.push_back(each.cell.id + ": " + gone_text(each.what(), each.seen()));
            packets += each.seen().entry_packets;
            gone += each.seen().to_gone;
        }
    }
    result.headline = in_a_row(found, "; ") + ".";
    result.cause = fmt::format(
        "DNAT rules are asked for the first packet of a flow alone. The flow's entry of conntrack "
        "goes to an endpoint that the service's rules do not name any more, and each datagram "
        "renews it: {} of them, {} packets counted by the entries after the change. {}: \"{}\".",
        gone, packets, first.cell.id, first.seen().entry_text);
    tell_cure(cells, result);
    result.before_cell = result.cure_shown ? first.cell.id : "";
}

}  // namespace

verdict::Cell conclude(const StaleUdpCell& what, const StaleUdpValues& seen) {
    verdict::Cell cell{.id = what.id,
                       .toggles = {{"service then", what.has_endpoint() ? "another endpoint"
                                                                        : "no endpoint: REJECT"},
                                   {"sender", then_text(what.then)},
                                   {"IP", what.family == frame::Family::kIpv4 ? "4" : "6"}},
                       .role = what.role,
                       .verdict = CellVerdict::kPass};
    add_measures(seen, cell);
    const auto end = ending(cell);
    if (!seen.lacks.empty()) {
        return end(CellVerdict::kSkip, "", seen.lacks);
    }
    if (!seen.objections.empty()) {
        return end(CellVerdict::kError, "", "no result: " + seen.objections.front());
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
    if (seen.to_gone != 0) {
        // Where the entry is new it was the rules that sent it there.
        return end(CellVerdict::kFail, seen.entry_is_new ? "stale-rules" : "stale-entry",
                   fmt::format("{}; {}: \"{}\"", gone_text(what, seen),
                               seen.entry_is_new ? "its entry is younger than the change"
                                                 : "the entry from before it was renewed by each",
                               seen.entry_text));
    }
    if (seen.lost() != 0) {
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
    verdict::ScenarioResult result{
        .title = "UDP to an endpoint that is gone: its conntrack entry outlives it",
        .question =
            "Does a UDP flow follow its service when the service's endpoint changes (IPv4 and "
            "IPv6)?"};
    verdict::Chart chart{
        .title = "Datagrams that went to an endpoint that is gone", .unit = "%", .maximum = 100};
    for (const auto& [what, seen, evidence, timeline] : measured) {
        result.unexplained += unexplained_in(seen);
        if (seen.sent != 0 && !what.again) {
            chart.bars.push_back(harm_bar(what.label, seen.to_gone, seen.sent));
        }
    }
    Stales cells = conclude_each(measured);
    const Clauses hindered = hindrances(cells, harmed);
    const ConcludedStale* first = first_of(
        cells, [](const auto& each) { return each.is(CellRole::kMatrix) && harmed(each); });
    if (!hindered.empty()) {
        result.headline = fmt::format("Nothing is concluded: {}.", in_a_row(hindered, "; "));
    } else if (first != nullptr) {
        conclude_reproduced(cells, *first, result);
    } else {
        result.verdict = verdict::ScenarioVerdict::kNotReproduced;
        result.headline = "After each change of the service's rules its flows followed them.";
    }
    finish(cells, std::move(chart), result);
    return result;
}

}  // namespace pathproof::scenario
