#include "harness/acceptance/requirements.h"

#include <boost/test/unit_test.hpp>

#include "tests/contains.h"

using namespace pathproof;
using namespace pathproof::acceptance;
using test::contains;
using verdict::CellVerdict;
using verdict::ScenarioResult;

namespace {

const std::string kTop = "schema = \"pathproof-requirements/1\"\nplan = \"Rack 3, rev 2\"\n";

std::string clause(const std::string& name, const std::string& cells) {
    return "[[requirement]]\nclause = \"" + name + "\"\ncells = " + cells + "\n";
}

Requirements requirements_of(const std::string& text) {
    const auto read = parse_requirements(text, "plan.toml");
    BOOST_REQUIRE_MESSAGE(read.has_value(), (read ? std::string() : read.error().message));
    return *read;
}

ScenarioResult measured() {
    ScenarioResult result{.id = "offload-truth"};
    result.cells = {{.id = "tx.udp", .verdict = CellVerdict::kPass},
                    {.id = "tx.tcp", .verdict = CellVerdict::kPass},
                    {.id = "rx.udp", .verdict = CellVerdict::kFail, .reason = "wrong"},
                    {.id = "rx.tcp", .verdict = CellVerdict::kSkip, .reason = "no such offload"}};
    return result;
}

CellVerdict state_of(const std::string& cells) {
    const auto judged = judge(requirements_of(kTop + clause("1", cells)), {measured()});
    BOOST_REQUIRE(judged.cells.size() == 1);
    return judged.cells.front().verdict;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(requirements)

BOOST_AUTO_TEST_CASE(a_clause_is_met_by_every_cell_that_it_names) {
    BOOST_TEST((state_of("[\"offload-truth/tx.*\"]") == CellVerdict::kPass));
    BOOST_TEST(
        (state_of("[\"offload-truth/tx.*\", \"offload-truth/rx.udp\"]") == CellVerdict::kFail));
}

BOOST_AUTO_TEST_CASE(a_pattern_without_a_measured_cell_leaves_its_clause_untested) {
    BOOST_TEST((state_of("[\"offload-truth/rx.tcp\"]") == CellVerdict::kSkip));
    BOOST_TEST(
        (state_of("[\"offload-truth/tx.*\", \"offload-truth/rx.tcp\"]") == CellVerdict::kSkip));
    BOOST_TEST((state_of("[\"performance/*\"]") == CellVerdict::kSkip));
}

BOOST_AUTO_TEST_CASE(the_matrix_has_a_row_for_each_clause) {
    const auto judged = judge(requirements_of(kTop + clause("1", "[\"offload-truth/tx.*\"]") +
                                              clause("2", "[\"offload-truth/rx.udp\"]") +
                                              clause("3 b", "[\"offload-truth/rx.tcp\"]")),
                              {measured()});
    BOOST_REQUIRE(judged.proofs.size() == 1);
    const auto& rows = judged.proofs.front().rows;
    BOOST_REQUIRE(rows.size() == 3);
    BOOST_TEST(rows[0][2] == "met");
    BOOST_TEST(rows[0][3] == "offload-truth/tx.udp, offload-truth/tx.tcp");
    BOOST_TEST(rows[1][2] == "not met");
    BOOST_TEST(rows[1][4] == "offload-truth/rx.udp");
    BOOST_TEST(rows[2][2] == "not tested");
    BOOST_TEST(contains(rows[2][5], "no such offload"));
    BOOST_TEST(judged.cells[2].id == "3-b");
    BOOST_TEST(judged.headline == "1 of 3 clauses met, 1 not met, 1 not tested");
}

BOOST_AUTO_TEST_CASE(unknown_names_are_refused) {
    const std::vector<KnownScenario> known = {{.id = "offload-truth", .cells = {}, .figures = {}},
                                              {.id = "dns-race", .cells = {"a.b"}, .figures = {}}};
    const auto refusal = [&](const std::string& cells) {
        const Status status = check(requirements_of(kTop + clause("7", cells)), known, nullptr);
        BOOST_REQUIRE(!status);
        BOOST_TEST((status.error().code == ErrorCode::kBadInput));
        return status.error().message;
    };
    BOOST_TEST(
        contains(refusal("[\"dns-rice/a.b\"]"), "plan.toml:3: clause 7: there is no scenario"));
    BOOST_TEST(contains(refusal("[\"dns-race/a.c\"]"), "no cell of dns-race matches 'a.c'"));
    BOOST_TEST(contains(refusal("[\"limits/*\"]"), "add --limits FILE"));
    const Limits some;
    BOOST_TEST(check(requirements_of(kTop + clause("7", "[\"limits/*\", \"offload-truth/x\"]")),
                     known, &some)
                   .has_value());
}

BOOST_AUTO_TEST_CASE(a_bad_file_is_refused) {
    const auto refusal = [](const std::string& text) {
        const auto read = parse_requirements(text, "plan.toml");
        BOOST_REQUIRE(!read);
        return read.error().message;
    };
    BOOST_TEST(contains(refusal("plan = \"x\"\n"), "'schema' is missing"));
    BOOST_TEST(contains(refusal(kTop), "no [[requirement]]"));
    BOOST_TEST(contains(refusal(kTop + clause("1", "[\"tx\"]")), "SCENARIO/CELL"));
    BOOST_TEST(contains(refusal(kTop + clause("1", "[\"a/b\"]") + clause("1", "[\"a/b\"]")),
                        "there already"));
}

BOOST_AUTO_TEST_SUITE_END()
