#include "harness/screen/lines.h"

#include <boost/test/unit_test.hpp>

using namespace pathproof::screen;

BOOST_AUTO_TEST_SUITE(lines)

BOOST_AUTO_TEST_CASE(a_line_that_is_too_long_is_cut_and_says_so) {
    const Line line{{"hello ", Style::kPlain}, {"world", Style::kBad}};
    BOOST_TEST(plain(fitted(line, 11)) == "hello world");
    BOOST_TEST(plain(fitted(line, 8)) == "hello w>");
    BOOST_TEST(plain(fitted(line, 6)) == "hello>");
    BOOST_TEST(fitted(line, 0).empty());
    BOOST_TEST((fitted(line, 8).back().style == Style::kBad));
}

BOOST_AUTO_TEST_CASE(bytes_that_could_move_the_cursor_are_not_let_through) {
    BOOST_TEST(plain(fitted({{"a\x1b[2J\n\xc3\xa4", Style::kPlain}}, 20)) == "a?[2J???");
}

BOOST_AUTO_TEST_CASE(a_bar_line_goes_to_the_edge) {
    BOOST_TEST(plain(filled({{"ab", Style::kBar}}, 5)) == "ab   ");
    BOOST_TEST(plain(filled({}, 3)) == "   ");
    BOOST_TEST(plain(spread({{"left", Style::kBar}}, {{"right", Style::kBar}}, 12)) ==
               "left   right");
    BOOST_TEST(plain(spread({{"left", Style::kBar}}, {{"right", Style::kBar}}, 7)) == "l>right");
    BOOST_TEST(plain(spread({{"left", Style::kBar}}, {{"right", Style::kBar}}, 4)) == "left");
}

BOOST_AUTO_TEST_CASE(columns_have_their_width_whatever_is_in_them) {
    BOOST_TEST(left_column("ab", 4) == "ab  ");
    BOOST_TEST(left_column("abcdef", 4) == "abc>");
    BOOST_TEST(right_column("ab", 4) == "  ab");
    BOOST_TEST(right_column("abcdef", 4) == "abc>");
    BOOST_TEST(left_column("abc", 0) == "");
}

BOOST_AUTO_TEST_CASE(counts_stay_short_and_exact_while_they_can) {
    BOOST_TEST(compact(0) == "0");
    BOOST_TEST(compact(999'999) == "999999");
    BOOST_TEST(compact(1'000'000) == "1.00M");
    BOOST_TEST(compact(12'345'678) == "12.35M");
    BOOST_TEST(compact(999'999'999) == "1.00G");
    BOOST_TEST(compact(1'234'567'890'123) == "1234.6G");
}

BOOST_AUTO_TEST_CASE(rates_have_a_decimal) {
    BOOST_TEST(compact_rate(0) == "0.0");
    BOOST_TEST(compact_rate(999.94) == "999.9");
    BOOST_TEST(compact_rate(999.96) == "1.00k");
    BOOST_TEST(compact_rate(123'456) == "123.5k");
    BOOST_TEST(compact_rate(-0.0001) == "0.0");
}

BOOST_AUTO_TEST_CASE(times_read_as_people_write_them) {
    BOOST_TEST(duration_text(250'000) == "250 us");
    BOOST_TEST(duration_text(1'500'000) == "1.5 ms");
    BOOST_TEST(duration_text(2'000'000'000) == "2.0 s");
    BOOST_TEST(clock_text(50'639'000'000'000) == "14:03:59");
    BOOST_TEST(uptime_text(3723.9) == "01:02:03");
    BOOST_TEST(uptime_text(3 * 86'400 + 61) == "3d 00:01:01");
}

BOOST_AUTO_TEST_CASE(a_bar_shows_the_first_entry_and_is_full_only_when_the_table_is) {
    BOOST_TEST(bar(0, 12) == "[..........]");
    BOOST_TEST(bar(0.0001, 12) == "[#.........]");
    BOOST_TEST(bar(0.5, 12) == "[#####.....]");
    BOOST_TEST(bar(0.9999, 12) == "[#########.]");
    BOOST_TEST(bar(1, 12) == "[##########]");
    BOOST_TEST(bar(7, 12) == "[##########]");
    BOOST_TEST(bar(0.5, 2) == "  ");
}

BOOST_AUTO_TEST_SUITE_END()
