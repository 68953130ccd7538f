#define BOOST_TEST_MODULE report
#include "harness/report/text.h"

#include <boost/test/unit_test.hpp>

using namespace pathproof;
using namespace pathproof::report;

namespace {

const std::string kReplaced = "\uFFFD";

std::string repeated(const std::string& text, int times) {
    std::string all;
    while (times-- > 0) {
        all += text;
    }
    return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(valid_utf8_is_kept_and_the_rest_is_replaced_byte_by_byte) {
    BOOST_TEST(escape_markup("plain \u00e9 \u4e2d \U0001F600") == "plain \u00e9 \u4e2d \U0001F600");
    BOOST_TEST(escape_markup("a\xff\xfe z") == "a" + repeated(kReplaced, 2) + " z");
    // RFC 3629: overlong, surrogate, above U+10FFFF, cut short.
    BOOST_TEST(escape_markup("\xc0\xaf") == repeated(kReplaced, 2));
    BOOST_TEST(escape_markup("\xe0\x80\xaf") == repeated(kReplaced, 3));
    BOOST_TEST(escape_markup("\xf0\x80\x80\xaf") == repeated(kReplaced, 4));
    BOOST_TEST(escape_markup("\xed\xa0\x80") == repeated(kReplaced, 3));
    BOOST_TEST(escape_markup("\xf4\x90\x80\x80") == repeated(kReplaced, 4));
    BOOST_TEST(escape_markup("\xe4\xb8") == repeated(kReplaced, 2));
}

BOOST_AUTO_TEST_CASE(markup_is_escaped_and_what_xml_forbids_is_replaced) {
    BOOST_TEST(escape_markup("<a b=\"c\" d='e'>&") ==
               "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;");
    BOOST_TEST(escape_markup(std::string("\0\x01\x1b\x7f\u0085\uFFFE\uFFFF", 12)) ==
               repeated(kReplaced, 7));
    BOOST_TEST(escape_markup("tab\tline\n") == "tab\tline\n");
}

BOOST_AUTO_TEST_CASE(backticks_mark_code) {
    BOOST_TEST(markup_with_code("run `a <b>` now") == "run <code>a &lt;b&gt;</code> now");
    BOOST_TEST(markup_with_code("a lone ` stays") == "a lone ` stays");
}

BOOST_AUTO_TEST_CASE(numbers_are_short_and_do_not_round_to_a_bound) {
    BOOST_TEST(format_number(99.952) == "99.95");
    BOOST_TEST(format_number(0.015) == "0.015");
    BOOST_TEST(format_number(42634) == "42,634");
    BOOST_TEST(format_number(-1234567) == "-1,234,567");
    BOOST_TEST(format_number(999) == "999");
    BOOST_TEST(format_number(12345.6) == "12,346");
    BOOST_TEST(format_number(0) == "0");
}

BOOST_AUTO_TEST_CASE(values_say_their_unit_and_when_they_were_not_measured) {
    BOOST_TEST(format_value({.value = 42634, .unit = "packets"}) == "42,634\u00A0packets");
    BOOST_TEST(format_value({.value = 18446744073709551615u}) == "18446744073709551615");
    BOOST_TEST(format_value({.value = true}) == "yes");
    BOOST_TEST(format_value({.value = nullptr, .unit = "ms"}) == "not measured");
    BOOST_TEST(format_value({.value = "stale"}) == "stale");
}

BOOST_AUTO_TEST_CASE(an_interval_at_a_zero_count_is_an_upper_bound) {
    BOOST_TEST(format_interval({0, 0.015}, 0) == "at most 0.015");
    BOOST_TEST(format_interval({84.954, 85.581}, 85.27) == "84.95\u201385.58");
}

BOOST_AUTO_TEST_CASE(lines_are_wrapped_by_characters_not_bytes) {
    BOOST_TEST(wrap("one two three", 7, 0) == "one two\nthree");
    BOOST_TEST(wrap("\u00e9\u00e9\u00e9 \u00e9\u00e9\u00e9", 7, 0) ==
               "\u00e9\u00e9\u00e9 \u00e9\u00e9\u00e9");
    BOOST_TEST(wrap("aa bb", 6, 2) == "aa\n  bb");
    BOOST_TEST(wrap("unbreakable", 5, 0) == "unbreakable");
    BOOST_TEST(wrap("red \x1b[31m", 80, 0) == "red " + kReplaced + "[31m");
}
