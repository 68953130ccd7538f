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

Profile expecting(Expectation expect, const VersionRange& kernel) {
    Profile profile = expecting(expect);
    profile.offloads[0].kernel = kernel;
    return profile;
}

Kind judged(const Profile& profile, const std::vector<Feature>& features,
            const Running& running = {}) {
    const auto findings = compare(profile, features, running);
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

BOOST_AUTO_TEST_CASE(a_broken_feature_is_told_while_it_is_on_and_its_repair_is_missing) {
    const VersionRange range{.fixed_in = Version{6, 6, 0}, .backports = {{6, 1, 56}}};
    const Profile profile = expecting(Expectation::kBroken, range);
    BOOST_TEST((judged(profile, {kOn}, {.kernel = "6.1.20"}) == Kind::kBroken));
    BOOST_TEST((judged(profile, {kOff}, {.kernel = "6.1.20"}) == Kind::kAsExpected));
    BOOST_TEST((judged(profile, {kOn}, {.kernel = "6.1.56"}) == Kind::kExpired));
    BOOST_TEST((judged(profile, {kOn}, {.kernel = "6.18.44-fc"}) == Kind::kExpired));
    BOOST_TEST((judged(profile, {kOn}) == Kind::kMaybeBroken));
    BOOST_TEST(!agrees(compare(profile, {kOn}, {.kernel = "6.1.20"})));
    BOOST_TEST(agrees(compare(profile, {kOn}, {.kernel = "6.6"})));
    Profile some = profile;
    some.offloads[0].when = "one chip of the family";
    BOOST_TEST((judged(some, {kOn}, {.kernel = "6.1.20"}) == Kind::kMaybeBroken));
}

BOOST_AUTO_TEST_CASE(a_claim_for_other_versions_or_devices_is_not_held_against_this_one) {
    const VersionRange since{.from = Version{6, 1, 0}};
    const Profile profile = expecting(Expectation::kRequired, since);
    BOOST_TEST((judged(profile, {kOffFixed}, {.kernel = "5.10.3"}) == Kind::kNotJudged));
    BOOST_TEST((judged(profile, {kOffFixed}, {.kernel = "6.1.0"}) == Kind::kMissing));
    BOOST_TEST((judged(profile, {kOffFixed}) == Kind::kMissing));
    Profile some = expecting(Expectation::kAbsent);
    some.offloads[0].when = "one chip of the family";
    BOOST_TEST((judged(some, {kOn}) == Kind::kNotJudged));
    BOOST_TEST(agrees(compare(some, {kOn})));
}

BOOST_AUTO_TEST_CASE(a_dpdk_port_is_compared_by_the_names_of_its_offloads) {
    Profile profile{.id = "p"};
    profile.dpdk_tx = {{"TCP_TSO", Expectation::kRequired},
                       {"OUTER_UDP_CKSUM", Expectation::kBroken}};
    profile.dpdk_tx[1].dpdk = {.fixed_in = Version{24, 7, 0}, .backports = {{22, 11, 6}}};
    profile.dpdk_rx = {{"TCP_LRO", Expectation::kAbsent}};
    const auto findings =
        compare_dpdk(profile, {"OUTER_UDP_CKSUM", "SCTP_CKSUM"}, {"TCP_LRO"}, {.dpdk = "22.11.3"});
    BOOST_REQUIRE(findings.size() == 4);
    BOOST_TEST(findings[0].feature == "tx TCP_TSO");
    BOOST_TEST((findings[0].kind == Kind::kMissing));
    BOOST_TEST((findings[1].kind == Kind::kBroken));
    BOOST_TEST(findings[2].feature == "tx SCTP_CKSUM");
    BOOST_TEST((findings[2].kind == Kind::kUnlisted));
    BOOST_TEST(findings[3].feature == "rx TCP_LRO");
    BOOST_TEST((findings[3].kind == Kind::kUnexpected));
    BOOST_TEST((compare_dpdk(profile, {"OUTER_UDP_CKSUM"}, {}, {.dpdk = "22.11.11"})[1].kind ==
                Kind::kExpired));
}

BOOST_AUTO_TEST_CASE(a_limit_that_was_not_read_is_said_so) {
    const std::vector<Limit> limits{{LimitKind::kMaxMtu, 9702}, {LimitKind::kRxQueues, 8}};
    const auto findings = compare_limits(limits, {{LimitKind::kMaxMtu, 9000}});
    BOOST_REQUIRE(findings.size() == 2);
    BOOST_TEST((findings[0].kind == Kind::kOtherLimit));
    BOOST_TEST(findings[0].expected == "9702");
    BOOST_TEST(findings[0].found == "9000");
    BOOST_TEST((findings[1].kind == Kind::kNotJudged));
    BOOST_TEST(findings[1].found == "not read");
    BOOST_TEST(agrees(findings));
}

BOOST_AUTO_TEST_CASE(quirks_expire_with_the_version_that_ends_them) {
    const Quirk quirk{.what = "w",
                      .kernel = {.from = Version{5, 4, 0}, .fixed_in = Version{5, 7, 0}}};
    BOOST_TEST((state_of(quirk, {.kernel = "5.5.1"}) == QuirkState::kInForce));
    BOOST_TEST((state_of(quirk, {.kernel = "5.7.0"}) == QuirkState::kExpired));
    BOOST_TEST((state_of(quirk, {.kernel = "5.3"}) == QuirkState::kNotYet));
    BOOST_TEST((state_of(quirk, {}) == QuirkState::kUnknown));
    BOOST_TEST((state_of({.what = "always"}, {}) == QuirkState::kInForce));
    const Quirk of_dpdk{.what = "d", .dpdk = {.fixed_in = Version{21, 8, 0}}};
    BOOST_TEST((state_of(of_dpdk, {.kernel = "6.1", .dpdk = "22.11.11"}) == QuirkState::kExpired));
}
