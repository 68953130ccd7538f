// Conclusions of split-answer from plain values.
#include <boost/test/unit_test.hpp>
#include <functional>

#include "harness/scenario/resolvers/split_answer.h"
#include "tests/scenario/conclusion_table.h"

BOOST_AUTO_TEST_SUITE(split_answer_conclude)

using namespace pathproof;
using namespace pathproof::scenario;
using namespace conclusions;
using Role = verdict::Cell::Role;

namespace {

void end_search(SplitAnswerValues& seen, bool nodata) {
    seen.resolved = 0;
    (nodata ? seen.by_nodata : seen.by_split) = seen.lookups;
    seen.outcome = "EAI_NONAME";
    seen.fewest_queries = seen.most_queries = 2;
    seen.ends_at = "n.example.com.default.svc.cluster.local: A NXDOMAIN, AAAA NOERROR";
}

// As glibc 2.36, musl 1.2.3 and Go 1.19 do.
bool harmless(const SplitAnswerCell& what) {
    const bool musl = what.who == resolver::Kind::kMusl;
    return what.id == "glibc.nx-empty" || what.id == "glibc.empty-empty" ||
           (musl && what.a != what.aaaa) || what.who == resolver::Kind::kGo;
}

SplitAnswerValues as_usual_split(const SplitAnswerCell& what) {
    SplitAnswerValues seen{.lookups = 3, .resolved = 3, .fewest_queries = 8, .most_queries = 8};
    if (what.kind == SplitAnswerCell::Kind::kTable) {
        seen.table = {{PairReply::kData, PairReply::kData, "ok", 0.0, 2},
                      {PairReply::kNx, PairReply::kNx, "ok", 0.0, 8},
                      {PairReply::kNx, PairReply::kCname, "EAI_NONAME", 0.0, 2}};
        seen.resolved = 2;
        seen.by_split = 1;
        seen.outcome = "EAI_NONAME";
    } else if (what.role == Role::kMatrix && !harmless(what)) {
        end_search(seen, what.a == what.aaaa);
    }
    if (what.kind == SplitAnswerCell::Kind::kExpiry) {
        seen.failed_for_ms = 2250;
        seen.split_for_ms = 2500;
    }
    return seen;
}

// Lookups that fail, and no answer of the server's is why.
auto fails_for(const std::string& other) {
    return [other](SplitAnswerValues& seen) {
        seen.by_split = seen.by_nodata = seen.resolved = 0;
        seen.by_other = seen.lookups;
        seen.other = other;
        seen.outcome = "EAI_NONAME";
    };
}

void ends(SplitAnswerValues& seen) {
    end_search(seen, false);
}

constexpr const char* kSplit = "glibc.nx-cname";

using Rows = std::vector<Row<SplitAnswerCell, SplitAnswerValues>>;

// Rows of strangers, refusals and losses, each alone and beside a split answer.
Rows other_causes() {
    Rows rows;
    for (const std::string other : {"foreign-answer", "refused", "servfail", "query-lost",
                                    "answer-lost", "late-answer", "no-answer"}) {
        rows.push_back({.name = other + "_is_not_given_this_cause",
                        .changes = {{kSplit, fails_for(other)}},
                        .concluded = nothing(kSplit, {{kSplit, other}})});
        rows.push_back({.name = other + "_beside_it_is_named_too",
                        .changes = {{kSplit,
                                     [other](SplitAnswerValues& seen) {
                                         seen.by_split = 2;
                                         seen.by_other = 1;
                                         seen.other = other;
                                     }}},
                        .concluded = nothing(kSplit, {{kSplit, "split-answer+" + other}})});
    }
    for (const std::string id : {"control.nx-nx", "control.musl.nx-nx"}) {
        rows.push_back({.name = id + "_that_fails_proves_nothing",
                        .changes = {{id, ends}},
                        .concluded = nothing(id)});
    }
    return rows;
}

}  // namespace

const Rows kRows = {
    {.name = "what_resolvers_show_is_reproduced_named_and_cured",
     .concluded = {.verdict = ScenarioVerdict::kReproduced,
                   .says = {{"headline", "glibc.nx-cname: 3 of 3 failed with EAI_NONAME"},
                            {"headline", "musl.empty-empty: 3 of 3"},
                            {"cause", "A NXDOMAIN, AAAA NOERROR"},
                            {"cause", "expires 2.5 s before AAAA's"},
                            {"cure",
                             "Seen not to help: single-request, single-request-reopen, use-vc"}},
                   .causes = {{kSplit, "split-answer"}, {"musl.empty-empty", "nodata-answer"}},
                   .cells = {{"glibc.empty-empty", CellVerdict::kPass},
                             {"musl.nx-cname", CellVerdict::kPass}},
                   .cured = true,
                   .before = kSplit,
                   .after = "cure.trailing-dot",
                   .more =
                       [](const ScenarioResult& result) {
                           BOOST_REQUIRE(!result.proofs.empty());
                           BOOST_TEST(result.proofs[0].columns.size() == 5U);
                           BOOST_TEST(result.proofs[0].rows[2][2] ==
                                      "EAI_NONAME after 0.0 s (2 queries)");
                       }}},
    {.name = "a_cure_that_fails_is_not_shown",
     .changes = {{"cure.consistent-cache", ends}},
     .concluded = not_cured("not shown: cure.consistent-cache")},
    {.name = "a_failure_of_glibc_alone_that_does_not_come_back_shows_the_cure_by_musl",
     .changes = {{"glibc.nx-cname.after-cure",
                  [](SplitAnswerValues& seen) {
                      seen = {.lookups = 3, .resolved = 3, .fewest_queries = 8, .most_queries = 8};
                  }}},
     .concluded = {.cured = true}},
    {.name = "where_all_are_found_nothing_is_reproduced",
     .changes = {{"*",
                  [](SplitAnswerValues& seen) {
                      seen.by_split = seen.by_nodata = 0;
                      seen.resolved = seen.lookups;
                  }}},
     .concluded = {.verdict = ScenarioVerdict::kNotReproduced}},
    // Traps.
    {.name = "lookups_that_fail_for_nothing_are_unexplained",
     .changes = {{kSplit,
                  [](SplitAnswerValues& seen) {
                      seen.by_split = 0;
                      seen.unexplained = 3;
                  }}},
     .concluded = nothing("for nothing that was seen", {}, 3)},
    {.name = "a_table_whose_plain_pairs_come_to_something_else_proves_nothing",
     .changes = {{"pairs.glibc",
                  [](SplitAnswerValues& seen) { seen.table[1].outcome = "EAI_NONAME"; }}},
     .concluded = {.says = {{"pairs.glibc", "nx for both came to EAI_NONAME"}},
                   .cells = {{"pairs.glibc", CellVerdict::kFail}}}},
    {.name = "without_musl_its_cells_are_skipped_and_the_rest_is_concluded",
     .changes = {{"*musl*",
                  [](SplitAnswerValues& seen) { seen = {.lacking = "install musl-tools"}; }}},
     .concluded = {.verdict = ScenarioVerdict::kReproduced,
                   .cells = {{"musl.empty-empty", CellVerdict::kSkip}},
                   .cured = true}},
    {.name = "an_agent_that_died_concludes_nothing",
     .changes = {{"control.nx-nx",
                  [](SplitAnswerValues& seen) { seen.objections = {"ended by signal 9"}; }}},
     .concluded = nothing("ended by signal 9")},
    {.name = "nothing_executed_concludes_nothing",
     .concluded = nothing("nothing was measured"),
     .without = "*"},
    {.name = "no_lookup_concludes_nothing",
     .changes = {{kSplit, [](SplitAnswerValues& seen) { seen = {}; }}},
     .concluded = nothing("no name was looked up"),
     .only = kSplit},
};

[[maybe_unused]] const bool kAdded =
    add_cases(split_answer_plan, as_usual_split, {kRows, other_causes()});

BOOST_AUTO_TEST_CASE(no_sentence_says_what_no_value_bears_out) {
    ten_thousand(
        {{"one answer was NXDOMAIN", {"by_split"}},
         {"were NOERROR without an address", {"by_nodata"}},
         {"the server refused", {"by_other"}},
         {"for nothing that was seen", {"unexplained", "other_pairs"}},
         {"the name was unknown for", {"failed_for"}}},
        [](Dice& dice) {
            std::vector<MeasuredSplitAnswerCell> cells;
            for (const SplitAnswerCell& what : split_answer_plan()) {
                SplitAnswerValues seen = as_usual_split(what);
                if (dice.one_in(12) && what.role != Role::kControl) {
                    seen = {.lookups = 3, .resolved = 3, .fewest_queries = 8, .most_queries = 8};
                }
                if (dice.one_in(60)) {
                    fails_for("refused")(seen);
                }
                if (dice.one_in(90)) {
                    seen.unexplained = dice.up_to(1);
                    seen.lookups += seen.unexplained;
                    seen.outcome = "EAI_NONAME";
                }
                if (dice.one_in(200)) {
                    seen.objections = {"ended by signal 9"};
                }
                if (!dice.one_in(9)) {
                    cells.push_back({.what = what, .seen = seen});
                }
            }
            return conclude(cells);
        });
}

BOOST_AUTO_TEST_SUITE_END()
