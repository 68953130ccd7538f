#include "harness/bench/line_rate.h"

#include <boost/test/unit_test.hpp>

using namespace pathproof::bench;
namespace tt = boost::test_tools;

BOOST_AUTO_TEST_SUITE(line_rate)

// RFC 2544 and everyone since: 14.88 Mpps of 64-byte frames on 10 GbE.
BOOST_AUTO_TEST_CASE(frames_a_second_are_those_of_the_standard) {
    BOOST_TEST(line_rate_pps(10, 64) == 14'880'952.38, tt::tolerance(1e-9));
    BOOST_TEST(line_rate_pps(10, 1518) == 812'743.82, tt::tolerance(1e-8));
    BOOST_TEST(line_rate_pps(100, 64) == 148'809'523.81, tt::tolerance(1e-9));
    BOOST_TEST(line_rate_pps(25, 256) == 11'322'463.77, tt::tolerance(1e-9));
    BOOST_TEST(line_rate_pps(40, 9018) == 553'219.74, tt::tolerance(1e-8));
}

BOOST_AUTO_TEST_CASE(cores_are_whole_and_enough) {
    BOOST_TEST(cores_for(10, 64, 30e6) == 1U);
    BOOST_TEST(cores_for(100, 64, 30e6) == 5U);               // 148.8 / 30 = 4.96
    BOOST_TEST(cores_for(100, 64, 148'809'523.0 / 4) == 5U);  // a little less than a quarter each
    BOOST_TEST(cores_for(10, 64, 14'880'953) == 1U);
    BOOST_TEST(cores_for(10, 64, 0) == 0U);
}

BOOST_AUTO_TEST_CASE(the_table_has_a_row_for_each_size_and_says_that_it_was_computed) {
    const Table table = line_rate_table({{64, 30e6}, {1518, 10e6}});
    BOOST_TEST(table.title.find("computed") != std::string::npos);
    BOOST_REQUIRE(table.rows.size() == 2U);
    const std::vector<std::string> first{"64",        "30.0",      "1 (14.88)",
                                         "2 (37.20)", "2 (59.52)", "5 (148.81)"};
    BOOST_TEST(table.rows[0] == first, tt::per_element());
    BOOST_TEST(table.heads.size() == first.size());
    BOOST_TEST(table.rows[1][5] == "1 (8.13)");
}

BOOST_AUTO_TEST_SUITE_END()
