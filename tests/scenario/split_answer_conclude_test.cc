// Conclusions of split-answer from plain values.
#include <boost/test/unit_test.hpp>
#include <functional>

#include "harness/scenario/resolvers/split_answer.h"
#include "tests/scenario/path_conclusions.h"

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

verdict::ScenarioResult split_with(const std::string& id,
                                   const std::function<void(SplitAnswerValues&)>& change) {
    std::vector<MeasuredSplitAnswerCell> cells;
    for (const SplitAnswerCell& what : split_answer_plan()) {
        cells.push_back({.what = what, .seen = as_usual_split(what)});
        if (what.id == id || id == "*") {
            change(cells.back().seen);
        }
    }
    return conclude(cells);
}

const auto kAsBefore = [](SplitAnswerValues&) {};

// Lookups that fail, and no answer of the server's is why.
auto fails_for(const std::string& other) {
    return [other](SplitAnswerValues& seen) {
        seen.by_split = seen.by_nodata = seen.resolved = 0;
        seen.by_other = seen.lookups;
        seen.other = other;
        seen.outcome = "EAI_NONAME";
    };
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_resolvers_show_is_reproduced_named_and_cured) {
    const auto result = split_with("", kAsBefore);
    BOOST_TEST((result.verdict == ScenarioVerdict::kReproduced), result.headline);
    BOOST_TEST(result.cure_shown, result.cure);
    BOOST_TEST(contains(result.headline, "glibc.nx-cname: 3 of 3 failed with EAI_NONAME"),
               result.headline);
    BOOST_TEST(contains(result.headline, "musl.empty-empty: 3 of 3"), result.headline);
    BOOST_TEST(contains(result.cause, "A NXDOMAIN, AAAA NOERROR"), result.cause);
    BOOST_TEST(contains(result.cause, "expires 2.5 s before AAAA's"), result.cause);
    BOOST_TEST(
        contains(result.cure, "Seen not to help: single-request, single-request-reopen, use-vc"),
        result.cure);
    BOOST_TEST(cell(result, "glibc.nx-cname").cause == "split-answer");
    BOOST_TEST(cell(result, "musl.empty-empty").cause == "nodata-answer");
    BOOST_TEST((cell(result, "glibc.empty-empty").verdict == verdict::CellVerdict::kPass));
    BOOST_TEST((cell(result, "musl.nx-cname").verdict == verdict::CellVerdict::kPass));
    BOOST_TEST(result.before_cell == "glibc.nx-cname");
    BOOST_TEST(result.after_cell == "cure.trailing-dot");
    BOOST_REQUIRE(!result.proofs.empty());
    BOOST_TEST(result.proofs[0].columns.size() == 5U);
    BOOST_TEST(result.proofs[0].rows[2][2] == "EAI_NONAME after 0.0 s (2 queries)");
}

BOOST_AUTO_TEST_CASE(a_control_that_fails_proves_nothing) {
    for (const char* id : {"control.nx-nx", "control.musl.nx-nx"}) {
        inconclusive(split_with(id, [](SplitAnswerValues& seen) { end_search(seen, false); }), id);
    }
}

BOOST_AUTO_TEST_CASE(a_cure_that_fails_is_not_shown) {
    const auto result = split_with("cure.consistent-cache",
                                   [](SplitAnswerValues& seen) { end_search(seen, false); });
    BOOST_TEST((result.verdict == ScenarioVerdict::kReproduced));
    BOOST_TEST(!result.cure_shown);
    BOOST_TEST(contains(result.cure, "not shown: cure.consistent-cache"), result.cure);
    const auto gone = split_with("glibc.nx-cname.after-cure", [](SplitAnswerValues& seen) {
        seen = {.lookups = 3, .resolved = 3, .fewest_queries = 8, .most_queries = 8};
    });
    BOOST_TEST(gone.cure_shown);  // musl failed again
    const auto both = split_with("*", [](SplitAnswerValues& seen) {
        seen.by_split = seen.by_nodata = 0;
        seen.resolved = seen.lookups;
    });
    BOOST_TEST((both.verdict == ScenarioVerdict::kNotReproduced), both.headline);
    BOOST_TEST(both.cause.empty());
}

// Traps: the same symptom by another cause.
BOOST_AUTO_TEST_CASE(strangers_refusals_and_losses_are_not_given_this_cause) {
    for (const char* other : {"foreign-answer", "refused", "servfail", "query-lost", "answer-lost",
                              "late-answer", "no-answer"}) {
        const auto result = split_with("glibc.nx-cname", fails_for(other));
        inconclusive(result, "glibc.nx-cname");
        BOOST_TEST(cell(result, "glibc.nx-cname").cause == other);
        const auto mixed = split_with("glibc.nx-cname", [&](SplitAnswerValues& seen) {
            seen.by_split = 2;
            seen.by_other = 1;
            seen.other = other;
        });
        inconclusive(mixed, "glibc.nx-cname");
        BOOST_TEST(cell(mixed, "glibc.nx-cname").cause == std::string("split-answer+") + other);
    }
}

BOOST_AUTO_TEST_CASE(lookups_that_fail_for_nothing_are_unexplained) {
    const auto result = split_with("glibc.nx-cname", [](SplitAnswerValues& seen) {
        seen.by_split = 0;
        seen.unexplained = 3;
    });
    inconclusive(result, "for nothing that was seen");
    BOOST_TEST(result.unexplained == 3U);
}

BOOST_AUTO_TEST_CASE(a_table_whose_plain_pairs_come_to_something_else_proves_nothing) {
    const auto result = split_with(
        "pairs.glibc", [](SplitAnswerValues& seen) { seen.table[1].outcome = "EAI_NONAME"; });
    BOOST_TEST((cell(result, "pairs.glibc").verdict == verdict::CellVerdict::kFail));
    BOOST_TEST(contains(cell(result, "pairs.glibc").reason, "nx for both came to EAI_NONAME"));
}

BOOST_AUTO_TEST_CASE(without_musl_its_cells_are_skipped_and_the_rest_is_concluded) {
    std::vector<MeasuredSplitAnswerCell> cells;
    for (const SplitAnswerCell& what : split_answer_plan()) {
        cells.push_back({.what = what, .seen = as_usual_split(what)});
        if (what.who == resolver::Kind::kMusl) {
            cells.back().seen = {.lacking = "install musl-tools"};
        }
    }
    const auto result = conclude(cells);
    BOOST_TEST((result.verdict == ScenarioVerdict::kReproduced), result.headline);
    BOOST_TEST(result.cure_shown, result.cure);
    BOOST_TEST((cell(result, "musl.empty-empty").verdict == verdict::CellVerdict::kSkip));
}

BOOST_AUTO_TEST_CASE(an_agent_that_died_and_nothing_executed_conclude_nothing) {
    inconclusive(
        split_with("control.nx-nx",
                   [](SplitAnswerValues& seen) { seen.objections = {"ended by signal 9"}; }),
        "ended by signal 9");
    inconclusive(conclude(std::vector<MeasuredSplitAnswerCell>{}), "nothing was measured");
    inconclusive(conclude({{.what = split_answer_plan()[0]}}), "no name was looked up");
}

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
