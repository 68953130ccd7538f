// What is said of invalid-rst: each clause from a value that is not zero.
#include "harness/scenario/measures.h"
#include "harness/scenario/service_path/invalid_rst.h"

namespace pathproof::scenario {
namespace {

using verdict::CellVerdict;
using ConcludedSegments = ConcludedCell<MeasuredSegmentCell>;
using SegmentRuns = std::vector<ConcludedSegments>;

constexpr const char* kOwnCause = "invalid-rst";

const char* sends_text(SegmentCell::Sends sends) {
    switch (sends) {
        case SegmentCell::Sends::kNothing: return "-";
        case SegmentCell::Sends::kAhead: return "ahead of the window";
        case SegmentCell::Sends::kInWindow: return "in the window";
        case SegmentCell::Sends::kLateCopy: return "late copy of acknowledged data";
    }
    return "";
}

std::string broken_text(const SegmentValues& seen) {
    return fmt::format("{} connections broke{}", some_of(seen.broken, seen.connects),
                       seen.reset == 0 ? "" : fmt::format(" ({} reset by peer)", seen.reset));
}

std::string joined_text(const SegmentValues& seen) {
    Clauses clauses;
    tell_count(
        clauses, seen.proven(),
        "{} after an INVALID segment that came untranslated and that the client answered with a "
        "RST");
    tell_count(clauses, seen.by_lost_entry,
               "{} after a segment that came untranslated for want of its flow's entry");
    tell_count(clauses, seen.by_server, "{} as the server's side sent a RST");
    tell_count(clauses, seen.unexplained(), "{} unexplained");
    return in_a_row(clauses);
}

std::string causes_of(const SegmentValues& seen) {
    Clauses causes;
    for (const auto& [count, cause] : {std::pair{seen.proven(), kOwnCause},
                                       {seen.by_lost_entry, "lost-entry"},
                                       {seen.by_server, "server-reset"}}) {
        tell(causes, count, "{}", cause);
    }
    return in_a_row(causes, "+");
}

bool connections_harmed(const ConcludedSegments& each) {
    return each.cell.verdict == CellVerdict::kFail && each.cell.cause == kOwnCause;
}

// What a cure does to connections of which the DUT sees one direction.
std::string side_effect(const SegmentRuns& cells, const SegmentCell& cure) {
    const ConcludedSegments* with = first_of(cells, [&](const auto& each) {
        return each.what().one_way && each.passes() && each.what().drops == cure.drops &&
               each.what().be_liberal == cure.be_liberal;
    });
    const ConcludedSegments* without = first_of(cells, [](const auto& each) {
        return each.what().one_way && each.is(CellRole::kControl) && each.passes();
    });
    if (with == nullptr || without == nullptr) {
        return "what it does to connections of which the DUT sees one direction was not measured "
               "in this run";
    }
    return fmt::format("of connections whose answers pass by the DUT {} broke with it, without {}",
                       some_of(with->seen().broken, with->seen().connects),
                       some_of(without->seen().broken, without->seen().connects));
}

// Sets the cure, and whether one was shown.
void tell_cures(const SegmentRuns& cells, const ConcludedSegments& first,
                verdict::ScenarioResult& result) {
    const ConcludedSegments* again = first_again(cells, connections_harmed);
    const auto text = [&](const ConcludedSegments& each, const std::string& why) {
        return fmt::format(
            "{} ({}; {})",
            each.what().drops
                ? "`iptables -A FORWARD -m conntrack --ctstate INVALID -j DROP` on "
                  "the DUT, as kube-proxy's KUBE-FORWARD has it"
                : "`sysctl -w net.netfilter.nf_conntrack_tcp_be_liberal=1` on the DUT",
            why.empty() ? fmt::format("with it {}, without again {}",
                                      some_of(each.seen().broken, each.seen().connects),
                                      some_of(again->seen().broken, again->seen().connects))
                        : why,
            side_effect(cells, each.what()));
    };
    tell_each_cure(cells, first, again != nullptr, text,
                   "net.netfilter.nf_conntrack_tcp_be_liberal=1", result);
}

void conclude_resets(const SegmentRuns& cells, const ConcludedSegments& first,
                     verdict::ScenarioResult& result) {
    Clauses found;
    for (const ConcludedSegments& each : cells) {
        tell(found, each.is(CellRole::kMatrix) && (!each.what().again || &each == &first), "{}: {}",
             each.cell.id, broken_text(each.seen()));
    }
    const SegmentValues& seen = first.seen();
    result.headline = in_a_row(found, "; ") + ".";
    result.cause = fmt::format(
        "In {} the endpoint sends a segment from outside of the window in each connection. "
        "conntrack calls them INVALID ({} counted) and translates nothing of them: {} came to the "
        "client from the endpoint's own address, with which it has no connection, and it sent {} "
        "RSTs there. A RST that has the number which the endpoint expects ends the connection "
        "there, and what the client asks next is answered with a RST: {}.",
        first.cell.id, seen.invalid, seen.untranslated, seen.answered, joined_text(seen));
    tell_cures(cells, first, result);
}

}  // namespace

verdict::Cell conclude(const SegmentCell& what, const SegmentValues& seen) {
    verdict::Cell cell{.id = what.id,
                       .toggles = {{"segment", sends_text(what.sends)},
                                   {"nf_conntrack_tcp_be_liberal", what.be_liberal ? "1" : "0"},
                                   {"INVALID", what.drops ? "dropped" : "forwarded"},
                                   {"answers", what.one_way ? "pass by" : "by the DUT"}},
                       .role = what.role,
                       .verdict = CellVerdict::kPass};
    const auto connects = counts_in("connections");
    const auto packets = counts_in("packets");
    cell.measures = {
        connects("connects", "connections", seen.connects),
        connects("broken", "of them that broke", seen.broken),
        connects("reset", "of them reset by peer", seen.reset),
        packets("segments", "segments put on the endpoint's wire", seen.segments),
        packets("invalid", "to the client, INVALID by the rule's count", seen.invalid),
        packets("untranslated", "from the endpoint's own address, on the client's wire",
                seen.untranslated),
        packets("answered", "RSTs of the client to that address", seen.answered),
        connects("by_segment", "broken after such a segment, INVALID, and such a RST",
                 seen.proven()),
        connects("by_lost_entry", "broken after such a segment of a flow without an entry",
                 seen.by_lost_entry),
        connects("by_server", "broken by a RST of the server's side", seen.by_server),
        connects(verdict::kUnexplained, "broken, and no cause could be joined",
                 what.role == CellRole::kDemonstration ? 0 : seen.unexplained()),
    };
    const auto end = ending(cell);
    if (not_measured(cell, "", seen.objections, seen.connects, "no connection was made")) {
        return cell;
    }
    if (seen.be_liberal != (what.be_liberal ? "1" : "0")) {
        return end(CellVerdict::kInconclusive, "",
                   "nf_conntrack_tcp_be_liberal is '" + seen.be_liberal + "'");
    }
    if (what.sends != SegmentCell::Sends::kNothing && seen.segments < seen.connects) {
        return end(CellVerdict::kInconclusive, "",
                   fmt::format("a segment was put on the wire in {} connections",
                               some_of(seen.segments, seen.connects)));
    }
    // What a cure breaks: a figure, not a fault.
    if (what.role == CellRole::kDemonstration || seen.broken == 0) {
        return cell;
    }
    const std::string reason = broken_text(seen) + ": " + joined_text(seen);
    return seen.unexplained() != 0 ? end(CellVerdict::kInconclusive, "", reason)
                                   : end(CellVerdict::kFail, causes_of(seen), reason);
}

verdict::ScenarioResult conclude(const std::vector<MeasuredSegmentCell>& measured) {
    const auto harm_of = [](const ConcludedSegments& each, auto&) -> Harm {
        const SegmentValues& seen = each.seen();
        return {seen.broken, seen.connects,
                each.is(CellRole::kDemonstration) ? 0 : seen.unexplained()};
    };
    return conclude_cells(measured, "Connections that broke", harm_of, connections_harmed,
                          conclude_resets, "No connection broke, whatever segment came.");
}

}  // namespace pathproof::scenario
