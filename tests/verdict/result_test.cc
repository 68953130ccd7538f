#define BOOST_TEST_MODULE verdict
#include "harness/verdict/result.h"

#include <boost/test/unit_test.hpp>
#include <string>

using namespace pathproof::verdict;

BOOST_AUTO_TEST_CASE(verdicts_have_the_names_that_scripts_read) {
    BOOST_TEST(std::string(name(CellVerdict::kPass)) == "PASS");
    BOOST_TEST(std::string(name(CellVerdict::kFail)) == "FAIL");
    BOOST_TEST(std::string(name(CellVerdict::kError)) == "ERROR");
    BOOST_TEST(std::string(name(CellVerdict::kSkip)) == "SKIP");
    BOOST_TEST(std::string(name(CellVerdict::kInconclusive)) == "INCONCLUSIVE");
    BOOST_TEST(std::string(name(ScenarioVerdict::kReproduced)) == "REPRODUCED");
    BOOST_TEST(std::string(name(ScenarioVerdict::kExposed)) == "EXPOSED");
    BOOST_TEST(std::string(name(ScenarioVerdict::kNotReproduced)) == "NOT REPRODUCED");
    BOOST_TEST(std::string(name(ScenarioVerdict::kDefectFound)) == "DEFECT FOUND");
    BOOST_TEST(std::string(name(ScenarioVerdict::kNoDefectFound)) == "NO DEFECT FOUND");
    BOOST_TEST(std::string(name(ScenarioVerdict::kInconclusive)) == "INCONCLUSIVE");
    BOOST_TEST(std::string(name(RunVerdict::kQualified)) == "QUALIFIED");
    BOOST_TEST(std::string(name(RunVerdict::kConditionallyQualified)) == "CONDITIONALLY QUALIFIED");
    BOOST_TEST(std::string(name(RunVerdict::kNotQualified)) == "NOT QUALIFIED");
    BOOST_TEST(std::string(name(RunVerdict::kIncomplete)) == "INCOMPLETE");
}

BOOST_AUTO_TEST_CASE(exit_codes_follow_the_contract) {
    BOOST_TEST(exit_code(RunVerdict::kQualified) == 0);
    BOOST_TEST(exit_code(RunVerdict::kConditionallyQualified) == 0);
    BOOST_TEST(exit_code(RunVerdict::kNotQualified) == 1);
    BOOST_TEST(exit_code(RunVerdict::kIncomplete) == 3);
}
