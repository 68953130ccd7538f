#include "dataplane/base/suggestion.h"

#include <boost/test/unit_test.hpp>

using namespace pathproof;

using Names = std::vector<std::string>;

BOOST_AUTO_TEST_SUITE(suggestion)

BOOST_AUTO_TEST_CASE(close_matches_come_nearest_first_and_are_few) {
    const auto close =
        close_matches("eth1", {"lo", "eth0", "eth10", "vxlan.calico", "eth11", "eth12"});
    BOOST_TEST(close.size() == 3U);
    BOOST_TEST(close_matches("vx", {"lo", "vxlan.calico"}) == Names{"vxlan.calico"},
               boost::test_tools::per_element());
    BOOST_TEST(did_you_mean("a", {"a1", "a2", "b"}) == "; did you mean a1 or a2?");
}

BOOST_AUTO_TEST_CASE(two_letters_that_changed_places_are_one_mistake) {
    BOOST_TEST(did_you_mean("--onyl", {"--only", "--out"}) == "; did you mean --only?");
    BOOST_TEST(did_you_mean("ab", {"ba"}) == "; did you mean ba?");
    BOOST_TEST(did_you_mean("qualfiy", {"qualify", "repro"}) == "; did you mean qualify?");
}

BOOST_AUTO_TEST_CASE(nothing_is_suggested_for_a_word_that_resembles_none) {
    BOOST_TEST(did_you_mean("--frobnicate", {"--only", "--out"}) == "");
    BOOST_TEST(did_you_mean("", {"--only"}) == "");
}

BOOST_AUTO_TEST_CASE(an_unknown_word_is_told_with_the_words_that_there_are) {
    BOOST_TEST(choices("wacth", {"dump", "watch"}) ==
               "; did you mean watch? There are: dump, watch");
    BOOST_TEST(choices("foo", {"dump", "watch"}) == "; there are: dump, watch");
}

BOOST_AUTO_TEST_SUITE_END()
