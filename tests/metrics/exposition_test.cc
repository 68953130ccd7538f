#include "harness/metrics/exposition.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "tests/metrics/strict_parser.h"

using namespace pathproof::metrics;
using pathproof::metrics::test::parsed;

namespace {

const Family kCounter{"pp_packets", Type::kCounter, "", "Packets."};
const Family kGauge{"pp_age_seconds", Type::kGauge, "seconds", "Age."};
const Family kInfo{"pp_kernel", Type::kInfo, "", "Kernel."};
const Family kState{"pp_state", Type::kStateSet, "", "State."};

std::string all_types(Dialect dialect) {
    Exposition text(dialect);
    text.begin(kInfo);
    text.sample({{"release", "6.18"}}, std::uint64_t{1});
    text.begin(kCounter);
    text.sample({{"cpu", "0"}}, std::uint64_t{18446744073709551615u});
    text.begin(kGauge);
    text.sample({}, 1.5);
    text.begin(kState);
    text.states({{"backend", "a"}}, {"healthy", "dead"}, "dead");
    return text.finish();
}

}  // namespace

BOOST_AUTO_TEST_CASE(open_metrics_is_written_as_its_specification_has_it) {
    BOOST_TEST(all_types(Dialect::kOpenMetrics) ==
               "# TYPE pp_kernel info\n# HELP pp_kernel Kernel.\n"
               "pp_kernel_info{release=\"6.18\"} 1\n"
               "# TYPE pp_packets counter\n# HELP pp_packets Packets.\n"
               "pp_packets_total{cpu=\"0\"} 18446744073709551615\n"
               "# TYPE pp_age_seconds gauge\n# UNIT pp_age_seconds seconds\n"
               "# HELP pp_age_seconds Age.\npp_age_seconds 1.5\n"
               "# TYPE pp_state stateset\n# HELP pp_state State.\n"
               "pp_state{backend=\"a\",pp_state=\"healthy\"} 0\n"
               "pp_state{backend=\"a\",pp_state=\"dead\"} 1\n# EOF\n");
}

BOOST_AUTO_TEST_CASE(strict_parsers_read_the_same_from_both_dialects) {
    BOOST_TEST(parsed(all_types(Dialect::kOpenMetrics), Dialect::kOpenMetrics) ==
               "pp_kernel info pp_kernel_info {release=6.18} 1\n"
               "pp_packets counter pp_packets_total {cpu=0} 1.84467e+19\n"
               "pp_age_seconds gauge pp_age_seconds {} 1.5\n"
               "pp_state stateset pp_state {backend=a,pp_state=healthy} 0\n"
               "pp_state stateset pp_state {backend=a,pp_state=dead} 1\n");
    BOOST_TEST(parsed(all_types(Dialect::kPrometheus), Dialect::kPrometheus) ==
               "pp_kernel_info gauge pp_kernel_info {release=6.18} 1\n"
               "pp_packets counter pp_packets_total {cpu=0} 1.84467e+19\n"
               "pp_age_seconds gauge pp_age_seconds {} 1.5\n"
               "pp_state gauge pp_state {backend=a,pp_state=healthy} 0\n"
               "pp_state gauge pp_state {backend=a,pp_state=dead} 1\n");
}

BOOST_AUTO_TEST_CASE(the_older_dialect_has_no_units_and_no_end) {
    const std::string text = all_types(Dialect::kPrometheus);
    BOOST_TEST(text.find("# UNIT") == std::string::npos);
    BOOST_TEST(text.find("# EOF") == std::string::npos);
    BOOST_TEST(text.find("# TYPE pp_packets_total counter\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(any_label_value_survives) {
    for (const Dialect dialect : {Dialect::kOpenMetrics, Dialect::kPrometheus}) {
        Exposition text(dialect);
        text.begin({"pp_x", Type::kGauge, "", "A \"help\" with \\ and\na second line."});
        text.sample({{"netns", "a\"b\\c\nd\xffz \xc3\xa9"}}, std::uint64_t{1});
        const std::string written = text.finish();
        BOOST_TEST(written.find("netns=\"a\\\"b\\\\c\\nd\xef\xbf\xbdz \xc3\xa9\"} 1\n") !=
                       std::string::npos,
                   written);
        BOOST_TEST(parsed(written, dialect) ==
                   "pp_x gauge pp_x {netns=a\"b\\c\nd\xef\xbf\xbdz \xc3\xa9} 1\n");
    }
}

BOOST_AUTO_TEST_CASE(numbers_that_are_none_have_their_words) {
    Exposition text(Dialect::kOpenMetrics);
    text.begin(kGauge);
    text.sample({{"n", "1"}}, std::nan(""));
    text.sample({{"n", "2"}}, INFINITY);
    text.sample({{"n", "3"}}, -INFINITY);
    BOOST_TEST(parsed(text.finish(), Dialect::kOpenMetrics) ==
               "pp_age_seconds gauge pp_age_seconds {n=1} nan\n"
               "pp_age_seconds gauge pp_age_seconds {n=2} inf\n"
               "pp_age_seconds gauge pp_age_seconds {n=3} -inf\n");
}

BOOST_AUTO_TEST_CASE(a_family_without_samples_leaves_no_trace) {
    Exposition text(Dialect::kOpenMetrics);
    text.begin(kCounter);
    text.begin(kGauge);
    BOOST_TEST(text.finish() == "# EOF\n");
}
