// The sentences about the races at a load: each clause from a value that is not zero.
#include <algorithm>
#include <cmath>

#include "harness/scenario/concluded.h"
#include "harness/scenario/measures.h"
#include "harness/scenario/race/race_load.h"
#include "harness/scenario/race/race_words.h"
#include "harness/verdict/interval.h"

namespace pathproof::scenario {
namespace {

using join::Fate;
using verdict::Cell;
using verdict::CellVerdict;
using verdict::Measure;

Measure load_figure(const std::string& name, const std::string& label, double value,
                    const std::string& unit) {
    return {.name = name, .label = label, .value = value, .unit = unit};
}

std::string load_rate_text(double load) {
    return fmt::format("{:.0f} pairs/s", load);
}

std::uint64_t lost_by_overload(const join::PairFindings& found) {
    return found.count(Fate::kOverload) + found.count(Fate::kTableFull) + found.count(Fate::kSlow);
}

// Queries lost to causes that were named and are neither the race nor an overload.
std::uint64_t lost_otherwise(const RaceCell& what, const RaceValues& seen) {
    return seen.found.harmed() - own_harm(what, seen) - lost_by_overload(seen.found) -
           seen.found.count(Fate::kUnexplained);
}

// The way's cell at its load; any other is beyond it.
const MeasuredCell* first_cell_of(const LoadWay& way) {
    return way.cells.empty() ? nullptr : &way.cells.front();
}

// Names what kept the load from being higher, in words for people; empty: the user gave the load.
std::string limit_of_load_text(const LoadWay& way, const LoadValues& load) {
    if (!way.search) {
        return "";
    }
    const search::ThroughputResult& found = way.search->result;
    if (found.max_load_passes) {
        return load.line_rate > 0 ? "the links' rate was the limit"
                                  : "no limit was found below a million";
    }
    if (found.limit == search::Limit::kTester) {
        return fmt::format(
            "the tester was the limit{}{}",
            way.search->tester_limit.empty() ? "" : " (" + way.search->tester_limit + ")",
            load.shares_cpus ? ", on CPUs that it shares with the DUT" : "");
    }
    return "the DUT was the limit";
}

const char* limit_of_load(const LoadWay& way, const LoadValues& load) {
    const search::ThroughputResult& found = way.search->result;
    if (found.max_load_passes) {
        return load.line_rate > 0 ? "line rate" : "not found";
    }
    return found.limit == search::Limit::kTester ? "tester" : "device";
}

std::string line_share_text(const LoadValues& load) {
    return load.line_rate > 0
               ? fmt::format("{:.1f} % of the links' rate", 100 * load.sent / load.line_rate)
               : "the links have no rate";
}

// "120 dropped at insertion, 30 by overload (...)", by cause.
std::string load_losses_text(const MeasuredCell& cell) {
    const join::PairFindings& found = cell.seen.found;
    Clauses clauses;
    tell_count(clauses, found.count(Fate::kDroppedAtInsertion), "{} dropped at insertion");
    tell_count(clauses, found.count(Fate::kUntranslatedAnswer), "{} answered un-translated");
    for (const auto& [queue, queries] : found.overloaded) {
        tell_count(clauses, queries, "{} lost to overload, {}", queue);
    }
    tell_count(clauses, found.count(Fate::kTableFull),
               "{} lost to overload, as the conntrack table was full");
    tell_count(clauses, found.count(Fate::kSlow), "{} answered after the timeout");
    for (const auto& [how, queries] : found.dropped) {
        tell_count(clauses, queries, "{} dropped {}", how);
    }
    tell_count(clauses, found.count(Fate::kFlushed), "{} flushed by another program");
    tell_count(clauses, found.count(Fate::kLinkDown), "{} while a link was down");
    tell_count(clauses, found.count(Fate::kUnexplained), "{} unexplained");
    return in_a_row(clauses);
}

std::string load_events_text(const RaceValues& seen) {
    const join::PairFindings& found = seen.found;
    Clauses clauses;
    tell_count(clauses, found.entries, "{} entries of conntrack");
    tell_count(clauses, found.with(join::kHiddenEntry), "{} hidden ones");
    tell_count(clauses, found.entries_found,
               "{} of whose events were lost and found again in the table");
    tell_count(clauses, found.strange_entries, "{} entries of no query");
    tell_count(clauses, found.unheard, "{} queries without an entry");
    return in_a_row(clauses);
}

std::string load_cell_text(const LoadWay& way, const MeasuredCell& cell) {
    const RaceValues& seen = cell.seen;
    const std::uint64_t pairs = seen.found.with(0);
    const std::string losses = load_losses_text(cell);
    const std::string limit =
        &cell == first_cell_of(way) ? limit_of_load_text(way, *seen.load) : "";
    return fmt::format(
        "{}: {} of {} asked for were sent ({}), {} of {} pairs raced, of {} queries {} harmed by "
        "it{}; {}{}.",
        cell.what.id, load_rate_text(seen.load->sent), load_rate_text(seen.load->asked),
        line_share_text(*seen.load), percent(pairs_raced(seen), pairs), pairs, 2 * pairs,
        percent(own_harm(cell.what, seen), 2 * pairs), losses.empty() ? "" : " (" + losses + ")",
        load_events_text(seen), limit.empty() ? "" : "; " + limit);
}

verdict::Proof table_of_loads(const RaceLoad& load) {
    verdict::Proof table{
        .title = "The races by load",
        .columns = {"cell", "pairs/s sent", "of asked", "of the links' rate", "pairs", "raced",
                    "queries harmed by it", "lost to overload", "other losses", "unexplained",
                    "entries", "events lost, found"}};
    for (const LoadWay& way : load.ways) {
        for (const MeasuredCell& cell : way.cells) {
            const join::PairFindings& found = cell.seen.found;
            const LoadValues& at = *cell.seen.load;
            const std::uint64_t own = own_harm(cell.what, cell.seen);
            const std::uint64_t unexplained = found.count(Fate::kUnexplained);
            table.rows.push_back(
                {cell.what.id, fmt::format("{:.0f}", at.sent), fmt::format("{:.0f}", at.asked),
                 at.line_rate > 0 ? fmt::format("{:.1f} %", 100 * at.sent / at.line_rate)
                                  : "no rate",
                 fmt::format("{}", found.with(0)), percent(pairs_raced(cell.seen), found.with(0)),
                 fmt::format("{}", own), fmt::format("{}", lost_by_overload(found)),
                 fmt::format("{}", lost_otherwise(cell.what, cell.seen)),
                 fmt::format("{}", unexplained + found.unheard + found.strange_entries),
                 fmt::format("{}", found.entries), fmt::format("{}", found.entries_found)});
        }
    }
    return table;
}

void add_search_of_load(const LoadWay& way, const LoadValues& load, Cell& cell) {
    if (!way.search) {
        return;
    }
    const search::ThroughputResult& found = way.search->result;
    cell.measures.push_back(load_figure("highest", "highest load that a trial carried whole",
                                        found.passed ? found.passed->load_pps : 0, "pairs/s"));
    cell.measures.push_back(
        words_of(verdict::kLimitedBy, "the limit was", limit_of_load(way, load)));
    cell.measures.push_back(count_of("search_trials", "trials of the search", way.search->trials));
    cell.measures.push_back(count_of(
        "reductions", "times that a whole cell did not carry what a trial did", way.reduced));
}

struct LoadCell {
    const LoadWay* way = nullptr;
    const MeasuredCell* measured = nullptr;
    Cell cell;
    bool is(CellRole role) const { return measured->what.role == role; }
    std::uint64_t harm() const { return own_harm(measured->what, measured->seen); }
    bool raced() const { return pairs_raced(measured->seen) + harm() != 0; }
};

std::vector<LoadCell> conclude_loads(const RaceLoad& load) {
    std::vector<LoadCell> all;
    for (const LoadWay& way : load.ways) {
        for (const MeasuredCell& measured : way.cells) {
            Cell cell = conclude(measured.what, measured.seen);
            cell.evidence = measured.evidence;
            if (&measured == first_cell_of(way)) {
                add_search_of_load(way, *measured.seen.load, cell);
            }
            all.push_back({&way, &measured, std::move(cell)});
        }
    }
    return all;
}

Clauses obstacles_at_load(const RaceLoad& load, const std::vector<LoadCell>& cells) {
    Clauses clauses;
    for (const LoadWay& way : load.ways) {
        tell(clauses, way.hindrance.empty() ? 0 : 1, "{}: {}", way.what.id, way.hindrance);
    }
    for (const LoadCell& each : cells) {
        if (each.is(CellRole::kCure)) {
            continue;  // a cure that fails, whatever for, is not shown
        }
        if (each.cell.verdict == CellVerdict::kError ||
            each.cell.verdict == CellVerdict::kInconclusive) {
            clauses.push_back(fmt::format("{}: {}", each.cell.id, each.cell.reason));
        } else if (each.is(CellRole::kControl) && each.raced()) {
            clauses.push_back(
                fmt::format("the control {} is not clean: {}", each.cell.id, each.cell.reason));
        }
    }
    return clauses;
}

const LoadCell* load_cell_with(const std::vector<LoadCell>& cells, CellRole role, bool again) {
    const auto found = std::ranges::find_if(cells, [&](const LoadCell& each) {
        return each.measured->what.role == role && each.measured->what.again == again &&
               (role != CellRole::kMatrix || each.harm() != 0);
    });
    return found == cells.end() ? nullptr : &*found;
}

void add_cure_at_load(const std::vector<LoadCell>& cells, verdict::ScenarioResult& result) {
    const LoadCell* before = load_cell_with(cells, CellRole::kMatrix, false);
    const LoadCell* cure = load_cell_with(cells, CellRole::kCure, false);
    const LoadCell* again = load_cell_with(cells, CellRole::kMatrix, true);
    if (before == nullptr) {
        return;
    }
    result.cure = cure_of(before->measured->what.race);
    const std::string why =
        why_not_shown(cure == nullptr ? nullptr : &cure->cell, again != nullptr, NamesCell::kYes);
    if (!why.empty()) {
        result.cure += fmt::format(" ({})", why);
        return;
    }
    result.cure += fmt::format(
        " (at {} with it {} harmed queries in {} pairs, without it again {} in {})",
        load_rate_text(cure->measured->seen.load->sent), cure->harm(),
        cure->measured->seen.found.with(0), again->harm(), again->measured->seen.found.with(0));
    result.cure_shown = true;
    result.before_cell = before->cell.id;
    result.after_cell = cure->cell.id;
}

void add_load_charts(const std::vector<LoadCell>& cells, verdict::ScenarioResult& result) {
    verdict::Chart shares{.title = "Pairs that raced, by load", .unit = "%", .maximum = 100};
    verdict::Chart rates{.title = "Pairs a second that were sent", .unit = "pairs/s"};
    for (const LoadCell& each : cells) {
        const RaceValues& seen = each.measured->seen;
        shares.bars.push_back(verdict::share_bar(each.cell.id, pairs_raced(seen),
                                                 seen.found.with(0), verdict::Bar::Kind::kNeutral));
        rates.bars.push_back({.label = each.cell.id,
                              .value = std::round(seen.load->sent),
                              .interval = std::nullopt,
                              .kind = verdict::Bar::Kind::kNeutral});
    }
    if (!cells.empty()) {
        result.charts = {std::move(shares), std::move(rates)};
    }
}

// A cell that shows the harm or the exposure at a load, and none that repeats another.
bool tells_of_race(const LoadCell& each) {
    return each.is(CellRole::kMatrix) && !each.measured->what.again && each.raced();
}

// "Two CPUs at 30000 pairs/s (the DUT was the limit): 30.0 % of 1000 pairs raced, 12 of 2000 queries harmed by it,
// 5 lost to overload".
std::string headline_of(const LoadCell& each) {
    const MeasuredCell& measured = *each.measured;
    const RaceValues& seen = measured.seen;
    const std::uint64_t pairs = seen.found.with(0);
    const std::string limit = &measured == first_cell_of(*each.way)
                                  ? limit_of_load_text(*each.way, *seen.load)
                                  : "beyond what is carried whole";
    Clauses clauses{fmt::format("{} of {} pairs raced", percent(pairs_raced(seen), pairs), pairs)};
    tell_count(clauses, each.harm(), "{} of {} queries harmed by it", 2 * pairs);
    tell_count(clauses, lost_by_overload(seen.found), "{} lost to overload");
    tell_count(clauses, lost_otherwise(measured.what, seen), "{} lost to other causes");
    return fmt::format("{} at {}{}: {}", measured.what.label, load_rate_text(seen.load->sent),
                       limit.empty() ? "" : " (" + limit + ")", in_a_row(clauses));
}

// The race's first cell that harmed queries, or the first that raced; null where none did.
const LoadCell* shown_by(const std::vector<LoadCell>& cells, Race race) {
    const LoadCell* first = nullptr;
    for (const LoadCell& each : cells) {
        if (each.measured->what.race != race || !tells_of_race(each)) {
            continue;
        }
        if (each.harm() != 0) {
            return &each;
        }
        first = first == nullptr ? &each : first;
    }
    return first;
}

// One line a race.
std::string causes_of(const std::vector<LoadCell>& cells) {
    Clauses lines;
    for (const Race race : kRaces) {
        if (const LoadCell* cell = shown_by(cells, race); cell != nullptr) {
            lines.push_back(fmt::format("{}: {}", race_title(race),
                                        cause_text(cell->measured->what, cell->measured->seen)));
        }
    }
    return in_a_row(lines, "\n");
}

Clauses explain_cells(const RaceLoad& load, const std::vector<LoadCell>& cells) {
    Clauses lines;
    for (const LoadCell& each : cells) {
        lines.push_back(load_cell_text(*each.way, *each.measured));
    }
    for (const LoadWay& way : load.ways) {
        if (!way.beyond_skipped.empty()) {
            lines.push_back(fmt::format("{}: no more was sent than was carried whole: {}.",
                                        way.what.id, way.beyond_skipped));
        }
    }
    return lines;
}

void conclude_races(const std::vector<LoadCell>& cells, verdict::ScenarioResult& result) {
    Clauses found;
    bool harmed = false;
    for (const LoadCell& each : cells) {
        if (tells_of_race(each)) {
            found.push_back(headline_of(each));
            harmed |= each.harm() != 0;
        }
    }
    if (found.empty()) {
        result.verdict = verdict::ScenarioVerdict::kNotReproduced;
        result.headline = "No pair raced at these loads.";
        return;
    }
    result.verdict =
        harmed ? verdict::ScenarioVerdict::kReproduced : verdict::ScenarioVerdict::kExposed;
    result.headline = in_a_row(found, "; ") + ".";
    result.cause = causes_of(cells);
    add_cure_at_load(cells, result);
}

}  // namespace

void add_load_measures(const RaceCell& what, const RaceValues& seen, Cell& cell) {
    if (!seen.load) {
        return;
    }
    const LoadValues& load = *seen.load;
    const join::PairFindings& found = seen.found;
    const auto own = counts_in("queries");
    cell.measures.push_back(
        load_figure("sent_per_second", "pairs a second that left", load.sent, "pairs/s"));
    if (load.line_rate > 0) {
        cell.measures.push_back(load_figure("share_of_line", "share of the links' rate",
                                            100 * load.sent / load.line_rate, "%"));
    }
    cell.measures.push_back(verdict::share(
        "met_race_share", "pairs that raced (clashes and drops at insertion, per pair)",
        pairs_raced(seen), found.with(0)));
    cell.measures.push_back(verdict::share("harmed_share", "queries harmed by the race",
                                           own_harm(what, seen), 2 * found.with(0)));
    cell.measures.push_back(
        own("overload_lost", "queries lost to an overload, by name", lost_by_overload(found)));
    cell.measures.push_back(
        count_of("entries", "entries of conntrack, of the queries' flows", found.entries));
    cell.measures.push_back(count_of("events_found",
                                     "of them, whose event was lost and found again in the table",
                                     found.entries_found));
    cell.measures.push_back(
        count_of("event_overruns", "times that the listener's buffer overran", load.overruns));
    cell.measures.push_back(
        count_of("strange_entries", "entries of no query of the run", found.strange_entries));
    cell.measures.push_back(own(
        "unheard", "queries that came through without an entry or a hidden one", found.unheard));
    cell.measures.push_back(
        load_figure("cpus_busy", fmt::format("of the {} CPUs of the DUT's host, busy", load.cpus),
                    load.busy, "CPUs"));
    cell.measures.push_back(load_figure(
        "cpus_softirq", "of these, forwarding (software interrupts)", load.softirq, "CPUs"));
}

verdict::ScenarioResult conclude(const RaceLoad& load) {
    verdict::ScenarioResult result;
    result.question =
        "How many pairs race, and whom does it harm, at the load that the path carries?";
    std::vector<LoadCell> cells = conclude_loads(load);
    for (const LoadCell& each : cells) {
        result.planned.push_back(each.cell.id);
        result.unexplained += each.measured->seen.found.count(Fate::kUnexplained);
    }
    result.explanation = explain_cells(load, cells);
    const Clauses hindered = obstacles_at_load(load, cells);
    if (!hindered.empty() || cells.empty()) {
        result.verdict = verdict::ScenarioVerdict::kInconclusive;
        result.headline =
            fmt::format("Nothing is concluded: {}.",
                        hindered.empty() ? "nothing was measured" : in_a_row(hindered, "; "));
    } else {
        conclude_races(cells, result);
    }
    if (!cells.empty()) {
        result.proofs.push_back(table_of_loads(load));
    }
    add_load_charts(cells, result);
    finish(cells, result);
    return result;
}

}  // namespace pathproof::scenario
