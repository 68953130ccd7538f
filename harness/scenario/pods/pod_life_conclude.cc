#include "dataplane/base/pattern.h"
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
    const bool again = what.event == PodEvent::kPortAgain || what.event == PodEvent::kAddressAgain;
    if (again && seen.complaints.empty()) {
        cell.measures.push_back(
            count_of("entries", "entries that led to the pod behind its DEL", seen.entries.size()));
        cell.measures.back().note = fmt::format("{}", fmt::join(seen.entries, "; "));
        cell.measures.push_back(
            milliseconds_of("wrong_ms", "until the next pod was reached", seen.wrong_ms));
    }
    if (!seen.complaints.empty()) {
        return end(CellVerdict::kFail, "refused",
                   fmt::format("{} calls failed, the first: {}", seen.complaints.size(),
                               seen.complaints.front()));
    }
    if (what.event == PodEvent::kPortAgain && seen.reached != seen.now) {
        return end(CellVerdict::kFail, "stale-entry",
                   fmt::format("a flow to the host port went on to {}, which was detached, though "
                               "the port is {}'s now{}",
                               seen.reached.empty() ? "nobody" : seen.reached, seen.now,
                               seen.entries.empty() ? "" : ": " + seen.entries.front()));
    }
    if (what.event == PodEvent::kAddressAgain && seen.reached != seen.now) {
        return end(CellVerdict::kFail, "stale-neighbour",
                   fmt::format("the node did not reach {} by {}'s address for {:.0f} ms{}",
                               seen.now, seen.before, seen.wrong_ms,
                               seen.reached.empty() ? "" : ": it sent to " + seen.reached));
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
    bool gone_alone = true, cycles_pass = false;
    for (auto& each : conclude_each(cells)) {
        gone_alone &=
            each.cell.verdict != CellVerdict::kFail || each.what().event == PodEvent::kNetnsGone;
        cycles_pass |= each.what().event == PodEvent::kCycles && each.passes();
        result.cells.push_back(std::move(each.cell));
    }
    judge_cells(result, "Nothing is left", "Something is left behind, or a call was refused,");
    if (result.verdict == verdict::ScenarioVerdict::kDefectFound && gone_alone && cycles_pass) {
        result.cure =
            "DEL before the pod's namespace goes (seen in this run: nothing is left by ADD "
            "and DEL in that order)";
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
