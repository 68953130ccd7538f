#include "dataplane/search/goal.h"

#include <boost/test/unit_test.hpp>

using namespace pathproof;
using namespace pathproof::search;

BOOST_AUTO_TEST_CASE(presets_are_as_their_sources_have_them) {
    const Goal rfc2544 = preset("rfc2544").value();
    BOOST_TEST(rfc2544.criteria.loss_ratio == 0);
    BOOST_TEST(rfc2544.criteria.exceed_ratio == 0);
    BOOST_TEST(seconds(rfc2544.criteria.trial_duration) == 60);
    BOOST_TEST(seconds(rfc2544.criteria.duration_sum) == 60);
    const Goal tst009 = preset("tst009").value();
    BOOST_TEST(tst009.criteria.exceed_ratio == 0.5);
    BOOST_TEST(seconds(tst009.criteria.trial_duration) == 60);
    BOOST_TEST(seconds(tst009.criteria.duration_sum) == 120);
    const Goal ndr = preset("ndr").value();
    BOOST_TEST(ndr.criteria.loss_ratio == 0);
    BOOST_TEST(ndr.criteria.exceed_ratio == 0.5);
    BOOST_TEST(seconds(ndr.criteria.trial_duration) == 1);
    BOOST_TEST(seconds(ndr.criteria.duration_sum) == 21);
    BOOST_TEST(ndr.relative_width == 0.005);
    BOOST_TEST(preset("pdr").value().criteria.loss_ratio == 0.005);
}

BOOST_AUTO_TEST_CASE(every_preset_is_a_valid_goal_of_its_name) {
    for (const char* const each : {"rfc2544", "tst009", "ndr", "pdr"}) {
        const Goal goal = preset(each).value();
        BOOST_TEST(goal.name == each);
        BOOST_TEST(check(goal).has_value());
    }
}

BOOST_AUTO_TEST_CASE(an_unknown_preset_is_refused_with_those_there_are) {
    const auto unknown = preset("mrr");
    BOOST_REQUIRE(!unknown);
    BOOST_TEST((unknown.error().code == ErrorCode::kBadInput));
    BOOST_TEST(unknown.error().message.find("'mrr'") != std::string::npos);
    for (const char* const each : {"rfc2544", "tst009", "ndr", "pdr"}) {
        BOOST_TEST(unknown.error().message.find(each) != std::string::npos);
    }
}

BOOST_AUTO_TEST_CASE(attributes_outside_of_what_the_rfc_allows_are_refused_by_name) {
    const auto refused = [](auto change, const std::string& word) {
        Goal goal = preset("ndr").value();
        change(goal);
        const Status status = check(goal);
        return !status && status.error().message.find("ndr") != std::string::npos &&
               status.error().message.find(word) != std::string::npos;
    };
    BOOST_TEST(refused([](Goal& g) { g.criteria.loss_ratio = 1; }, "loss ratio"));
    BOOST_TEST(refused([](Goal& g) { g.criteria.loss_ratio = -0.1; }, "loss ratio"));
    BOOST_TEST(refused([](Goal& g) { g.criteria.exceed_ratio = 1; }, "exceed ratio"));
    BOOST_TEST(refused([](Goal& g) { g.relative_width = 0; }, "width"));
    BOOST_TEST(refused([](Goal& g) { g.relative_width = 1; }, "width"));
    BOOST_TEST(refused([](Goal& g) { g.initial_trial_duration = {}; }, "initial"));
    BOOST_TEST(refused([](Goal& g) { g.initial_trial_duration = std::chrono::seconds(2); },
                       "final trial duration"));
    BOOST_TEST(refused([](Goal& g) { g.criteria.duration_sum = std::chrono::milliseconds(999); },
                       "duration sum"));
    BOOST_TEST(refused([](Goal& g) { g.expansion = 1; }, "expansion"));
}
