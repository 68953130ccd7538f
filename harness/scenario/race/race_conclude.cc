// Conclusions of dns-race and snat-race: each clause comes from a value that is not zero.
#include <algorithm>
#include <cmath>

#include "harness/scenario/concluded.h"
#include "harness/scenario/measures.h"
#include "harness/scenario/race/race_experiments.h"
#include "harness/scenario/race/race_load.h"
#include "harness/scenario/race/race_words.h"
#include "harness/setting/cures.h"
#include "harness/verdict/interval.h"

namespace pathproof::scenario {
namespace {

using join::Fate;
using judge::QueryState;
using verdict::Cell;
using verdict::CellVerdict;
using Snat = lab::Snat;

// Two drawn ports meet once in 64,512 pairs. More than two such meetings in a run are
// no chance: their probability is below 2e-5 at 3000 pairs.
constexpr std::uint64_t kChanceMeetings = 2;
// Halves that leave further apart do not meet: a packet is in conntrack for 5 to 25 us.
constexpr std::int64_t kTooFarApartNs = 50'000;
// Answers that are later than asked by more than this came through a slow path.
constexpr std::int64_t kSlowNs = 100'000'000;

struct Cause {
    Fate fate;
    const char* word;  // of Cell::cause; of kDroppedAtInsertion the race's own
    const char* measure;
    const char* label;
};
constexpr Cause kCauses[] = {
    {Fate::kDroppedAtInsertion, "", "by_insertion", "harmed: dropped at insertion"},
    {Fate::kUntranslatedAnswer, "late-answer", "by_expiry",
     "harmed: the clash's hidden entry had expired"},
    {Fate::kFlushed, "conntrack-flush", "by_flush",
     "harmed: another program had the entry destroyed"},
    {Fate::kTableFull, "table-full", "by_full_table", "harmed: no room in the conntrack table"},
    {Fate::kLinkDown, "link-down", "by_link_down", "harmed: a device had no link"},
    {Fate::kDropped, "dropped", "by_drop", "harmed: dropped by the kernel for another reason"},
    {Fate::kOverload, "overload", "by_overload", "harmed: a queue of the DUT was full"},
    {Fate::kSlow, "slow-path", "by_slow_path", "harmed: answered after the timeout"},
    {Fate::kUnexplained, "", "unexplained", "harmed: no cause could be joined"},
};

// Counts queries harmed by a named cause that is not the race.
std::uint64_t other_harm(const RaceCell& what, const RaceValues& seen) {
    return seen.found.harmed() - own_harm(what, seen) - seen.found.count(Fate::kUnexplained);
}

// Losses of the cure random-fully that its draws of a port explain.
bool by_chance(const RaceCell& what, const RaceValues& seen) {
    const std::uint64_t lost = seen.found.count(Fate::kDroppedAtInsertion);
    return what.snat == Snat::kMasqueradeRandomFully && lost != 0 && lost <= kChanceMeetings &&
           lost == seen.found.harmed();
}

std::string harm_text(const RaceValues& seen) {
    const join::PairFindings& found = seen.found;
    Clauses clauses;
    const auto count = [&](QueryState state) { return found.count(state); };
    tell_count(clauses, count(QueryState::kNever), "{} never answered");
    tell_count(clauses, count(QueryState::kWrongSource),
               "{} answered from a backend's own address, which a socket throws away");
    tell_count(clauses, count(QueryState::kLate), "{} answered after the timeout");
    tell_count(clauses, count(QueryState::kWrong), "{} answered with other content");
    return fmt::format("of {} queries {}", 2 * found.with(0), in_a_row(clauses));
}

std::string table_text(const RaceValues& seen) {
    Clauses clauses;
    tell(clauses, seen.table.maximum, "{} entries, nf_conntrack_max {}", seen.table.entries,
         seen.table.maximum);
    tell_count(clauses, seen.drop, "drop {}");
    tell_count(clauses, seen.early_drop, "early_drop {}");
    return in_a_row(clauses);
}

// Lists the causes of harm to queries; `others_only` leaves out the race that the cell looks for.
Clauses why(const RaceCell& what, const RaceValues& seen, bool others_only) {
    const join::PairFindings& found = seen.found;
    Clauses clauses;
    const auto count = [&](Fate fate) { return found.count(fate); };
    // Suffix of causes that counters alone tell.
    const std::string how_known =
        seen.not_followed.empty() ? "" : fmt::format("; {}", fate::kByCounters);
    const std::uint64_t insertion = others_only ? 0 : count(Fate::kDroppedAtInsertion);
    tell_count(clauses, insertion, "{} dropped at insertion (insert_failed rose by {}{})",
               seen.insert_failed, how_known);
    const bool expiry_too = !others_only || what.race == Race::kSnatCollision;
    const std::uint64_t expiry = expiry_too ? count(Fate::kUntranslatedAnswer) : 0;
    tell_count(clauses, expiry,
               "{} as the hidden entry of their clash had expired, {} after the query at the least",
               seconds_text(found.least_age_ns));
    tell_count(clauses, count(Fate::kFlushed),
               "{} as another program had conntrack entries destroyed ({} of them)",
               found.flushed_entries);
    tell_count(clauses, count(Fate::kTableFull), "{} as the conntrack table was full ({}{})",
               table_text(seen), how_known);
    for (const auto& [device, queries] : found.down) {
        tell_count(clauses, queries, "{} while {} had no link", device);
    }
    for (const auto& [how, queries] : found.dropped) {
        tell_count(clauses, queries, "{} dropped {}", how);
    }
    for (const auto& [queue, queries] : found.overloaded) {
        tell_count(clauses, queries, "{} lost to overload, {}", queue);
    }
    tell_count(clauses, count(Fate::kSlow), "{} by a slow path");
    const std::uint64_t unexplained = count(Fate::kUnexplained);
    tell_count(clauses, unexplained, "{} unexplained{}",
               seen.untraced.empty()
                   ? ""
                   : fmt::format(" (drop reasons were not read: {})", seen.untraced));
    return clauses;
}

const char* cause_word(const Cause& cause, Race race) {
    if (cause.fate != Fate::kDroppedAtInsertion) {
        return cause.word;
    }
    return race == Race::kSnatCollision ? "snat-collision" : "same-tuple-race";
}

std::string cause_words(const RaceCell& what, const RaceValues& seen) {
    Clauses clauses;
    for (const Cause& cause : kCauses) {
        tell(clauses, seen.found.count(cause.fate), "{}", cause_word(cause, what.race));
    }
    return in_a_row(clauses, "+");
}

// Reasons why the cell's stimulus did not take place; empty: no value shows that.
Clauses missing(const RaceCell& what, const RaceValues& seen) {
    const join::PairFindings& found = seen.found;
    Clauses clauses = seen.hindrances;
    tell(clauses, found.with(0) == 0, "no pair was sent");
    if (what.race == Race::kSnatCollision) {
        tell(clauses, what.snat == Snat::kMasquerade && found.source_nat == 0,
             "no entry's source address was translated: MASQUERADE did not take place");
        tell(clauses, what.snat == Snat::kMasqueradeRandomFully && found.changed_ports == 0,
             "no entry got another source port: {} did not take place",
             setting::cure("random-fully").brief);
        tell(clauses, what.snat == Snat::kNone ? found.source_nat : 0,
             "the source address of {} entries was translated, which this cell must not have",
             found.source_nat);
    }
    const std::uint64_t answered = found.count(QueryState::kAnswered);
    tell(clauses, answered != 0 && std::chrono::nanoseconds(seen.answer_p50_ns) < what.delay,
         "the answers came after {} (median), and were to come after {}",
         seconds_text(seen.answer_p50_ns),
         seconds_text(std::chrono::nanoseconds(what.delay).count()));
    tell(clauses, what.at_once && clashes(seen) == 0 && seen.skew_p50_ns > kTooFarApartNs,
         "the two queries of a pair left {} us apart (median), too far to meet",
         seen.skew_p50_ns / 1000);
    const bool one_tuple = what.race == Race::kSameTuple || what.at_once;
    const std::uint64_t strange =
        found.with(join::kTwoBackends) - found.with(join::kTwoBackends | join::kHiddenEntry);
    tell(clauses, one_tuple ? strange : 0,
         "{} of {} pairs of one 5-tuple met two backends, and no event of conntrack shows how",
         strange, found.with(0));
    return clauses;
}

void add_measures(const RaceValues& seen, Cell& cell) {
    const join::PairFindings& found = seen.found;
    const std::uint64_t pairs = found.with(0);
    const auto queries = [&](const char* name, const char* label, QueryState state) {
        return count_of(name, label, found.count(state), "queries");
    };
    cell.measures = {
        count_of("pairs", "query pairs sent", pairs, "pairs"),
        count_of("offered", "offered load", static_cast<std::uint64_t>(std::llround(seen.offered)),
                 "pairs/s"),
        verdict::share("raced_share", "pairs that met the race (clash_resolve per pair)",
                       seen.clash_resolve, pairs),
        verdict::share("lost_pair_share", "pairs that lost a query", found.with(join::kLost),
                       pairs),
        verdict::share("misdelivered_pair_share",
                       "pairs with an answer that came back un-translated",
                       found.with(join::kMisdelivered), pairs),
        count_of("clash_resolve", "conntrack clash_resolve", seen.clash_resolve),
        count_of("insert_failed", "conntrack insert_failed", seen.insert_failed),
        count_of("drop", "conntrack drop", seen.drop),
        count_of("early_drop", "conntrack early_drop", seen.early_drop),
        count_of("table_entries", "conntrack entries after the run", seen.table.entries),
        count_of("table_maximum", "nf_conntrack_max", seen.table.maximum),
        count_of("flushed_entries", "entries that another program had destroyed",
                 found.flushed_entries),
        count_of("source_nat", "entries with a translated source address", found.source_nat),
        count_of("changed_ports", "entries with a changed source port", found.changed_ports),
        count_of("hidden_entries", "clashes resolved by a hidden entry (NAT_CLASH events)",
                 found.with(join::kHiddenEntry)),
        count_of("hidden_unanswered", "hidden entries that saw no reply in time",
                 found.hidden_unanswered),
        count_of("met_two_backends", "pairs whose halves reached two backends",
                 found.with(join::kTwoBackends), "pairs"),
        queries("queries_answered", "answered in time by the service", QueryState::kAnswered),
        queries("queries_lost", "never answered", QueryState::kNever),
        queries("queries_misdelivered", "answered from the backend's own address",
                QueryState::kWrongSource),
        queries("queries_late", "answered after the timeout", QueryState::kLate),
        queries("queries_wrong", "answered with other content", QueryState::kWrong),
    };
    for (const Cause& cause : kCauses) {
        cell.measures.push_back(
            count_of(cause.measure, cause.label, found.count(cause.fate), "queries"));
    }
    cell.measures.insert(
        cell.measures.end(),
        {count_of("tester_lost", "frames lost by the tester itself", seen.tester_lost),
         count_of("attempts", "runs until the tester lost nothing itself", seen.attempts),
         milliseconds_of("skew_p50", "time between a pair's two queries, median",
                         static_cast<double>(seen.skew_p50_ns) / 1e6),
         count_of("late_departures", "queries that left more than 10 us after their instant",
                  seen.late_departures, "queries"),
         milliseconds_of("answer_p50", "time to the answer, median",
                         static_cast<double>(seen.answer_p50_ns) / 1e6)});
}

using Concluded = ConcludedCell<MeasuredCell>;
using Cells = std::vector<Concluded>;

bool harmed(const Concluded& each) {
    return each.cell.verdict == CellVerdict::kFail && own_harm(each.what(), each.seen()) != 0;
}

const Concluded* find(const Cells& cells, Race race, CellRole role, bool again) {
    return first_of(cells, [&](const Concluded& each) {
        return each.what().race == race && each.is(role) && each.what().again == again &&
               (role != CellRole::kMatrix || shows_race(each.what(), each.seen()));
    });
}

// Lists the failures that rule out any conclusion.
Clauses obstacles(const Cells& cells) {
    Clauses clauses;
    for (const Concluded& each : cells) {
        const Cell& cell = each.cell;
        if (each.is(CellRole::kCure)) {
            continue;  // a cure that fails, whatever for, is not shown
        }
        if (cell.verdict == CellVerdict::kError) {
            clauses.push_back(fmt::format("{} could not be measured ({})", cell.id, cell.reason));
        } else if (other_harm(each.what(), each.seen()) +
                       each.seen().found.count(Fate::kUnexplained) !=
                   0) {
            clauses.push_back(fmt::format("in {} queries were harmed by what is not its race: {}",
                                          cell.id, in_a_row(why(each.what(), each.seen(), true))));
        } else if (each.is(CellRole::kControl) && !each.passes()) {
            clauses.push_back(fmt::format("the control {} is not clean: {}", cell.id, cell.reason));
        }
    }
    return clauses;
}

std::string headline_of(Race race, const Cells& cells, const Concluded& first) {
    const join::PairFindings& found = first.seen().found;
    std::string text =
        fmt::format("{}: {} ({})", race_title(race), harm_text(first.seen()), first.cell.id);
    const std::uint64_t met = found.with(join::kTwoBackends);
    const std::uint64_t hit = found.with(join::kTwoBackends | join::kMisdelivered);
    if (hit != 0) {
        text += fmt::format("; {} of {} pairs that met two backends", hit, met);
    }
    Clauses spared;
    for (const Concluded& each : cells) {
        tell(spared, each.what().race == race && each.is(CellRole::kMatrix) && each.passes(), "{}",
             each.cell.id);
    }
    return text + (spared.empty() ? "." : "; none in " + in_a_row(spared) + ".");
}

std::string exposure_headline(const Concluded& cell) {
    return fmt::format("{}: exposed, no query harmed: {} ({}).", race_title(cell.what().race),
                       exposure_text(cell.seen()), cell.cell.id);
}

// A cure as it was tried in this run.
struct TriedCure {
    std::string text;
    const verdict::Cell* shown_by = nullptr;  // null: it is not shown
};

// Shows the cure: the race was there before, was gone with the cure, and came back without it.
TriedCure cure_text(Race race, const Cells& cells) {
    const Concluded* cure = find(cells, race, CellRole::kCure, false);
    const Concluded* again = find(cells, race, CellRole::kMatrix, true);
    const std::string name = cure_of(race);
    const std::string why =
        why_not_shown(cure == nullptr ? nullptr : &cure->cell, again != nullptr, NamesCell::kYes);
    if (!why.empty()) {
        return {fmt::format("{} ({})", name, why)};
    }
    const bool harm = harmed(*again);
    const auto hits = [&](const Concluded& each) {
        return harm ? own_harm(each.what(), each.seen()) : clashes(each.seen());
    };
    return {fmt::format("{} (with it {} {} in {} pairs, without it again {} in {})", name,
                        hits(*cure), harm ? "harmed queries" : "clashes",
                        cure->seen().found.with(0), hits(*again), again->seen().found.with(0)),
            &cure->cell};
}

const char* chart_title(Race race) {
    switch (race) {
        case Race::kSameTuple: return "Pairs of one 5-tuple that met the race";
        case Race::kSnatCollision:
            return "Pairs of two clients with one source port that lost a query";
        case Race::kLateAnswer:
            return "Pairs that met two backends and got one answer un-translated";
    }
    return "";
}

// The pairs that the race's chart counts, and the pairs among which it counts them.
std::pair<std::uint64_t, std::uint64_t> charted_pairs(Race race, const Concluded& each) {
    const join::PairFindings& found = each.seen().found;
    if (race == Race::kSameTuple) {
        return {each.seen().clash_resolve, found.with(0)};
    }
    if (race == Race::kSnatCollision) {
        return {found.with(join::kLost), found.with(0)};
    }
    const unsigned base = each.what().at_once ? unsigned{join::kTwoBackends} : 0U;
    return {found.with(base | join::kMisdelivered), found.with(base)};
}

void add_charts(const Cells& cells, verdict::ScenarioResult& result) {
    for (const Race race : kRaces) {
        verdict::Chart chart{.title = chart_title(race), .unit = "%", .maximum = 100};
        for (const Concluded& each : cells) {
            const auto [hits, of] = charted_pairs(race, each);
            if (each.what().race == race && !each.what().again) {
                chart.bars.push_back(harm_bar(each.what().label, hits, of));
            }
        }
        if (!chart.bars.empty()) {
            result.charts.push_back(std::move(chart));
        }
    }
}

// The queries that did not end well, each beside what tells why.
void add_proof(const Concluded& each, verdict::ScenarioResult& result) {
    const join::PairFindings& found = each.seen().found;
    if (found.stories.empty()) {
        return;
    }
    verdict::Proof proof{
        .title =
            fmt::format("{}: {} of {} queries that did not end well, each beside what tells why",
                        each.cell.id, found.stories.size(), found.harmed()),
        .columns = {"pair", "query", "became", "why", "the entry in its way",
                    "what the kernel said"}};
    for (const join::QueryStory& story : found.stories) {
        proof.rows.push_back({fmt::format("{}", story.pair), story.query, judge::name(story.state),
                              join::name(story.fate), story.winner, story.event});
    }
    proof.conclusion = fmt::format("{}: {}.", harm_text(each.seen()),
                                   in_a_row(why(each.what(), each.seen(), false)));
    result.proofs.push_back(std::move(proof));
}

void explain_lists(const Cells& cells, verdict::ScenarioResult& result) {
    const Concluded* lists = by_id(cells, "same-tuple.list-receive");
    const Concluded* ones = by_id(cells, "control.same-tuple.list-of-one");
    if (lists != nullptr && ones != nullptr && clashes(lists->seen()) != 0 && ones->passes()) {
        result.explanation.push_back(
            fmt::format("It does not take two CPUs: a driver that hands packets up in lists "
                        "(napi_gro_receive, here "
                        "gro_cells of the vxlan device) sends both packets of a pair through "
                        "PREROUTING before the "
                        "first is confirmed. One CPU made {} clashes; with "
                        "net.core.gro_normal_batch=1, on the same "
                        "CPU and the same traffic, there was none in {} pairs.",
                        clashes(lists->seen()), ones->seen().found.with(0)));
    }
}

// Doubts a cell at a load that was not offered whole, or whose events and pairs do not agree.
void doubt_load(const RaceValues& seen, Cell& cell) {
    if (!seen.load || cell.verdict == CellVerdict::kError) {
        return;
    }
    Clauses clauses;
    tell(clauses, seen.load->offered() ? 0 : 1,
         "the tester was the limit: it sent {:.0f} of {:.0f} pairs/s{}", seen.load->sent,
         seen.load->asked,
         seen.load->disturbances.empty() ? "" : " (" + in_a_row(seen.load->disturbances) + ")");
    tell_count(clauses, seen.found.unheard,
               "{} queries came through, and no event of conntrack tells of their entry");
    tell_count(clauses, seen.found.strange_entries, "{} entries of conntrack are of no query");
    if (clauses.empty()) {
        return;
    }
    cell.verdict = CellVerdict::kInconclusive;
    cell.cause.clear();
    cell.reason = in_a_row(clauses, "; ") + (cell.reason.empty() ? "" : "; " + cell.reason);
}

void join_texts(std::string& text, const std::string& more, const char* between) {
    text += (text.empty() || more.empty() ? "" : between) + more;
}

}  // namespace

bool shows_race(const RaceCell& what, const RaceValues& seen) {
    return what.race == Race::kSameTuple ? clashes(seen) + own_harm(what, seen) != 0
                                         : own_harm(what, seen) != 0;
}

Cell conclude(const RaceCell& what, const RaceValues& seen) {
    Cell cell{.id = what.id,
              .toggles = {{"experiment", race_title(what.race)},
                          {"way", what.way},
                          {"setting", what.setting}},
              .role = what.role,
              .verdict = CellVerdict::kPass};
    add_measures(seen, cell);
    if (!seen.objections.empty()) {
        cell.verdict = CellVerdict::kError;
        cell.reason = "no result: " + seen.objections.front();
        if (!seen.outages.empty()) {
            cell.reason += fmt::format("; {} had no link for a time", in_a_row(seen.outages));
            cell.cause = "link-down";
        }
    } else if (seen.found.harmed() != 0) {
        const bool named = seen.found.count(Fate::kUnexplained) == 0;
        cell.reason = fmt::format("{}: {}", harm_text(seen), in_a_row(why(what, seen, false)));
        if (by_chance(what, seen)) {
            cell.reason += "; two draws of a port meet by chance once in 64,512 pairs";
        } else {
            cell.verdict = named ? CellVerdict::kFail : CellVerdict::kInconclusive;
            cell.cause = named ? cause_words(what, seen) : "";
        }
    } else if (const Clauses lacking = missing(what, seen); !lacking.empty()) {
        cell.verdict = CellVerdict::kInconclusive;
        cell.reason = in_a_row(lacking);
    } else if (clashes(seen) != 0 && what.role == CellRole::kMatrix) {
        cell.reason = "exposed, harmless here: " + exposure_text(seen);
    } else if (clashes(seen) != 0) {
        cell.verdict = CellVerdict::kFail;
        cell.cause = "same-tuple-race";
        cell.reason = exposure_text(seen);
    }
    const std::int64_t asked_ns = std::chrono::nanoseconds(what.delay).count();
    if (seen.objections.empty() && seen.found.count(QueryState::kAnswered) != 0 &&
        seen.answer_p50_ns > asked_ns + kSlowNs) {
        cell.reason +=
            fmt::format("{}a slow path: answers came after {} (median), {} later than asked",
                        cell.reason.empty() ? "" : "; ", seconds_text(seen.answer_p50_ns),
                        seconds_text(seen.answer_p50_ns - asked_ns));
    }
    doubt_load(seen, cell);
    add_load_measures(what, seen, cell);
    return cell;
}

verdict::ScenarioResult conclude(const std::vector<MeasuredCell>& measured) {
    Cells cells = conclude_each(measured);
    verdict::ScenarioResult result;
    std::uint64_t queries = 0;
    bool lacking = false;
    for (const Concluded& each : cells) {
        result.unexplained += each.seen().found.count(Fate::kUnexplained);
        queries += each.seen().found.count(QueryState::kAnswered);
        lacking |= each.is(CellRole::kMatrix) && each.cell.verdict == CellVerdict::kInconclusive;
        add_proof(each, result);
    }
    bool any_harmed = false;
    bool any_exposed = false;
    bool cured = true;
    const Clauses hindered = obstacles(cells);
    for (const Race race : kRaces) {
        const Concluded* first = first_in_matrix(
            cells, [&](const auto& each) { return each.what().race == race && harmed(each); });
        first = first != nullptr ? first : find(cells, race, CellRole::kMatrix, false);
        if (first == nullptr || !hindered.empty()) {
            continue;
        }
        const TriedCure cure = cure_text(race, cells);
        any_harmed |= harmed(*first);
        any_exposed |= !harmed(*first);
        cured &= cure.shown_by != nullptr || !harmed(*first);
        join_texts(result.headline,
                   harmed(*first) ? headline_of(race, cells, *first) : exposure_headline(*first),
                   " ");
        join_texts(
            result.cause,
            fmt::format("{}: {}", race_title(race), cause_text(first->what(), first->seen())),
            "\n");
        join_texts(result.cure, fmt::format("{}: {}", race_title(race), cure.text), "\n");
        if (harmed(*first) && cure.shown_by != nullptr) {
            result.before_cell = first->cell.id;
            result.after_cell = cure.shown_by->id;
        }
    }
    // A clash without harm shows in the late answers' cells too, where the others were not run.
    for (const Concluded& each : cells) {
        if (hindered.empty() && !any_harmed && !any_exposed && each.is(CellRole::kMatrix) &&
            clashes(each.seen()) != 0) {
            any_exposed = true;
            result.headline = exposure_headline(each);
        }
    }
    result.cure_shown = any_harmed && cured;
    if (!hindered.empty() || cells.empty() || (lacking && !any_harmed)) {
        Clauses clauses = hindered;
        for (const Concluded& each : cells) {
            tell(clauses, hindered.empty() && each.cell.verdict == CellVerdict::kInconclusive,
                 "{}: {}", each.cell.id, each.cell.reason);
        }
        result.verdict = verdict::ScenarioVerdict::kInconclusive;
        result.headline = "Nothing is concluded: " + in_a_row(clauses, "; ") + ".";
    } else if (any_harmed) {
        result.verdict = verdict::ScenarioVerdict::kReproduced;
        explain_lists(cells, result);
    } else if (any_exposed) {
        result.verdict = verdict::ScenarioVerdict::kExposed;
        result.headline += fmt::format(" All {} queries of {} cells were answered in time.",
                                       queries, cells.size());
        explain_lists(cells, result);
    } else {
        result.verdict = verdict::ScenarioVerdict::kNotReproduced;
        const Concluded* refused =
            first_of(cells, [](const Concluded& each) { return each.seen().insert_failed != 0; });
        const std::string answered =
            fmt::format("{} queries of {} cells were answered in time", queries, cells.size());
        result.headline =
            refused == nullptr
                ? fmt::format("No pair raced or collided: {}.", answered)
                : fmt::format(
                      "No query was harmed: {}. conntrack refused packets meanwhile, of "
                      "which no query was missed ({}: insert_failed rose by {}).",
                      answered, refused->cell.id, refused->seen().insert_failed);
    }
    add_charts(cells, result);
    finish(cells, result);
    return result;
}

}  // namespace pathproof::scenario
