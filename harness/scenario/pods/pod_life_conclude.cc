#include "dataplane/base/contains.h"
#include "dataplane/base/pattern.h"
#include "dataplane/base/plural.h"
#include "harness/scenario/measures.h"
#include "harness/scenario/pods/pod_life.h"
#include "harness/verdict/interval.h"

namespace pathproof::scenario {
namespace {

using verdict::Cell;
using verdict::CellVerdict;

struct KindOfState {
    const char* name;
    const char* label;
    std::vector<std::string> lab::NodeState::*lines;
};
constexpr std::array kKinds{
    KindOfState{"rules", "rules and chains", &lab::NodeState::rules},
    KindOfState{"devices", "devices", &lab::NodeState::devices},
    KindOfState{"addresses", "addresses", &lab::NodeState::addresses},
    KindOfState{"routes", "routes", &lab::NodeState::routes},
    KindOfState{"leases", "files of leases", &lab::NodeState::leases},
};

// Returns whether the line is a pod's own chain of ipMasq or portmap, by the plug-ins' names for
// them.
bool is_chain_of_a_pod(const std::string& line) {
    static const Pattern chain("chain CNI-(DN-)?[0-9a-f]{20,}");
    return chain.search(line).has_value();
}

// Lines that should not be there: of the first ADD of a node those of its pod alone, for the bridge
// and the chains that all pods share are made once.
std::vector<std::string> unexpected(const PodResidueCell& what, const PodResidueValues& seen) {
    std::vector<std::string> lines;
    for (const KindOfState& kind : kKinds) {
        for (const std::string& line : seen.left.*kind.lines) {
            const bool of_pod = std::ranges::any_of(seen.of_pods, [&](const std::string& word) {
                return line.find(word) != line.npos;
            });
            if (what.event != PodEvent::kFirst || of_pod || is_chain_of_a_pod(line)) {
                lines.push_back(line);
            }
        }
    }
    return lines;
}

// Cause and reason; empty: what was handed on reaches who has it now.
using Fault = std::pair<std::string, std::string>;

Fault fault_of_port(const PodResidueValues& seen) {
    const bool fresh_is_lost = seen.fresh && *seen.fresh != seen.now;
    const std::string& reached = fresh_is_lost ? *seen.fresh : seen.reached;
    if (reached == seen.now) {
        return {};
    }
    const char* const flow = fresh_is_lost ? "a new flow" : "a flow";
    if (reached == seen.before && !seen.rule.empty()) {
        return {"stale-rule",
                fmt::format(
                    "{} to the host port goes to {}, which is gone, though {} has the port now, "
                    "by the rule {}",
                    flow, seen.before, seen.now, seen.rule)};
    }
    if (reached == seen.before) {
        return {
            "stale-entry",
            fmt::format("{} to the host port went on to {}, which was detached, though {} has the "
                        "port now{}",
                        flow, seen.before, seen.now,
                        seen.entries.empty() ? "" : ": " + seen.entries.front())};
    }
    return {"port-lost", fmt::format("{} to the host port reaches {}, not {}", flow,
                                     reached.empty() ? "nobody" : reached, seen.now)};
}

Fault fault_of_reboot(const PodResidueValues& seen) {
    if (seen.reached != seen.now) {
        return fault_of_port(seen);
    }
    if (!seen.pod_reached) {
        return {"unreachable",
                fmt::format("the node reached {} before its reboot, and does not reach {}",
                            seen.before, seen.now)};
    }
    if (seen.left.leases.empty()) {
        return {};
    }
    const std::size_t kept = seen.left_after_del.leases.size();
    return {"leaked-lease",
            fmt::format(
                "the lease of {}, from before the reboot, stays ({}): each reboot takes as many "
                "addresses of the range as the node had pods; DEL of that pod {}{}",
                seen.before, fmt::join(seen.left.leases, ", "),
                kept == 0 ? "frees it" : "does not free it",
                seen.del_refused.empty() ? "" : " (" + seen.del_refused + ")")};
}

Fault fault_of_route(const PodResidueValues& seen) {
    if (seen.reached == seen.now) {
        return {};
    }
    if (seen.has_route) {
        return {"unreachable",
                fmt::format("the node reached {} before ADD and not after it, though its "
                            "default route is still there",
                            seen.now)};
    }
    return {"ra-route-lost",
            fmt::format(
                "ADD {}, and the node's IPv6 default route, learned by router advertisement, is "
                "gone: it reached {} before and not after; with accept_ra=2 it {}",
                seen.is_forwarding ? "turned net.ipv6.conf.all.forwarding on"
                                   : "left net.ipv6.conf.all.forwarding off",
                seen.now, seen.is_cured ? "reaches it again" : "does not reach it either")};
}

Fault fault_of_handover(PodEvent event, const PodResidueValues& seen) {
    switch (event) {
        case PodEvent::kPortAgain:
        case PodEvent::kPortToHost: return fault_of_port(seen);
        case PodEvent::kReboot:
        case PodEvent::kRebootRules: return fault_of_reboot(seen);
        case PodEvent::kRaRoute: return fault_of_route(seen);
        case PodEvent::kAddressAgain:
            if (seen.reached == seen.now) {
                return {};
            }
            return {"stale-neighbour",
                    fmt::format("the node did not reach {} by {}'s address for {:.0f} ms{}",
                                seen.now, seen.before, seen.wrong_ms,
                                seen.reached.empty() ? "" : ": it sent to " + seen.reached)};
        default: return {};
    }
}

void add_handover_measures(PodEvent event, const PodResidueValues& seen, Cell& cell) {
    auto& measures = cell.measures;
    const auto add_entries = [&] {
        measures.push_back(
            count_of("entries", "entries that led to the pod behind its DEL", seen.entries.size()));
        measures.back().note = fmt::format("{}", fmt::join(seen.entries, "; "));
    };
    switch (event) {
        case PodEvent::kPortAgain:
        case PodEvent::kPortToHost: return add_entries();
        case PodEvent::kAddressAgain:
            add_entries();
            measures.push_back(
                milliseconds_of("wrong_ms", "until the next pod was reached", seen.wrong_ms));
            return;
        case PodEvent::kReboot:
        case PodEvent::kRebootRules:
            measures.push_back(count_of("leases_after_del",
                                        "files of leases left once the pod of before is detached",
                                        seen.left_after_del.leases.size()));
            return;
        case PodEvent::kRaRoute:
            measures.push_back(
                count_of("forwarding", "IPv6 forwarding behind ADD", seen.is_forwarding ? 1 : 0));
            measures.push_back(count_of("advertised_routes",
                                        "default routes by router advertisement behind ADD",
                                        seen.has_route ? 1 : 0));
            return;
        default: return;
    }
}

// Returns what this run has shown to end the fault of a cell; empty: nothing.
std::string cure_of(const PodResidueCell& what, const PodResidueValues& seen, bool cycles_pass) {
    if (what.event == PodEvent::kNetnsGone && cycles_pass) {
        return "DEL before the pod's namespace goes (seen in this run: nothing is left by ADD and "
               "DEL in that order)";
    }
    if (what.event == PodEvent::kReboot && seen.reached == seen.now &&
        seen.left_after_del == lab::NodeState()) {
        return "DEL of the pods from before a reboot, or leases in a folder that a reboot empties "
               "(seen in this run: that DEL frees the lease)";
    }
    if (what.event == PodEvent::kRaRoute && seen.is_cured) {
        return "accept_ra=2 on the device of the default route (seen in this run: the route came "
               "back "
               "with it)";
    }
    return "";
}

verdict::Proof table_of(const std::vector<MeasuredPodResidue>& cells) {
    verdict::Proof table{.title = "What is left on the node",
                         .columns = {"event", "expected"},
                         .conclusion = "In brackets how many; of each kind the first one."};
    for (const KindOfState& kind : kKinds) {
        table.columns.emplace_back(kind.label);
    }
    for (const MeasuredPodResidue& cell : cells) {
        if (!cell.seen.lacks.empty() || !cell.seen.objections.empty()) {
            continue;
        }
        table.rows.push_back({cell.what.id, cell.what.event == PodEvent::kFirst
                                                ? "what all pods share"
                                                : "nothing"});
        for (const KindOfState& kind : kKinds) {
            const auto& lines = cell.seen.left.*kind.lines;
            table.rows.back().push_back(
                lines.empty() ? "none" : fmt::format("({}) {}", lines.size(), lines.front()));
        }
    }
    return table;
}

// Verdict and headline of a scenario that looks for defects, of cells that stand in its result.
void judge_cells(verdict::ScenarioResult& result, const char* clean, const char* defect) {
    std::vector<const Cell*> failing;
    std::size_t open = 0, passed = 0;
    for (const Cell& cell : result.cells) {
        if (cell.verdict == CellVerdict::kFail) {
            failing.push_back(&cell);
        }
        open += cell.verdict == CellVerdict::kError ? 1 : 0;
        passed += cell.verdict == CellVerdict::kPass ? 1 : 0;
    }
    const bool controls = std::ranges::all_of(result.controls, [](const Cell& control) {
        return control.verdict == CellVerdict::kPass || control.verdict == CellVerdict::kSkip;
    });
    if (controls && !failing.empty()) {
        result.verdict = verdict::ScenarioVerdict::kDefectFound;
    } else if (!controls || open > 0 || passed == 0) {
        result.verdict = verdict::ScenarioVerdict::kInconclusive;
    } else {
        result.verdict = verdict::ScenarioVerdict::kNoDefectFound;
    }
    if (result.verdict == verdict::ScenarioVerdict::kDefectFound) {
        Clauses clauses;
        for (const Cell* cell : failing) {
            clauses.push_back(fmt::format("{}: {}: {}.", cell->cause, cell->id, cell->reason));
        }
        result.headline =
            fmt::format("{} in {} of {} cells: {}{}.", defect, failing.size(),
                        failing.size() + passed + open, failing.front()->id,
                        failing.size() > 1 ? fmt::format(" and {} more", failing.size() - 1) : "");
        result.cause = in_a_row(clauses, " ");
    } else if (result.verdict == verdict::ScenarioVerdict::kNoDefectFound) {
        result.headline = fmt::format("{} in {} cells.", clean, passed);
    } else {
        result.headline = controls ? "Nothing can be said: cells could not be measured."
                                   : "Nothing can be said: the control fails too.";
    }
}

}  // namespace

lab::NodeState left_of(const lab::NodeState& before, const lab::NodeState& after) {
    lab::NodeState left;
    for (const KindOfState& kind : kKinds) {
        // Each line of `before` matches one equal line of `after`; more of the same are left over.
        std::vector<std::string> known = before.*kind.lines;
        for (const std::string& line : after.*kind.lines) {
            const auto same = std::ranges::find(known, line);
            if (same != known.end()) {
                known.erase(same);
            } else {
                (left.*kind.lines).push_back(line);
            }
        }
    }
    return left;
}

std::vector<PodResidueCell> pod_residue_plan(const std::string& chain, const std::string& prefix) {
    std::vector<PodResidueCell> cells;
    for (const auto& [event, word] : {std::pair{PodEvent::kFirst, "first"},
                                      {PodEvent::kCycles, "cycles"},
                                      {PodEvent::kDelTwice, "del-twice"},
                                      {PodEvent::kDelWithoutAdd, "del-without-add"},
                                      {PodEvent::kAddKilled, "add-killed"},
                                      {PodEvent::kTwoAdds, "two-adds"},
                                      {PodEvent::kNetnsGone, "netns-gone"},
                                      {PodEvent::kPortAgain, "port-again"},
                                      {PodEvent::kAddressAgain, "address-again"},
                                      {PodEvent::kPortToHost, "port-to-host"},
                                      {PodEvent::kReboot, "reboot"},
                                      {PodEvent::kRebootRules, "reboot-rules"},
                                      {PodEvent::kRaRoute, "ra-route"},
                                      {PodEvent::kStatus, "status"},
                                      {PodEvent::kGc, "gc"}}) {
        cells.push_back({.id = prefix + word, .chain = chain, .event = event});
    }
    return cells;
}

std::vector<PodChurnCell> pod_churn_plan(const std::string& chain, const std::string& prefix) {
    return {{.id = prefix + "control.quiet",
             .chain = chain,
             .churn = false,
             .role = CellRole::kControl},
            {.id = prefix + "churn", .chain = chain},
            {.id = prefix + "control.quiet-outside",
             .chain = chain,
             .churn = false,
             .leaves = true,
             .role = CellRole::kControl},
            {.id = prefix + "churn-outside", .chain = chain, .leaves = true}};
}

Cell conclude(const PodResidueCell& what, const PodResidueValues& seen) {
    Cell cell{
        .id = what.id,
        .toggles = {{"network", what.chain}, {"event", what.id.substr(what.id.rfind('.') + 1)}},
        .role = what.role};
    const auto end = ending(cell);
    if (!seen.lacks.empty()) {
        return end(CellVerdict::kSkip, "", seen.lacks);
    }
    if (!seen.objections.empty()) {
        return end(CellVerdict::kError, "", in_a_row(seen.objections, "; "));
    }
    cell.measures.push_back(count_of("times", "times", seen.times));
    for (const KindOfState& kind : kKinds) {
        cell.measures.push_back(
            count_of(kind.name, std::string(kind.label) + " left", (seen.left.*kind.lines).size()));
        cell.measures.back().note = fmt::format("{}", fmt::join(seen.left.*kind.lines, "; "));
    }
    if (seen.milliseconds > 0) {
        cell.measures.push_back(
            milliseconds_of("milliseconds", "calls of plug-ins", seen.milliseconds));
    }
    if (what.event == PodEvent::kAddKilled) {
        cell.measures.push_back(count_of("killed", "ADDs killed in the middle", seen.killed));
    }
    if (what.event == PodEvent::kAddKilled && seen.killed == 0) {
        return end(CellVerdict::kInconclusive, "",
                   "every ADD had ended before it was to be killed");
    }
    if (seen.complaints.empty()) {
        add_handover_measures(what.event, seen, cell);
    }
    if (!seen.complaints.empty()) {
        return end(CellVerdict::kFail, "refused",
                   fmt::format("{} failed, the first: {}", plural(seen.complaints.size(), "call"),
                               seen.complaints.front()));
    }
    if (const auto [cause, reason] = fault_of_handover(what.event, seen); !cause.empty()) {
        return end(CellVerdict::kFail, cause, reason);
    }
    const auto lines = unexpected(what, seen);
    if (!lines.empty()) {
        return end(CellVerdict::kFail, "left-behind",
                   fmt::format("{} left, the first: {}", lines.size(), lines.front()));
    }
    return end(CellVerdict::kPass, "", "");
}

Cell conclude(const PodChurnCell& what, const PodChurnValues& seen) {
    Cell cell{.id = what.id,
              .toggles = {{"network", what.chain},
                          {"pods", what.churn ? "come and go" : "stay"},
                          {"stream", what.leaves ? "to the host outside" : "to a pod of the node"}},
              .role = what.role};
    const auto end = ending(cell);
    if (!seen.lacks.empty()) {
        return end(CellVerdict::kSkip, "", seen.lacks);
    }
    if (!seen.objections.empty() || seen.sent == 0) {
        return end(CellVerdict::kError, "",
                   seen.objections.empty() ? "nothing was sent" : in_a_row(seen.objections, "; "));
    }
    cell.measures = {
        count_of("pods", "pods that came and went", seen.pods, "pods"),
        verdict::share("lost", "datagrams lost", seen.lost(), seen.sent),
        verdict::share("reordered", "datagrams reordered", seen.reordered, seen.sent),
        verdict::share("twice", "datagrams that came twice", seen.twice, seen.sent),
        count_of("longest_loss", "lost in a row, most", seen.longest_loss, "datagrams"),
        milliseconds_of("longest_gap", "longest gap at the receiver", seen.longest_gap_ms),
        verdict::share("broken", "TCP transfers that broke", seen.broken, seen.transfers)};
    if (what.churn && seen.pods == 0) {
        return end(CellVerdict::kError, "", "no pod came and went");
    }
    Clauses clauses;
    tell_count(clauses, seen.lost(), "{} of {} datagrams were lost, {} in a row at most", seen.sent,
               seen.longest_loss);
    tell_count(clauses, seen.reordered, "{} came after a later one");
    tell_count(clauses, seen.twice, "{} came twice");
    tell_count(clauses, seen.broken, "{} of {} TCP transfers broke ({})", seen.transfers,
               seen.first_broken);
    return clauses.empty() ? end(CellVerdict::kPass, "", "")
                           : end(CellVerdict::kFail, "disturbed", in_a_row(clauses, "; "));
}

verdict::ScenarioResult conclude(const std::vector<MeasuredPodResidue>& cells) {
    verdict::ScenarioResult result;
    result.proofs.push_back(table_of(cells));
    auto concluded = conclude_each(cells);
    const bool cycles_pass = std::ranges::any_of(concluded, [](const auto& each) {
        return each.what().event == PodEvent::kCycles && each.passes();
    });
    Clauses cures;
    bool all_cured = true;
    for (auto& each : concluded) {
        if (each.cell.verdict == CellVerdict::kFail) {
            const std::string cure = cure_of(each.what(), each.seen(), cycles_pass);
            all_cured &= !cure.empty();
            if (!cure.empty() && !contains(cures, cure)) {
                cures.push_back(cure);
            }
        }
        result.cells.push_back(std::move(each.cell));
    }
    judge_cells(result, "Nothing is left", "Something is left behind, refused or lost");
    if (result.verdict == verdict::ScenarioVerdict::kDefectFound && all_cured) {
        result.cure = in_a_row(cures, "; ");
        result.cure_shown = true;
    }
    return result;
}

verdict::ScenarioResult conclude(const std::vector<MeasuredPodChurn>& cells) {
    verdict::ScenarioResult result;
    finish(conclude_each(cells), result);
    judge_cells(result, "Nothing was disturbed", "A stream was disturbed");
    return result;
}

}  // namespace pathproof::scenario
