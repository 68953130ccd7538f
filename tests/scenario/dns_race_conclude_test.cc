#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <random>

#include "harness/scenario/race/race_experiments.h"
#include "tests/contains.h"
#include "tests/scenario/dns_race_claims.h"

BOOST_AUTO_TEST_SUITE(dns_race_conclude)

using namespace pathproof;
using namespace pathproof::scenario;
using join::Fate;
using judge::QueryState;
using verdict::CellVerdict;
using verdict::ScenarioVerdict;
using Role = CellRole;
using Snat = lab::Snat;

namespace {

std::vector<RaceCell> all_cells() {
    std::vector<RaceCell> all;
    for (const auto& cells : {same_tuple_cells(), snat_collision_cells(), late_answer_cells()}) {
        all.insert(all.end(), cells.begin(), cells.end());
    }
    return all;
}

// Outcomes of a cell's pairs; counts of pairs.
struct Pairs {
    std::uint64_t clean = 0;
    std::uint64_t merged = 0;  // met, given one entry
    std::uint64_t hidden = 0;  // met, a hidden entry, both answered
    // One query of each harmed; `hit_hidden`: of pairs with a hidden entry and two backends.
    std::map<std::pair<QueryState, Fate>, std::uint64_t> hit;
    std::map<std::pair<QueryState, Fate>, std::uint64_t> hit_hidden;
};

unsigned bit_of(QueryState state) {
    if (state == QueryState::kNever) {
        return join::kLost;
    }
    return state == QueryState::kWrongSource ? join::kMisdelivered : join::kLateOrWrong;
}

RaceValues values_of(const RaceCell& what, const Pairs& pairs) {
    RaceValues seen;
    join::PairFindings& found = seen.found;
    const auto answered = [&](std::uint64_t count) { found.queries[0][0] += count; };
    const auto harm = [&](QueryState state, Fate fate, std::uint64_t count, unsigned bits) {
        found.queries[static_cast<std::size_t>(state)][static_cast<std::size_t>(fate)] += count;
        answered(count);
        found.pairs[bits | bit_of(state)] += count;
        for (std::uint64_t n = 0; n < std::min<std::uint64_t>(count, 3); ++n) {
            found.stories.push_back({.state = state, .fate = fate});
        }
        if (fate == Fate::kUntranslatedAnswer && count != 0) {
            found.least_age_ns = 1'400'000'000;
        }
        if (fate == Fate::kDropped && count != 0) {
            found.dropped["by a netfilter rule (NETFILTER_DROP at nft_do_chain)"] += count;
        }
        if (fate == Fate::kLinkDown && count != 0) {
            found.down["ds"] += count;
            seen.outages = {"ds"};
        }
        if (fate == Fate::kFlushed) {
            found.flushed_entries += count;
        }
        if (fate == Fate::kTableFull) {
            seen.table = {.entries = 300, .maximum = 300};
            seen.drop += count;
        }
        if (fate == Fate::kDroppedAtInsertion) {
            seen.insert_failed += count;
            seen.drop += count;
        }
    };
    found.pairs[0] = pairs.clean + pairs.merged;
    found.pairs[join::kHiddenEntry | join::kTwoBackends] = pairs.hidden;
    answered(2 * (pairs.clean + pairs.merged + pairs.hidden));
    seen.clash_resolve = pairs.merged + pairs.hidden;
    for (const auto& [kind, count] : pairs.hit) {
        harm(kind.first, kind.second, count, 0);
    }
    for (const auto& [kind, count] : pairs.hit_hidden) {
        harm(kind.first, kind.second, count, join::kHiddenEntry | join::kTwoBackends);
        seen.clash_resolve += count;
    }
    found.source_nat = what.snat == Snat::kNone ? 0 : found.with(0);
    found.changed_ports = found.source_nat;
    seen.answer_p50_ns = std::chrono::nanoseconds(what.delay).count() + 50'000;
    seen.skew_p50_ns = 300;
    return seen;
}

// The machine this was written on: clashes where two CPUs or lists meet, all resolved; collisions;
// answers after 1.5 s un-translated.
Pairs as_usual(const RaceCell& what) {
    if (what.role != Role::kMatrix) {
        return {.clean = 1000};
    }
    if (what.race == Race::kSnatCollision) {
        return {.clean = 400, .hit = {{{QueryState::kNever, Fate::kDroppedAtInsertion}, 600}}};
    }
    if (what.delay > std::chrono::seconds(1)) {
        return {.clean = 250,
                .merged = 120,
                .hit_hidden = {{{QueryState::kWrongSource, Fate::kUntranslatedAnswer}, 130}}};
    }
    return {.clean = 100, .merged = 450, .hidden = 450};
}

template <typename Change>
verdict::ScenarioResult concluded(const Change& change) {
    std::vector<MeasuredCell> cells;
    for (const RaceCell& what : all_cells()) {
        Pairs pairs = as_usual(what);
        change(what, pairs);
        cells.push_back({.what = what, .seen = values_of(what, pairs)});
    }
    return conclude(cells);
}

template <typename Change>
verdict::ScenarioResult with_values(const Change& change) {
    std::vector<MeasuredCell> cells;
    for (const RaceCell& what : all_cells()) {
        cells.push_back({.what = what, .seen = values_of(what, as_usual(what))});
        change(what, cells.back().seen);
    }
    return conclude(cells);
}

const verdict::Cell& cell(const verdict::ScenarioResult& result, const std::string& id) {
    for (const auto* cells : {&result.cells, &result.controls}) {
        for (const verdict::Cell& each : *cells) {
            if (each.id == id) {
                return each;
            }
        }
    }
    throw std::runtime_error("no cell " + id);
}

using pathproof::test::contains;

std::string all_text(const verdict::ScenarioResult& result) {
    std::string text = result.headline + "\n" + result.cause + "\n" + result.cure;
    for (const std::string& paragraph : result.explanation) {
        text += "\n" + paragraph;
    }
    for (const verdict::Proof& proof : result.proofs) {
        text += "\n" + proof.title + "\n" + proof.conclusion;
    }
    return text;
}

constexpr auto kOnlyBackend = [](const RaceCell& what, Pairs& pairs) {
    if (what.race == Race::kSnatCollision) {
        pairs = {.clean = 1000};
    } else if (what.role == Role::kMatrix) {
        pairs = {.clean = 100, .merged = 900};
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(the_untouched_machine_reproduces_with_cause_and_cure) {
    const auto result = concluded([](const RaceCell&, Pairs&) {});
    BOOST_TEST((result.verdict == ScenarioVerdict::kReproduced), result.headline);
    BOOST_TEST(result.cure_shown);
    BOOST_TEST(result.unexplained == 0u);
    BOOST_TEST(contains(result.headline, "130 of 130 pairs that met two backends"),
               result.headline);
    BOOST_TEST(contains(result.headline, "600 never answered"), result.headline);
    BOOST_TEST((cell(result, "same-tuple.two-cpus").verdict == CellVerdict::kPass));
    BOOST_TEST(contains(cell(result, "same-tuple.two-cpus").reason, "exposed, harmless here"));
    BOOST_TEST((cell(result, "snat-collision").verdict == CellVerdict::kFail));
    BOOST_TEST(cell(result, "late-answer.1500ms").cause == "late-answer");
    BOOST_TEST_MESSAGE(all_text(result));
}

// T3
BOOST_AUTO_TEST_CASE(clashes_that_harm_nobody_are_exposed_and_not_reproduced) {
    const auto result = concluded(kOnlyBackend);
    BOOST_TEST((result.verdict == ScenarioVerdict::kExposed), result.headline);
    BOOST_TEST(contains(result.headline, "900"), result.headline);
}

// T4
BOOST_AUTO_TEST_CASE(no_second_backend_is_named_where_every_pair_met_one) {
    const auto result = concluded(kOnlyBackend);
    BOOST_TEST(!contains(all_text(result), "two backends"), all_text(result));
    BOOST_TEST(!contains(all_text(result), "hidden"), all_text(result));
    BOOST_TEST(!contains(all_text(result), "backend of its own"), all_text(result));
}

// T7
BOOST_AUTO_TEST_CASE(a_cure_that_fails_is_not_shown) {
    const auto result = concluded([](const RaceCell& what, Pairs& pairs) {
        if (what.id == "cure.random-fully") {
            pairs = as_usual({.race = Race::kSnatCollision});
        }
    });
    BOOST_TEST((result.verdict == ScenarioVerdict::kReproduced), result.headline);
    BOOST_TEST(!result.cure_shown);
    BOOST_TEST((cell(result, "cure.random-fully").verdict == CellVerdict::kFail));
    BOOST_TEST(contains(result.cure, "not shown: cure.random-fully"), result.cure);
}

BOOST_AUTO_TEST_CASE(a_cure_is_not_shown_when_the_failure_does_not_come_back_without_it) {
    const auto result = concluded([](const RaceCell& what, Pairs& pairs) {
        if (what.id == "late-answer.after-cure") {
            pairs = {.clean = 200};
        }
    });
    BOOST_TEST((result.verdict == ScenarioVerdict::kReproduced));
    BOOST_TEST(!result.cure_shown);
}

// Late answers are a failure whether or not the cure helps.
BOOST_AUTO_TEST_CASE(a_failure_is_reproduced_although_its_cure_was_not_run) {
    std::vector<MeasuredCell> cells;
    for (const RaceCell& what : late_answer_cells()) {
        if (what.role == Role::kMatrix && !what.again) {
            cells.push_back({.what = what, .seen = values_of(what, as_usual(what))});
        }
    }
    const auto result = conclude(cells);
    BOOST_TEST((result.verdict == ScenarioVerdict::kReproduced));
    BOOST_TEST(!result.cure_shown);
    BOOST_TEST(contains(result.cure, "not tried"), result.cure);
}

// T8: every second query lost to a rule, a full table, a link; in matrix, control and cure alike.
BOOST_AUTO_TEST_CASE(no_cell_passes_that_lost_queries_whatever_it_looks_for) {
    for (const Fate fate :
         {Fate::kDropped, Fate::kTableFull, Fate::kLinkDown, Fate::kUnexplained, Fate::kFlushed}) {
        const auto result = concluded([&](const RaceCell&, Pairs& pairs) {
            pairs.hit[{QueryState::kNever, fate}] += 500;
        });
        for (const auto* cells : {&result.cells, &result.controls}) {
            for (const verdict::Cell& each : *cells) {
                BOOST_TEST((each.verdict != CellVerdict::kPass), each.id << ": " << each.reason);
            }
        }
        BOOST_TEST((result.verdict == ScenarioVerdict::kInconclusive), result.headline);
    }
}

// T9, T11, A24 and a filter: named in the cell, never as a race.
BOOST_AUTO_TEST_CASE(what_was_lost_by_another_cause_is_named_by_it) {
    const std::map<Fate, std::pair<const char*, const char*>> kNames = {
        {Fate::kLinkDown, {"link-down", "while ds had no link"}},
        {Fate::kTableFull,
         {"table-full",
          "the conntrack table was full (300 entries, nf_conntrack_max 300, drop 700)"}},
        {Fate::kDropped,
         {"dropped", "dropped by a netfilter rule (NETFILTER_DROP at nft_do_chain)"}},
        {Fate::kFlushed, {"conntrack-flush", "another program had conntrack entries destroyed"}}};
    for (const auto& [fate, names] : kNames) {
        const auto result = concluded([fate = fate](const RaceCell& what, Pairs& pairs) {
            if (what.id == "control.same-tuple.one-cpu") {
                pairs.hit[{QueryState::kNever, fate}] = 700;
            }
        });
        const verdict::Cell& hit = cell(result, "control.same-tuple.one-cpu");
        BOOST_TEST((hit.verdict == CellVerdict::kFail));
        BOOST_TEST(hit.cause == names.first);
        BOOST_TEST(contains(hit.reason, names.second), hit.reason);
        BOOST_TEST(contains(result.headline, names.second), result.headline);
        BOOST_TEST(!contains(hit.reason, "race"), hit.reason);
    }
}

// T10
BOOST_AUTO_TEST_CASE(
    early_answers_that_came_back_untranslated_without_a_cause_are_no_expired_entry) {
    const auto result = concluded([](const RaceCell& what, Pairs& pairs) {
        if (what.id == "late-answer.200ms") {
            pairs.hit_hidden[{QueryState::kWrongSource, Fate::kUnexplained}] = 241;
        }
    });
    BOOST_TEST((cell(result, "late-answer.200ms").verdict == CellVerdict::kInconclusive));
    BOOST_TEST((result.verdict == ScenarioVerdict::kInconclusive));
    BOOST_TEST(result.unexplained == 241u);
}

// T13: 500 misdelivered of which 243 in pairs that met two backends; a control whose losses are
// none and whose misdelivered are many.
BOOST_AUTO_TEST_CASE(a_share_is_of_one_set) {
    const auto result = concluded([](const RaceCell& what, Pairs& pairs) {
        if (what.id == "late-answer.1500ms") {
            pairs = {.hit = {{{QueryState::kWrongSource, Fate::kUntranslatedAnswer}, 257}},
                     .hit_hidden = {{{QueryState::kWrongSource, Fate::kUntranslatedAnswer}, 243}}};
        }
        if (what.id == "control.snat-collision.no-nat") {
            pairs.hit[{QueryState::kWrongSource, Fate::kFlushed}] = 1216;
        }
    });
    BOOST_TEST(!contains(all_text(result), "500 of 243"), all_text(result));
    BOOST_TEST(contains(cell(result, "control.snat-collision.no-nat").reason,
                        "1216 answered from a backend's own address"));
    BOOST_TEST(!contains(cell(result, "control.snat-collision.no-nat").reason, "lost"));
    BOOST_TEST(!contains(cell(result, "control.snat-collision.no-nat").reason, "0.0 %"));
}

BOOST_AUTO_TEST_CASE(a_stimulus_that_did_not_take_place_makes_no_pass) {
    const auto inconclusive = [](const char* id, auto change) {
        const auto result = with_values([&](const RaceCell& what, RaceValues& seen) {
            if (what.id == id) {
                seen = values_of(what, {.clean = 1000});
                change(seen);
            }
        });
        BOOST_TEST((cell(result, id).verdict == CellVerdict::kInconclusive),
                   id << ": " << cell(result, id).reason);
    };
    inconclusive("snat-collision",
                 [](RaceValues& seen) { seen.found.source_nat = seen.found.changed_ports = 0; });
    inconclusive("cure.random-fully", [](RaceValues& seen) { seen.found.changed_ports = 0; });
    inconclusive("control.snat-collision.no-nat",
                 [](RaceValues& seen) { seen.found.source_nat = 2; });
    inconclusive("late-answer.900ms", [](RaceValues& seen) { seen.answer_p50_ns = 100'000; });
    inconclusive("same-tuple.two-cpus", [](RaceValues& seen) { seen.skew_p50_ns = 400'000; });
    inconclusive("same-tuple.vxlan-two-cpus",
                 [](RaceValues& seen) { seen.hindrances = {"no two CPUs"}; });
    inconclusive("same-tuple.two-cpus",
                 [](RaceValues& seen) { seen.found.pairs[join::kTwoBackends] = 7; });
}

BOOST_AUTO_TEST_CASE(a_control_that_clashes_leaves_nothing_concluded) {
    const auto result = concluded([](const RaceCell& what, Pairs& pairs) {
        if (what.id == "control.same-tuple.one-cpu") {
            pairs.merged = 3;
        }
    });
    BOOST_TEST((result.verdict == ScenarioVerdict::kInconclusive));
    BOOST_TEST(contains(result.headline, "control.same-tuple.one-cpu"), result.headline);
}

BOOST_AUTO_TEST_CASE(a_kernel_without_the_race_does_not_reproduce) {
    const auto result = concluded([](const RaceCell&, Pairs& pairs) { pairs = {.clean = 1000}; });
    BOOST_TEST((result.verdict == ScenarioVerdict::kNotReproduced), result.headline);
    for (const verdict::Cell& each : result.cells) {
        BOOST_TEST((each.verdict == CellVerdict::kPass), each.id << ": " << each.reason);
    }
}

BOOST_AUTO_TEST_CASE(a_slow_path_is_told_by_the_answers_ages) {
    const auto result =
        with_values([](const RaceCell&, RaceValues& seen) { seen.answer_p50_ns += 400'000'000; });
    BOOST_TEST(contains(cell(result, "same-tuple.two-cpus").reason, "slow path"),
               cell(result, "same-tuple.two-cpus").reason);
    BOOST_TEST(contains(cell(result, "same-tuple.two-cpus").reason, "0.400 s"),
               cell(result, "same-tuple.two-cpus").reason);
}

namespace {

// Draws any world: how often each thing happens to a pair is drawn anew for each run and cell.
class Worlds {
  public:
    explicit Worlds(std::uint64_t seed) : random_(seed) {}

    std::vector<MeasuredCell> next() {
        const bool usual = chance(0.4);
        const bool raceless = !usual && chance(0.2);
        const bool harmless = !usual && chance(0.4);
        const double odd = draw_oddness(harmless);
        std::vector<MeasuredCell> cells;
        for (const RaceCell& what : all_cells()) {
            if (chance(0.05)) {
                continue;
            }
            const bool met =
                !raceless && (what.role == Role::kMatrix || chance(odd)) && chance(0.5);
            Pairs pairs = usual || (!raceless && !harmless && chance(0.3))
                              ? as_usual(what)
                              : Pairs{.clean = number(30),
                                      .merged = met ? number(9) : 0,
                                      .hidden = met ? number(9) : 0};
            pairs.clean += harmless ? 1 : 0;
            if (chance(odd)) {
                harm(chance(0.5) ? pairs.hit : pairs.hit_hidden);
            }
            RaceValues seen = values_of(what, pairs);
            if (chance(odd)) {
                disturb(seen);
            }
            cells.push_back({.what = what, .seen = seen});
        }
        return cells;
    }

  private:
    double draw_oddness(bool harmless) {
        if (harmless || chance(0.3)) {
            return 0;
        }
        return chance(0.5) ? 0.05 : 0.5;
    }
    bool chance(double share) { return std::bernoulli_distribution(share)(random_); }
    std::uint64_t number(std::uint64_t most) {
        return std::uniform_int_distribution<std::uint64_t>(0, most)(random_);
    }

    void harm(std::map<std::pair<QueryState, Fate>, std::uint64_t>& hit) {
        static constexpr std::pair<QueryState, Fate> kKinds[] = {
            {QueryState::kNever, Fate::kDroppedAtInsertion},
            {QueryState::kNever, Fate::kTableFull},
            {QueryState::kNever, Fate::kLinkDown},
            {QueryState::kNever, Fate::kDropped},
            {QueryState::kNever, Fate::kFlushed},
            {QueryState::kNever, Fate::kUnexplained},
            {QueryState::kWrongSource, Fate::kUntranslatedAnswer},
            {QueryState::kWrongSource, Fate::kFlushed},
            {QueryState::kWrongSource, Fate::kTableFull},
            {QueryState::kWrongSource, Fate::kUnexplained},
            {QueryState::kLate, Fate::kSlow},
            {QueryState::kWrong, Fate::kUnexplained}};
        for (std::uint64_t kinds = 1 + number(2); kinds != 0; --kinds) {
            hit[kKinds[number(std::size(kKinds) - 1)]] += number(700);
        }
    }
    void disturb(RaceValues& seen) {
        switch (number(10)) {
            case 0: seen.objections = {"the tester's own ports lost 5 frames"}; break;
            case 1: seen.hindrances = {"the RPS mask was changed"}; break;
            case 2: seen.insert_failed += number(500); break;  // another actor's
            case 3: seen.clash_resolve += number(900); break;
            case 4: seen.found.source_nat = number(5); break;
            case 5: seen.found.changed_ports = 0; break;
            case 6: seen.answer_p50_ns = static_cast<std::int64_t>(number(3'000'000'000)); break;
            case 7: seen.skew_p50_ns = 90'000; break;
            case 8: seen.found.flushed_entries += number(400); break;
            case 9: seen.outages = {"d0"}; break;
            default: seen.early_drop = number(40); seen.table = {.entries = 500, .maximum = 300};
        }
    }
    std::mt19937_64 random_;
};

RaceSums sums_of(const verdict::Cell& cell, const RaceValues& seen) {
    RaceSums sums;
    for (const verdict::Measure& measure : cell.measures) {
        if (measure.value.is_number()) {
            sums[measure.name] = measure.value.number();
        }
    }
    sums["outages"] = static_cast<double>(seen.outages.size());
    return sums;
}

// Harm that is its race's own.
std::uint64_t own(const RaceCell& what, const RaceValues& seen) {
    return seen.found.count(Fate::kDroppedAtInsertion) +
           (what.race == Race::kSnatCollision ? 0 : seen.found.count(Fate::kUntranslatedAnswer));
}

// Returns the violations of invariants in one conclusion.
std::vector<std::string> broken(const std::vector<MeasuredCell>& cells,
                                const verdict::ScenarioResult& result) {
    std::vector<std::string> wrong;
    const auto demand = [&](bool holds, const std::string& what) {
        if (!holds) {
            wrong.push_back(what + "; headline: " + result.headline);
        }
    };
    RaceSums all;
    std::uint64_t unexplained = 0;
    bool harmed = false, disturbed = false, clashed = false;
    for (const MeasuredCell& each : cells) {
        const verdict::Cell& made = cell(result, each.what.id);
        const auto& found = each.seen.found;
        const bool chance = each.what.snat == Snat::kMasqueradeRandomFully && found.harmed() <= 2 &&
                            found.count(Fate::kDroppedAtInsertion) == found.harmed();
        const bool pass = made.verdict == CellVerdict::kPass;
        demand(!pass || found.harmed() == 0 || chance, made.id + " passes and lost");
        demand(!pass || found.count(Fate::kUnexplained) == 0, made.id + " passes, unexplained");
        demand(!pass || (each.seen.objections.empty() && each.seen.hindrances.empty()),
               made.id + " passes, not measured");
        demand(pass || !made.reason.empty(), made.id + " has no reason");
        demand(!pass || found.with(0) != 0, made.id + " passes, nothing sent");
        demand(!pass || each.what.snat != Snat::kMasquerade || found.source_nat != 0,
               made.id + " passes without NAT");
        demand(!pass || each.what.role == Role::kMatrix || each.seen.clash_resolve == 0,
               made.id + " passes, clashed");
        const RaceSums sums = sums_of(made, each.seen);
        for (const std::string& claim : false_claims(made.reason, sums)) {
            wrong.push_back(made.id + " " + claim);
        }
        for (const auto& [name, value] : sums) {
            all[name] += value;
        }
        unexplained += found.count(Fate::kUnexplained);
        if (each.what.role == Role::kMatrix) {
            harmed |= made.verdict == CellVerdict::kFail && own(each.what, each.seen) != 0;
            clashed |= each.seen.clash_resolve + found.with(join::kHiddenEntry) != 0;
        }
        if (each.what.role != Role::kCure) {
            disturbed |= found.harmed() > own(each.what, each.seen) ||
                         made.verdict == CellVerdict::kError ||
                         (each.what.role == Role::kControl && !pass);
        }
    }
    demand(result.unexplained == unexplained, "unexplained is another sum");
    for (const std::string& claim : false_claims(all_text(result), all)) {
        wrong.push_back(claim);
    }
    const auto is = [&](ScenarioVerdict verdict) { return result.verdict == verdict; };
    demand(!disturbed || is(ScenarioVerdict::kInconclusive), "concluded although disturbed");
    demand(!is(ScenarioVerdict::kReproduced) || (harmed && !result.cause.empty()),
           "reproduced without harm or cause");
    demand(!is(ScenarioVerdict::kExposed) || (clashed && !harmed), "exposed");
    demand(!is(ScenarioVerdict::kNotReproduced) || (!clashed && !harmed),
           "not reproduced, but it was there");
    demand(!harmed || disturbed || is(ScenarioVerdict::kReproduced), "harm is not reproduced");
    demand(!result.headline.empty(), "no headline");
    if (result.cure_shown) {
        demand(is(ScenarioVerdict::kReproduced), "a cure of nothing");
        for (const MeasuredCell& each : cells) {
            const bool race_harmed = std::ranges::any_of(cells, [&](const MeasuredCell& other) {
                return other.what.race == each.what.race && other.what.role == Role::kMatrix &&
                       own(other.what, other.seen) != 0;
            });
            demand(each.what.role != Role::kCure || !race_harmed ||
                       cell(result, each.what.id).verdict == CellVerdict::kPass,
                   each.what.id + " fails, and is said to be shown");
            demand(!each.what.again || !race_harmed || shows_race(each.what, each.seen),
                   each.what.id + ": not back without the cure");
        }
    }
    return wrong;
}

}  // namespace

BOOST_AUTO_TEST_CASE(no_conclusion_of_10000_worlds_says_what_its_values_contradict) {
    Worlds worlds(20261123);
    std::map<ScenarioVerdict, int> verdicts;
    int shown = 0;
    std::size_t faults = 0;
    for (int world = 0; world < 10'000 && faults < 20; ++world) {
        const auto cells = worlds.next();
        const auto result = conclude(cells);
        ++verdicts[result.verdict];
        shown += result.cure_shown ? 1 : 0;
        for (const std::string& fault : broken(cells, result)) {
            ++faults;
            BOOST_TEST(false, "world " << world << ": " << fault);
        }
    }
    // Each verdict was among them.
    for (const auto verdict : {ScenarioVerdict::kReproduced, ScenarioVerdict::kExposed,
                               ScenarioVerdict::kNotReproduced, ScenarioVerdict::kInconclusive}) {
        BOOST_TEST(verdicts[verdict] > 100, name(verdict) << ": " << verdicts[verdict]);
    }
    BOOST_TEST(shown > 100);
}

BOOST_AUTO_TEST_SUITE_END()
