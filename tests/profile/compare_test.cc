#include "harness/profile/compare.h"

#include <boost/test/unit_test.hpp>

using namespace pathproof::profile;
using pathproof::agent::Feature;
using Kind = Finding::Kind;

namespace {

constexpr const char* kName = "tx-checksum-ip-generic";

const Feature kOn{kName, true, true, true, false};
const Feature kOff{kName, false, false, true, false};
const Feature kOnFixed{kName, true, true, false, false};
const Feature kOffFixed{kName, false, false, false, false};
const Feature kNeverChanged{kName, false, false, true, true};

Profile expecting(Expectation expect, std::optional<bool> on_by_default = {}) {
    return {.id = "p", .offloads = {{kName, expect, on_by_default, "because"}}};
}

Kind judged(const Profile& profile, const std::vector<Feature>& features) {
    const auto findings = compare(profile, features);
    BOOST_REQUIRE(!findings.empty());
    return findings.front().kind;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_required_feature_is_there_if_it_is_on_or_can_be_turned_on) {
    const Profile profile = expecting(Expectation::kRequired);
    BOOST_TEST((judged(profile, {kOn}) == Kind::kAsExpected));
    BOOST_TEST((judged(profile, {kOff}) == Kind::kAsExpected));
    BOOST_TEST((judged(profile, {kOnFixed}) == Kind::kAsExpected));
    BOOST_TEST((judged(profile, {kOffFixed}) == Kind::kMissing));
    BOOST_TEST((judged(profile, {kNeverChanged}) == Kind::kMissing));
    BOOST_TEST((judged(profile, {}) == Kind::kMissing));
}

BOOST_AUTO_TEST_CASE(an_absent_feature_must_not_be_offered) {
    const Profile profile = expecting(Expectation::kAbsent);
    BOOST_TEST((judged(profile, {kOn}) == Kind::kUnexpected));
    BOOST_TEST((judged(profile, {kOff}) == Kind::kUnexpected));
    BOOST_TEST((judged(profile, {kOffFixed}) == Kind::kAsExpected));
    BOOST_TEST((judged(profile, {}) == Kind::kAsExpected));
}

BOOST_AUTO_TEST_CASE(another_default_and_an_unlisted_feature_are_notes) {
    const Profile profile = expecting(Expectation::kOptional, true);
    BOOST_TEST((judged(profile, {kOn}) == Kind::kAsExpected));
    BOOST_TEST((judged(profile, {kOff}) == Kind::kOtherDefault));
    BOOST_TEST((judged(profile, {kOffFixed}) == Kind::kAsExpected));
    const auto findings = compare(profile, {kOff, {"rx-gro", true, true, true, false}, {"rx-lro"}});
    BOOST_REQUIRE(findings.size() == 2);
    BOOST_TEST((findings[1].kind == Kind::kUnlisted));
    BOOST_TEST(findings[1].feature == "rx-gro");
    BOOST_TEST(agrees(findings));
}

BOOST_AUTO_TEST_CASE(missing_and_unexpected_features_disagree) {
    BOOST_TEST(!agrees(compare(expecting(Expectation::kRequired), {kOffFixed})));
    BOOST_TEST(!agrees(compare(expecting(Expectation::kAbsent), {kOn})));
    BOOST_TEST(agrees(compare(expecting(Expectation::kRequired), {kOn})));
}

BOOST_AUTO_TEST_CASE(a_finding_says_what_was_expected_and_what_is_there) {
    const auto findings = compare(expecting(Expectation::kRequired, true), {kOffFixed});
    BOOST_TEST(findings[0].expected == "required, on by default");
    BOOST_TEST(findings[0].found == "off [fixed]");
    BOOST_TEST(findings[0].why == "because");
    BOOST_TEST(compare(expecting(Expectation::kRequired), {})[0].found ==
               "not known to this kernel");
}
