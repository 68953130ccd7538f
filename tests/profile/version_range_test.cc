#include "harness/profile/version_range.h"

#include <boost/test/unit_test.hpp>

using namespace pathproof::profile;

BOOST_AUTO_TEST_CASE(versions_are_read_from_what_kernels_and_dpdk_say) {
    BOOST_TEST((parse_version("6.18.44-fc-v595") == Version{6, 18, 44}));
    BOOST_TEST((parse_version("6.1.0-13-amd64") == Version{6, 1, 0}));
    BOOST_TEST((parse_version("5.7") == Version{5, 7, 0}));
    BOOST_TEST((parse_version("5.7-rc1") == Version{5, 7, 0}));
    BOOST_TEST((parse_version("24.07") == Version{24, 7, 0}));
    BOOST_TEST(!parse_version(""));
    BOOST_TEST(!parse_version("6"));
    BOOST_TEST(!parse_version("six.one"));
    BOOST_TEST(!parse_version(".1"));
    BOOST_TEST(!parse_version("99999999999.1"));
}

BOOST_AUTO_TEST_CASE(versions_are_written_as_their_projects_do) {
    BOOST_TEST(to_text(Version{5, 7, 0}) == "5.7");
    BOOST_TEST(to_text(Version{5, 4, 41}) == "5.4.41");
    BOOST_TEST(to_text(Version{24, 7, 0}) == "24.07");
    BOOST_TEST(to_text(Version{22, 11, 6}) == "22.11.6");
}

BOOST_AUTO_TEST_CASE(a_range_ends_before_its_repair_and_in_each_series_that_got_it) {
    const VersionRange range{.from = Version{4, 4, 0},
                             .fixed_in = Version{5, 7, 0},
                             .backports = {{5, 4, 41}, {4, 19, 123}}};
    BOOST_TEST(range.contains({5, 6, 0}));
    BOOST_TEST(!range.contains({5, 7, 0}));
    BOOST_TEST(!range.contains({6, 1, 0}));
    BOOST_TEST(range.contains({4, 4, 0}));
    BOOST_TEST(!range.contains({4, 3, 9}));
    BOOST_TEST(range.contains({5, 4, 40}));
    BOOST_TEST(!range.contains({5, 4, 41}));
    BOOST_TEST(!range.contains({4, 19, 200}));
    BOOST_TEST(range.contains({4, 20, 0}));
    BOOST_TEST(VersionRange{}.contains({1, 0, 0}));
}

BOOST_AUTO_TEST_CASE(ranges_are_written_for_people) {
    BOOST_TEST(to_text(VersionRange{}) == "all versions");
    BOOST_TEST(to_text(VersionRange{.from = Version{5, 1, 0}}) == "from 5.1");
    BOOST_TEST(to_text(VersionRange{.fixed_in = Version{5, 7, 0}, .backports = {{5, 4, 41}}}) ==
               "before 5.7 (mended in 5.4.41 too)");
}
