#include "harness/agent/feature_names.h"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(feature_names)

using namespace pathproof;
using namespace pathproof::agent;

namespace {

// Bits 2 and 6 have no name, as in the kernel's table.
const std::vector<std::string> kNames{"tx-scatter-gather",
                                      "tx-checksum-ipv4",
                                      "",
                                      "tx-checksum-ip-generic",
                                      "tx-checksum-sctp",
                                      "tx-scatter-gather-fraglist",
                                      "",
                                      "tx-tcp-segmentation",
                                      "tx-tcp-ecn-segmentation",
                                      "tx-tcp6-segmentation",
                                      "tx-udp_tnl-segmentation",
                                      "rx-checksum",
                                      "rx-gro",
                                      "rx-gro-hw",
                                      "tx-generic-segmentation",
                                      "rx-vlan-hw-parse",
                                      "rx-hashing"};

std::vector<std::string> expanded(const std::string& word) {
    const auto requests = expand_features(kNames, {{word, false}});
    BOOST_REQUIRE_MESSAGE(requests, requests.error().message);
    std::vector<std::string> names;
    for (const FeatureRequest& request : *requests) {
        names.push_back(kNames[request.index]);
    }
    return names;
}

using Names = std::vector<std::string>;

}  // namespace

BOOST_AUTO_TEST_CASE(group_words_stand_for_the_features_that_ethtool_sets) {
    BOOST_TEST(
        expanded("tx") == (Names{"tx-checksum-ipv4", "tx-checksum-ip-generic", "tx-checksum-sctp"}),
        boost::test_tools::per_element());
    BOOST_TEST(expanded("tx-checksumming") == expanded("tx"), boost::test_tools::per_element());
    BOOST_TEST(expanded("sg") == (Names{"tx-scatter-gather", "tx-scatter-gather-fraglist"}),
               boost::test_tools::per_element());
    BOOST_TEST(expanded("tso") == (Names{"tx-tcp-segmentation", "tx-tcp-ecn-segmentation",
                                         "tx-tcp6-segmentation"}),
               boost::test_tools::per_element());
    BOOST_TEST(expanded("rx") == Names{"rx-checksum"}, boost::test_tools::per_element());
    BOOST_TEST(expanded("gso") == Names{"tx-generic-segmentation"},
               boost::test_tools::per_element());
    BOOST_TEST(expanded("rxvlan") == Names{"rx-vlan-hw-parse"}, boost::test_tools::per_element());
    BOOST_TEST(expanded("receive-hashing") == Names{"rx-hashing"},
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_group_does_not_reach_beyond_its_pattern) {
    BOOST_TEST(expanded("gro") == Names{"rx-gro"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_single_name_is_itself_and_says_so) {
    const auto requests = expand_features(kNames, {{"rx-gro-hw", true}});
    BOOST_REQUIRE(requests);
    BOOST_TEST((requests->front() ==
                FeatureRequest{13, true, FeatureRequest::Origin::kSingle, "rx-gro-hw"}));
}

BOOST_AUTO_TEST_CASE(of_two_wishes_for_one_feature_the_later_counts) {
    const auto requests = expand_features(kNames, {{"tx", false}, {"tx-checksum-sctp", true}});
    BOOST_REQUIRE(requests);
    BOOST_TEST(requests->size() == 3U);
    BOOST_TEST(!(*requests)[0].on);
    BOOST_TEST((*requests)[2].on);
    BOOST_TEST(((*requests)[2].origin == FeatureRequest::Origin::kSingle));
}

BOOST_AUTO_TEST_CASE(an_unknown_name_is_refused_with_what_was_meant) {
    const auto requests =
        expand_features(kNames, {{"rx", false}, {"tx-checksum-ip-genric", false}});
    BOOST_REQUIRE(!requests);
    BOOST_TEST((requests.error().code == ErrorCode::kNotFound));
    BOOST_TEST(requests.error().message ==
               "there is no offload feature 'tx-checksum-ip-genric'; did you mean "
               "tx-checksum-ip-generic?");
    const auto strange = expand_features(kNames, {{"zzzzzz", false}});
    BOOST_REQUIRE(!strange);
    BOOST_TEST(strange.error().message == "there is no offload feature 'zzzzzz'");
    BOOST_TEST(!expand_features(kNames, {{"", true}}));
}

BOOST_AUTO_TEST_CASE(a_group_that_the_kernel_lacks_is_not_supported) {
    const auto requests = expand_features(kNames, {{"ntuple", true}});
    BOOST_REQUIRE(!requests);
    BOOST_TEST((requests.error().code == ErrorCode::kNotSupported));
    BOOST_TEST(requests.error().message.find("'ntuple'") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
