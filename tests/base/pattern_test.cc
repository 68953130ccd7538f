#include "dataplane/base/pattern.h"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(pattern)

using pathproof::Pattern;

BOOST_AUTO_TEST_CASE(the_first_match_comes_with_its_groups) {
    const auto found = Pattern("([0-9]+) of ([0-9]+)( frames)?").search("all: 3 of 40, 5 of 6");
    BOOST_REQUIRE(found);
    BOOST_TEST(*found == (Pattern::Match{"3 of 40", "3", "40", ""}),
               boost::test_tools::per_element());
    BOOST_TEST(!Pattern("[0-9]").search("none").has_value());
}

BOOST_AUTO_TEST_CASE(matches_do_not_overlap_and_what_stands_before_each_counts) {
    const auto all = Pattern("\\b[0-9]+").search_all("1 a2 34\n5");
    BOOST_REQUIRE(all.size() == 3u);
    BOOST_TEST(all[0][0] + all[1][0] + all[2][0] == "1345");
    BOOST_TEST(Pattern("^.").search_all("ab\ncd").size() == 2u);
    BOOST_TEST(Pattern("aa").search_all("aaaaa").size() == 2u);
}

BOOST_AUTO_TEST_CASE(each_match_is_replaced_and_an_empty_one_ends) {
    BOOST_TEST(Pattern("veth[0-9a-f]+").replace("vethab up, veth12", "veth*") == "veth* up, veth*");
    BOOST_TEST(Pattern("x").replace("", "y") == "");
    BOOST_TEST(Pattern("x*").search_all("ab").size() == 3u);
}

BOOST_AUTO_TEST_SUITE_END()
