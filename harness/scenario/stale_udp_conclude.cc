// What is said of stale-udp: each clause from a value that is not zero.
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/scenario/measures.h"
#include "harness/scenario/stale_udp.h"
#include "harness/verdict/interval.h"

namespace pathproof::scenario {
namespace {

using verdict::CellVerdict;
using StaleRole = verdict::Cell::Role;

// Datagrams that the entry explains: it goes from the service to the endpoint that is gone, and has
// counted them.
bool by_entry(const StaleUdpValues& seen) {
    return seen.entry && seen.entry_packets >= seen.to_gone;
}

std::uint64_t unexplained_in(const StaleUdpValues& seen) {
    return seen.to_gone != 0 && !by_entry(seen) ? seen.to_gone : 0;
}

std::string gone_text(const StaleUdpCell& what, const StaleUdpValues& seen) {
    return fmt::format("{} of {} datagrams after the change went to the endpoint that is gone{}",
                       seen.to_gone, seen.sent,
                       what.has_endpoint() ? fmt::format(", {} to the one that serves", seen.to_new)
                                           : fmt::format(", REJECT counted {}", seen.rejected));
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

struct ConcludedStale {
    const MeasuredStaleUdpCell* measured = nullptr;
    verdict::Cell cell;
    const StaleUdpCell& what() const { return measured->what; }
    const StaleUdpValues& seen() const { return measured->seen; }
    bool harmed() const {
        return cell.verdict == CellVerdict::kFail && cell.cause == "stale-entry";
    }
};
using Stales = std::vector<ConcludedStale>;

std::vector<std::string> hindrances(const Stales& cells) {
    std::vector<std::string> all;
    for (const ConcludedStale& each : cells) {
        const verdict::Cell& cell = each.cell;
        const bool cure = each.what().role == StaleRole::kCure;
        if (cell.verdict == CellVerdict::kError) {
            all.push_back(fmt::format("{} could not be measured ({})", cell.id, cell.reason));
        } else if (!cure && cell.verdict != CellVerdict::kPass &&
                   !(each.what().role == StaleRole::kMatrix && each.harmed())) {
            all.push_back(fmt::format("{}{}: {}",
                                      each.what().role == StaleRole::kControl ? "the control " : "",
                                      cell.id, cell.reason));
        }
    }
    return all;
}

std::string cure_text(const Stales& cells, bool& shown) {
    const auto find = [&](const auto& wanted) {
        const auto at = std::ranges::find_if(cells, wanted);
        return at == cells.end() ? nullptr : &*at;
    };
    const ConcludedStale* cure =
        find([](const ConcludedStale& each) { return each.what().role == StaleRole::kCure; });
    const ConcludedStale* again =
        find([](const ConcludedStale& each) { return each.what().again && each.harmed(); });
    if (cure == nullptr) {
        return "delete the flow's entry (not tried in this run)";
    }
    const std::string name = "`" + cure->seen().cure_command + "`";
    if (cure->cell.verdict != CellVerdict::kPass) {
        return fmt::format("{} (not shown: {})", name, cure->cell.reason);
    }
    if (again == nullptr) {
        return name + " (not shown: without it the failure was not seen again)";
    }
    shown = true;
    return fmt::format(
        "{} on the DUT, for each endpoint that is gone ({} deleted, the entry of another flow "
        "stayed; "
        "then {} of {} datagrams reached the endpoint that serves; without it again {} of {} the "
        "one "
        "that is gone)",
        name, cure->seen().deleted, cure->seen().to_new, cure->seen().sent, again->seen().to_gone,
        again->seen().sent);
}

void conclude_reproduced(const Stales& cells, const ConcludedStale& first,
                         verdict::ScenarioResult& result) {
    result.verdict = verdict::ScenarioVerdict::kReproduced;
    std::uint64_t packets = 0;
    std::uint64_t gone = 0;
    for (const ConcludedStale& each : cells) {
        if (each.harmed() && each.what().role == StaleRole::kMatrix &&
            (!each.what().again || &each == &first)) {
            result.headline +=
                (result.headline.empty() ? "" : "; ") +
                fmt::format("{}: {}", each.cell.id, gone_text(each.what(), each.seen()));
            packets += each.seen().entry_packets;
            gone += each.seen().to_gone;
        }
    }
    result.headline += ".";
    result.cause = fmt::format(
        "DNAT rules are asked for the first packet of a flow alone. The flow's entry of conntrack "
        "goes to an endpoint that the service's rules do not name any more, and each datagram "
        "renews "
        "it: {} of them, {} packets counted by the entries after the change. {}: \"{}\".",
        gone, packets, first.cell.id, first.seen().entry_text);
    bool shown = false;
    result.cure = cure_text(cells, shown);
    result.cure_shown = shown;
    if (shown) {
        result.before_cell = first.cell.id;
        result.after_cell = std::ranges::find_if(cells, [](const ConcludedStale& each) {
                                return each.what().role == StaleRole::kCure;
                            })->cell.id;
    }
}

}  // namespace

verdict::Cell conclude(const StaleUdpCell& what, const StaleUdpValues& seen) {
    verdict::Cell cell{.id = what.id,
                       .toggles = {{"service then", what.has_endpoint() ? "another endpoint"
                                                                        : "no endpoint: REJECT"},
                                   {"sender", then_text(what.then)}},
                       .role = what.role,
                       .verdict = CellVerdict::kPass};
    add_measures(seen, cell);
    const auto end = [&](CellVerdict verdict, std::string cause, std::string reason) {
        cell.verdict = verdict;
        cell.cause = std::move(cause);
        cell.reason = std::move(reason);
        return cell;
    };
    if (!seen.objections.empty()) {
        return end(CellVerdict::kError, "", "no result: " + seen.objections.front());
    }
    if (seen.sent_before == 0 || seen.reached_before != seen.sent_before || seen.sent == 0) {
        return end(CellVerdict::kInconclusive, "",
                   fmt::format("before the change {} of {} datagrams reached the endpoint, and {} "
                               "were sent after it",
                               seen.reached_before, seen.sent_before, seen.sent));
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
    Stales cells;
    verdict::ScenarioResult result;
    verdict::Chart chart{
        .title = "Datagrams that went to an endpoint that is gone", .unit = "%", .maximum = 100};
    for (const MeasuredStaleUdpCell& each : measured) {
        cells.push_back({&each, conclude(each.what, each.seen)});
        cells.back().cell.evidence = each.evidence;
        result.unexplained += unexplained_in(each.seen);
        if (each.seen.sent != 0 && !each.what.again) {
            chart.bars.push_back(verdict::share_bar(
                each.what.label, each.seen.to_gone, each.seen.sent,
                each.seen.to_gone == 0 ? verdict::Bar::Kind::kGood : verdict::Bar::Kind::kBad));
        }
    }
    const std::vector<std::string> hindered = hindrances(cells);
    const auto first = std::ranges::find_if(cells, [](const ConcludedStale& each) {
        return each.what().role == StaleRole::kMatrix && each.harmed();
    });
    if (!hindered.empty() || cells.empty()) {
        result.verdict = verdict::ScenarioVerdict::kInconclusive;
        result.headline = fmt::format(
            "Nothing is concluded: {}.",
            cells.empty() ? "nothing was measured" : fmt::format("{}", fmt::join(hindered, "; ")));
    } else if (first != cells.end()) {
        conclude_reproduced(cells, *first, result);
    } else {
        result.verdict = verdict::ScenarioVerdict::kNotReproduced;
        result.headline = "After each change of the service's rules its flows followed them.";
    }
    if (!chart.bars.empty()) {
        result.charts.push_back(std::move(chart));
    }
    for (ConcludedStale& each : cells) {
        (each.what().role == StaleRole::kControl ? result.controls : result.cells)
            .push_back(std::move(each.cell));
    }
    return result;
}

}  // namespace pathproof::scenario
