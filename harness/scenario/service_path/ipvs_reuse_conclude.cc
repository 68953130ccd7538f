// What is said of ipvs-reuse: each clause from a value that is not zero.
#include "harness/scenario/measures.h"
#include "harness/scenario/service_path/ipvs_reuse.h"

namespace pathproof::scenario {
namespace {

using verdict::CellVerdict;
using ConcludedReuse = ConcludedCell<MeasuredReuseCell>;
using Reuses = std::vector<ConcludedReuse>;

constexpr const char* kReuseCure = "`sysctl -w net.ipv4.vs.conn_reuse_mode=0`";

void add_measures(const ReuseValues& seen, verdict::Cell& cell) {
    const auto connects = counts_in("connects");
    cell.measures = {
        connects("connects", "made", seen.connects),
        connects("failed", "failed", seen.failed),
        connects("reused", "from a port that was used before", seen.reused),
        count_of("time_wait", "connections of IPVS in TIME_WAIT at the end", seen.time_wait),
        connects("slow", "took 1 s or more", seen.slow),
        connects("swallowed", "of them from such a port, their first SYN not leaving the DUT",
                 seen.swallowed),
        milliseconds_of("worst", "the longest connect", seen.worst_ms),
        count_of(verdict::kUnexplained, "slow for another reason", seen.slow - seen.swallowed,
                 "connects"),
    };
}

bool shows_reuse(const ConcludedReuse& each) {
    return each.cell.verdict == CellVerdict::kFail && each.cell.cause == "ipvs-reuse";
}

std::string slow_text(const ReuseValues& seen) {
    return fmt::format("{} connects took 1 s or more, the longest {:.2f} s",
                       some_of(seen.slow, seen.connects), seen.worst_ms / 1000);
}

void conclude_reuse(const Reuses& cells, const ConcludedReuse& first,
                    verdict::ScenarioResult& result) {
    const ReuseValues& seen = first.seen();
    result.headline = fmt::format("{}: {}.", first.cell.id, slow_text(seen));
    result.cause = fmt::format(
        "The port of such a connect was used before, and IPVS has {} connections in TIME_WAIT. "
        "With conn_reuse_mode={} it ends the old connection and swallows the SYN that came for it: "
        "the first SYN of {} connects came to the DUT and did not leave it, and TCP sent another "
        "after 1 s.",
        seen.time_wait, first.what().mode, seen.swallowed);
    const ConcludedReuse* cure = first_cure(cells);
    const ConcludedReuse* again = first_again(cells, shows_reuse);
    const std::string why = not_shown(cure, again != nullptr);
    if (why.empty()) {
        show_cure(first, *cure, result);
    }
    result.cure = fmt::format(
        "{} on the DUT ({})", kReuseCure,
        !why.empty() ? why
                     : fmt::format("then none of {} connects was slow, without it again {}",
                                   cure->seen().connects,
                                   some_of(again->seen().slow, again->seen().connects)));
}

}  // namespace

verdict::Cell conclude(const ReuseCell& what, const ReuseValues& seen) {
    verdict::Cell cell{.id = what.id,
                       .toggles = {{"conn_reuse_mode", std::to_string(what.mode)},
                                   {"client's ports", what.other_ports ? "each once" : "100"}},
                       .role = what.role,
                       .verdict = CellVerdict::kPass};
    add_measures(seen, cell);
    const auto end = ending(cell);
    if (not_measured(cell, "", seen.objections, seen.connects, "no connect was made")) {
        return cell;
    }
    if (!what.other_ports && (seen.reused == 0 || seen.time_wait == 0)) {
        return end(
            CellVerdict::kInconclusive, "",
            seen.reused == 0 ? "no port was used twice" : "IPVS had no connection in TIME_WAIT");
    }
    if (seen.failed != 0) {
        return end(CellVerdict::kFail, "failed",
                   some_of(seen.failed, seen.connects) + " connects failed");
    }
    if (seen.slow != 0 && seen.swallowed == seen.slow) {
        return end(CellVerdict::kFail, "ipvs-reuse",
                   slow_text(seen) + "; the DUT swallowed the first SYN of each");
    }
    if (seen.slow != 0) {
        return end(
            CellVerdict::kFail, "slow",
            fmt::format("{}; the first SYN of {} came to the DUT from a port used before and "
                        "did not leave it",
                        slow_text(seen), some_of(seen.swallowed, seen.slow)));
    }
    return cell;
}

verdict::ScenarioResult conclude(const std::vector<MeasuredReuseCell>& measured) {
    const auto harm_of = [](const ConcludedReuse& each, auto&) -> Harm {
        const ReuseValues& seen = each.seen();
        return {seen.slow, seen.connects, seen.slow - seen.swallowed};
    };
    std::uint64_t reused = 0;
    std::uint64_t connects = 0;
    for (const MeasuredReuseCell& each : measured) {
        reused += each.what.role == CellRole::kMatrix ? each.seen.reused : 0;
        connects += each.what.role == CellRole::kMatrix ? each.seen.connects : 0;
    }
    return conclude_cells(
        measured, "Connects of 1 s or more", harm_of, shows_reuse, conclude_reuse,
        fmt::format("{} connects came from a port that IPVS had seen before, and none took "
                    "1 s or more.",
                    some_of(reused, connects)));
}

}  // namespace pathproof::scenario
