// What is said of bridge-unnat: each clause from a value that is not zero.
#include <algorithm>

#include "harness/scenario/measures.h"
#include "harness/scenario/service_path/bridge_unnat.h"

namespace pathproof::scenario {
namespace {

using verdict::CellVerdict;
using ConcludedBridge = ConcludedCell<MeasuredBridgeCell>;
using Bridges = std::vector<ConcludedBridge>;

const char* backend_text(BridgeCell::Asks asks) {
    switch (asks) {
        case BridgeCell::Asks::kNeighbour: return "on the client's bridge";
        case BridgeCell::Asks::kOtherHost: return "on another host";
        case BridgeCell::Asks::kDirectly: return "on the client's bridge, asked by its own address";
    }
    return "";
}

// Lookups that failed beyond the backend's flows, or answers of others, where such answers came.
std::uint64_t unexplained_in(const BridgeValues& seen) {
    const std::uint64_t known = seen.unreplied + seen.unnamed;
    const std::uint64_t left = seen.failed() > known ? seen.failed() - known : 0;
    return seen.from_backend + seen.from_others == 0 ? 0 : std::max(left, seen.from_others);
}

std::string answers_text(const BridgeValues& seen) {
    Clauses clauses;
    tell_count(clauses, seen.from_asked, "{} from the address that was asked");
    tell_count(clauses, seen.from_backend, "{} from the backend's own address");
    tell_count(clauses, seen.from_others, "{} from another address");
    return clauses.empty() ? "no answer came to the client's wire"
                           : "answers on the client's wire: " + in_a_row(clauses);
}

bool lookups_harmed(const ConcludedBridge& each) {
    return each.cell.verdict == CellVerdict::kFail && each.cell.cause == "untranslated-answer" &&
           each.seen().failed() != 0;
}

// Sets the cure, and whether one was shown.
void tell_cures(const Bridges& cells, const ConcludedBridge& first,
                verdict::ScenarioResult& result) {
    const ConcludedBridge* again = first_again(cells, lookups_harmed);
    const auto text = [&](const ConcludedBridge& each, const std::string& why) {
        return fmt::format(
            "{} ({})",
            each.what().hairpin
                ? "`iptables -t nat -A POSTROUTING -s PODS -d PODS -j MASQUERADE` on the DUT, for "
                  "pods of one bridge; backends then see the DUT's address"
                : "`modprobe br_netfilter; sysctl -w net.bridge.bridge-nf-call-iptables=1` on the "
                  "DUT",
            why.empty() ? fmt::format("with it {} lookups failed, without again {}",
                                      some_of(each.seen().failed(), each.seen().lookups),
                                      some_of(again->seen().failed(), again->seen().lookups))
                        : why);
    };
    tell_each_cure(cells, first, again != nullptr, text, "net.bridge.bridge-nf-call-iptables=1",
                   result);
}

void conclude_untranslated(const Bridges& cells, const ConcludedBridge& first,
                           verdict::ScenarioResult& result) {
    const BridgeValues& seen = first.seen();
    result.headline = fmt::format(
        "{}: {} lookups of a service failed, {} answers came from the backend's own address.",
        first.cell.id, some_of(seen.failed(), seen.lookups), seen.from_backend);
    result.cause = fmt::format(
        "Client and backend are ports of one bridge, and bridge-nf-call-iptables={}: the "
        "bridge hands the answers over without asking netfilter, and nothing translates their "
        "source back to the service. {} answers came so, and conntrack saw none of those of {} "
        "flows: \"{}\".",
        seen.filtered, seen.from_backend, seen.unreplied, seen.entry_text);
    tell_cures(cells, first, result);
}

}  // namespace

verdict::Cell conclude(const BridgeCell& what, const BridgeValues& seen) {
    verdict::Cell cell{.id = what.id,
                       .toggles = {{"backend", backend_text(what.asks)},
                                   {"bridge-nf-call-iptables", what.filtered ? "1" : "0"},
                                   {"MASQUERADE", what.hairpin ? "on" : "off"}},
                       .role = what.role,
                       .verdict = CellVerdict::kPass};
    const auto answers = counts_in("answers");
    cell.measures = {
        count_of("lookups", "lookups (A and AAAA)", seen.lookups, "lookups"),
        count_of("failed", "of them without their answers", seen.failed(), "lookups"),
        answers("from_asked", "answers on the client's wire from what it asked", seen.from_asked),
        answers("from_backend", "from the backend's own address", seen.from_backend),
        answers("from_others", "from another address", seen.from_others),
        count_of("unreplied", "of the backend's flows [UNREPLIED] in conntrack", seen.unreplied,
                 "flows"),
        count_of("unnamed", "of the backend's flows without such an entry", seen.unnamed, "flows"),
        count_of(verdict::kUnexplained, "failed, and no cause could be joined",
                 unexplained_in(seen) + seen.unnamed, "lookups"),
    };
    const auto end = ending(cell);
    if (not_measured(cell, "", seen.objections, seen.lookups, "no lookup was made")) {
        return cell;
    }
    if (seen.filtered != (what.filtered ? "1" : "0")) {
        return end(CellVerdict::kInconclusive, "",
                   "net.bridge.bridge-nf-call-iptables is '" + seen.filtered + "'");
    }
    const std::string failed = fmt::format(
        "{} lookups failed; {}", some_of(seen.failed(), seen.lookups), answers_text(seen));
    if (unexplained_in(seen) + seen.unnamed != 0) {
        return end(CellVerdict::kInconclusive, "",
                   failed + ", and no [UNREPLIED] entry of conntrack tells why");
    }
    if (seen.unreplied != 0) {
        return end(CellVerdict::kFail, "untranslated-answer",
                   fmt::format("{}; of {} flows conntrack saw no answer: \"{}\"", failed,
                               seen.unreplied, seen.entry_text));
    }
    if (seen.failed() != 0) {
        return end(CellVerdict::kFail, "no-answer", failed);
    }
    return cell;
}

verdict::ScenarioResult conclude(const std::vector<MeasuredBridgeCell>& measured) {
    const auto harm_of = [](const ConcludedBridge& each, auto&) -> Harm {
        const BridgeValues& seen = each.seen();
        return {seen.failed(), seen.lookups, unexplained_in(seen) + seen.unnamed};
    };
    return conclude_cells(measured, "Lookups that failed", harm_of, lookups_harmed,
                          conclude_untranslated,
                          "Each answer came from the address that was asked.");
}

}  // namespace pathproof::scenario
