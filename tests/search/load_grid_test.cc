#include "dataplane/search/load_grid.h"

#include <array>
#include <boost/test/unit_test.hpp>
#include <vector>

using namespace pathproof::search;
namespace tt = boost::test_tools;

BOOST_AUTO_TEST_CASE(the_grid_runs_from_the_least_load_to_the_greatest) {
    const std::array widths = {0.005};
    const LoadGrid grid(1'000, 148.8e6, widths);
    BOOST_TEST(grid.pps(0) == 1'000);
    BOOST_TEST(grid.pps(grid.top()) == 148.8e6);
    BOOST_TEST(grid.pps(-1) == 1'000);
    BOOST_TEST(grid.pps(grid.top() + 1) == 148.8e6);
}

BOOST_AUTO_TEST_CASE(a_load_of_the_grid_is_found_again_at_every_step) {
    const std::array widths = {0.005, 0.03};
    const LoadGrid grid(1'000, 2e6, widths);
    for (int step = 0; step <= grid.top(); ++step) {
        BOOST_REQUIRE_EQUAL(grid.floor(grid.pps(step)), step);
    }
}

BOOST_AUTO_TEST_CASE(a_load_between_two_steps_is_rounded_down) {
    const std::array widths = {0.005};
    const LoadGrid grid(1'000, 2e6, widths);
    for (int step = 0; step < grid.top(); step += 97) {
        const double between = 0.4 * grid.pps(step) + 0.6 * grid.pps(step + 1);
        BOOST_TEST(grid.floor(between) == step);
    }
    BOOST_TEST(grid.floor(1) == 0);
    BOOST_TEST(grid.floor(1e9) == grid.top());
}

BOOST_AUTO_TEST_CASE(widths_are_met_to_one_percent_and_never_exceeded) {
    const std::array widths = {0.005, 0.0333, 0.1};
    const LoadGrid grid(9'001, 14'880'952, widths);
    for (const double width : widths) {
        const int steps = grid.width(width);
        for (const int from : {0, grid.top() / 2, grid.top() - steps}) {
            const double high = grid.pps(from + steps);
            const double got = (high - grid.pps(from)) / high;
            BOOST_TEST(got <= width);
            BOOST_TEST(got > 0.99 * width);
        }
    }
}

BOOST_AUTO_TEST_CASE(halving_an_interval_ends_at_the_width_after_as_many_steps_as_it_must) {
    for (const int width : {1, 7, 64, 128}) {
        for (int whole = width + 1; whole < 70 * width; ++whole) {
            int rounds = 0;
            for (int left = whole; left > width; ++rounds) {
                const int low = split(left, width);
                BOOST_REQUIRE(low > 0);
                BOOST_REQUIRE(low <= left - low);
                left = left - low;  // the larger part
            }
            int needed = 0;
            while ((width << needed) < whole) {
                ++needed;
            }
            BOOST_REQUIRE_MESSAGE(rounds <= needed, "width " << width << " of " << whole << ": "
                                                             << rounds << " > " << needed);
        }
    }
}
