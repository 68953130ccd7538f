#include "harness/bench/watch_output.h"

#include <unistd.h>

#include <boost/test/unit_test.hpp>

using namespace pathproof::bench;

namespace {

WatchCount count_of(const std::string& out, const std::string& err) {
    const auto out_file = OutputFile::make();
    const auto err_file = OutputFile::make();
    BOOST_REQUIRE(out_file && err_file);
    BOOST_REQUIRE(write(out_file->fd(), out.data(), out.size()) ==
                  static_cast<ssize_t>(out.size()));
    BOOST_REQUIRE(write(err_file->fd(), err.data(), err.size()) ==
                  static_cast<ssize_t>(err.size()));
    const auto count = read_watch_output(*out_file, *err_file);
    BOOST_REQUIRE(count);
    return *count;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(watch_output)

BOOST_AUTO_TEST_CASE(new_flows_are_counted_and_other_events_are_not) {
    const WatchCount count = count_of(
        "    [NEW] udp      17 1 src=198.18.1.1 dst=203.0.113.2 sport=1024 dport=4433 [UNREPLIED] "
        "src=203.0.113.2 dst=198.18.1.1 sport=4433 dport=1024\n"
        " [UPDATE] udp      17 1 src=198.18.1.1 dst=203.0.113.2 sport=1024 dport=4433\n"
        "[DESTROY] udp      17 src=198.18.1.1 dst=203.0.113.2 sport=1024 dport=4433\n"
        "    [NEW] tcp      6 120 SYN_SENT src=198.18.1.2 dst=203.0.113.2 sport=1 dport=2\n"
        "\n",
        "");
    BOOST_TEST(count.new_live == 2U);
    BOOST_TEST(count.new_missed == 0U);
    BOOST_TEST(count.gaps() == 0U);
}

BOOST_AUTO_TEST_CASE(missed_flows_and_gaps_are_counted_for_themselves) {
    const WatchCount count = count_of(
        "# gap 1: events were lost between 1.0 and 2.0 (1.000000 s); the table is read again\n"
        "    [NEW] udp      17 1 src=198.18.1.1 dst=203.0.113.2 sport=1024 dport=4433 [MISSED]\n"
        "# gap 1 closed: 1 NEW, 0 UPDATE, 0 DESTROY missed; what came and went left no trace\n"
        "    [NEW] udp      17 1 src=198.18.1.2 dst=203.0.113.2 sport=1024 dport=4433\n"
        "# gap 2: events were lost between 3.0 and 4.0 (1.000000 s); the table is read again\n",
        "pathproof: events were lost here: the receive buffer overran (ENOBUFS); the table is "
        "read again\n");
    BOOST_TEST(count.new_live == 1U);
    BOOST_TEST(count.new_missed == 1U);
    BOOST_TEST(count.gaps() == 2U);
}

BOOST_AUTO_TEST_CASE(a_reader_without_marks_has_as_many_gaps_as_it_warned_of) {
    const WatchCount count =
        count_of("    [NEW] udp      17 1 src=198.18.1.1\n",
                 "WARNING: We have hit ENOBUFS! We are losing events.\nThis message means ...\n"
                 "WARNING: We have hit ENOBUFS! We are losing events.\n");
    BOOST_TEST(count.new_live == 1U);
    BOOST_TEST(count.gaps() == 2U);
}

BOOST_AUTO_TEST_SUITE_END()
