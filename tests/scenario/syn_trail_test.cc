// SYNs followed through a NAT: what each met, and what its connection waited for.
#define BOOST_TEST_MODULE scenario
#include "harness/scenario/service_path/syn_trail.h"

#include <boost/test/unit_test.hpp>
#include <cerrno>

BOOST_AUTO_TEST_SUITE(syn_trail)

using namespace pathproof;
using namespace pathproof::scenario;

namespace {

constexpr std::int64_t kMs = 1'000'000;

// A record made step by step; times in ms.
struct Path {
    SynRecord record;
    std::uint32_t next_sequence = 1000;

    std::uint32_t syn(std::int64_t ms, std::uint16_t before, std::uint16_t after,
                      std::optional<std::uint32_t> timestamp, bool arrives = true,
                      std::optional<std::uint32_t> sequence = std::nullopt) {
        Segment segment{.time_ns = ms * kMs,
                        .source_port = before,
                        .sequence = sequence.value_or(next_sequence += 1000),
                        .syn = true,
                        .timestamp = timestamp};
        segment.next = segment.sequence + 1;
        record.before_nat.push_back(segment);
        if (arrives) {
            segment.source_port = after;
            segment.time_ns += kMs / 10;
            record.after_nat.push_back(segment);
            netfilter::Event birth;
            birth.entry.original.source.port = before;
            birth.entry.reply.destination.port = after;
            record.births.push_back(birth);
        }
        return segment.sequence;
    }
    void fin(std::int64_t ms, std::uint16_t after, std::optional<std::uint32_t> timestamp,
             std::uint32_t next = 1) {
        record.after_nat.push_back({.time_ns = ms * kMs,
                                    .source_port = after,
                                    .next = next,
                                    .fin = true,
                                    .timestamp = timestamp});
    }
    void rst(std::int64_t ms, std::uint16_t after) {
        record.after_nat.push_back({.time_ns = ms * kMs, .source_port = after, .rst = true});
    }
    void connect(std::int64_t ms, std::uint16_t before, double took_ms, int error = 0) {
        record.connects.push_back(
            {.start_ns = ms * kMs, .port = before, .error = error, .milliseconds = took_ms});
    }
    // A connection that opens at once and that the server closes.
    void clean(std::int64_t ms, std::uint16_t before, std::uint16_t after,
               std::uint32_t timestamp) {
        connect(ms, before, 0.5);
        fin(ms + 1, after, timestamp + 1, syn(ms, before, after, timestamp) + 1);
    }
    SynFindings follow() const { return follow_syns(record); }
};

// 40001 leaves a TIME_WAIT at 30000; 40002 meets it with a lower timestamp, twice.
Path refused_twice() {
    Path path;
    path.clean(0, 40'001, 30'000, 900'000);
    path.connect(100, 40'002, 1020);
    path.syn(100, 40'002, 30'000, 5000);
    path.rst(101, 30'000);
    path.clean(102, 40'003, 30'001, 700'000);
    path.syn(110, 40'002, 30'001, 5010);
    path.rst(111, 30'001);
    path.syn(1119, 40'002, 30'002, 6019);
    return path;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_connect_whose_syns_came_with_a_lower_timestamp_waited_for_that) {
    const SynFindings found = refused_twice().follow();
    BOOST_TEST(found.connects == 3U);
    BOOST_TEST(found.slow == 1U);
    BOOST_TEST(found.slowest_ms == 1020);
    BOOST_TEST(found.met == 2U);
    BOOST_TEST(found.count(SynFate::kTimestamp) == 2U);
    BOOST_TEST(found.count(SynFate::kAccepted) == 3U);
    BOOST_TEST(found.harmed_by(SynFate::kTimestamp) == 1U);
    BOOST_TEST(found.unexplained == 0U);
    BOOST_TEST(found.refused_named == 2U);
    BOOST_REQUIRE(found.refused.size() == 2U);
    BOOST_TEST(found.refused[0].port == 30'000);
    BOOST_TEST(found.refused[0].port_before_nat == 40'002);
    BOOST_TEST(found.refused[0].left_by == 40'001);
    BOOST_TEST(found.refused[0].last == 900'001U);
    BOOST_TEST(found.refused[0].own == 5000U);
}

BOOST_AUTO_TEST_CASE(a_rst_after_the_end_refuses_nothing) {
    Path path;
    path.clean(0, 40'001, 30'000, 900'000);
    path.rst(5, 30'000);
    path.clean(100, 40'002, 30'000, 5000);  // the RST ended the TIME_WAIT
    const SynFindings found = path.follow();
    BOOST_TEST(found.late_resets == 1U);
    BOOST_TEST(found.met == 0U);
    BOOST_TEST(found.count(SynFate::kAccepted) == 2U);
}

BOOST_AUTO_TEST_CASE(timestamps_wrap_around) {
    Path path;
    path.clean(0, 40'001, 30'000, 0xfffffff0);
    path.clean(100, 40'002, 30'000, 0x10);  // later, beyond the wrap
    const SynFindings found = path.follow();
    BOOST_TEST(found.met == 1U);
    BOOST_TEST(found.count(SynFate::kTimestamp) == 0U);
}

BOOST_AUTO_TEST_CASE(a_port_that_comes_back_as_itself_has_nothing_to_do_with_nat) {
    Path path;
    path.clean(0, 40'001, 40'001, 900'000);
    path.connect(100, 40'001, 1020);
    path.syn(100, 40'001, 40'001, 5000);
    path.rst(101, 40'001);
    path.syn(1110, 40'001, 40'001, 6010);
    const SynFindings found = path.follow();
    BOOST_TEST(found.met == 1U);
    BOOST_TEST(found.count(SynFate::kTimestamp) == 0U);
    BOOST_TEST(found.harmed_by(SynFate::kUnanswered) == 1U);
}

BOOST_AUTO_TEST_CASE(without_a_rst_it_was_not_refused) {
    Path path;
    path.clean(0, 40'001, 30'000, 900'000);
    path.connect(100, 40'002, 1020);
    const auto sequence = path.syn(100, 40'002, 30'000, 5000);
    path.syn(1110, 40'002, 30'000, 6010, true, sequence);
    const SynFindings found = path.follow();
    BOOST_TEST(found.count(SynFate::kTimestamp) == 0U);
    BOOST_TEST(found.harmed_by(SynFate::kUnanswered) == 1U);
}

BOOST_AUTO_TEST_CASE(a_syn_that_is_lost_is_the_cause_even_after_one_that_was_refused) {
    Path path;
    path.clean(0, 40'001, 30'000, 900'000);
    path.connect(100, 40'002, 1040);
    path.syn(100, 40'002, 30'000, 5000);
    path.rst(101, 30'000);
    path.syn(108, 40'002, 30'001, 5008, false);
    path.syn(1130, 40'002, 30'002, 6030);
    const SynFindings found = path.follow();
    BOOST_TEST(found.count(SynFate::kTimestamp) == 1U);
    BOOST_TEST(found.harmed_by(SynFate::kTimestamp) == 0U);
    BOOST_TEST(found.harmed_by(SynFate::kLost) == 1U);
}

BOOST_AUTO_TEST_CASE(of_several_waits_the_one_that_is_not_for_a_timestamp_counts) {
    Path path = refused_twice();
    path.record.connects[1].milliseconds = 3050;
    path.record.before_nat.back().time_ns += 2000 * kMs;
    path.record.after_nat.back().time_ns += 2000 * kMs;
    path.syn(1119, 40'002, 0, 6018, false);
    const SynFindings found = path.follow();
    BOOST_TEST(found.harmed_by(SynFate::kTimestamp) == 0U);
    BOOST_TEST(found.harmed_by(SynFate::kLost) == 1U);
}

BOOST_AUTO_TEST_CASE(a_connect_that_is_refused_or_never_answered_waited_for_its_last_syn) {
    Path path;
    path.connect(0, 40'001, 0.3, ECONNREFUSED);
    path.syn(0, 40'001, 0, 5000, false);
    path.connect(10, 40'002, 10'000, ETIMEDOUT);
    path.syn(10, 40'002, 30'002, 5000);
    const SynFindings found = path.follow();
    BOOST_TEST(found.failed == 2U);
    BOOST_TEST(found.harmed_by(SynFate::kLost) == 1U);
    BOOST_TEST(found.harmed_by(SynFate::kUnanswered) == 1U);
}

BOOST_AUTO_TEST_CASE(a_connect_whose_syn_left_late_is_unexplained) {
    Path path;
    path.connect(0, 40'001, 900);
    path.syn(899, 40'001, 30'001, 5000);
    path.connect(0, 40'002, 10'000, ETIMEDOUT);  // no SYN was seen
    const SynFindings found = path.follow();
    BOOST_TEST(found.slow == 1U);
    BOOST_TEST(found.unexplained == 2U);
}

BOOST_AUTO_TEST_CASE(without_timestamps_the_sequence_number_decides) {
    for (const auto& [own, refused] : {std::pair{4000U, 1U}, {6000U, 0U}}) {
        Path path;
        path.connect(0, 40'001, 0.5);
        path.syn(0, 40'001, 30'000, std::nullopt);
        path.fin(1, 30'000, std::nullopt, 5000);
        path.connect(100, 40'002, 1.5);
        path.syn(100, 40'002, 30'000, std::nullopt, true, own);
        if (refused != 0) {
            path.rst(101, 30'000);
            path.syn(108, 40'002, 30'001, std::nullopt, true, own);
        }
        const SynFindings found = path.follow();
        BOOST_TEST(found.met == 1U);
        BOOST_TEST(found.count(SynFate::kSequence) == refused);
        BOOST_TEST(found.all_harmed() == 0U);
    }
}

BOOST_AUTO_TEST_CASE(a_client_that_closes_first_leaves_the_server_no_time_wait) {
    Path path = refused_twice();
    path.record.server_closes = false;
    const SynFindings found = path.follow();
    BOOST_TEST(found.met == 0U);
    BOOST_TEST(found.count(SynFate::kTimestamp) == 0U);
}

BOOST_AUTO_TEST_CASE(a_time_wait_is_over_after_a_minute) {
    Path path;
    path.clean(0, 40'001, 30'000, 900'000);
    path.clean(60'100, 40'002, 30'000, 5000);
    BOOST_TEST(path.follow().met == 0U);
}

BOOST_AUTO_TEST_CASE(a_refusal_that_conntrack_does_not_name_is_told) {
    Path path = refused_twice();
    std::erase_if(path.record.births, [](const netfilter::Event& event) {
        return event.entry.original.source.port == 40'002;
    });
    BOOST_TEST(path.follow().refused_named == 0U);
    path.record.before_nat.clear();
    BOOST_TEST(path.follow().strangers == 5U);
}

// Two client ports, four ports after NAT: each draw is among those that the other does not hold.
BOOST_AUTO_TEST_CASE(the_expected_share_counts_what_may_be_drawn_and_is_in_time_wait) {
    Path path;
    path.record.drawn_from = 4;
    path.clean(0, 1, 10, 100);    // nothing waits: 0
    path.clean(10, 2, 11, 100);   // 10 is held: 0
    path.clean(20, 1, 12, 100);   // 11 held; 10, 12, 13 may be drawn and 10 waits: 1/3
    path.clean(30, 2, 10, 5000);  // 12 held; 10, 11, 13; 10 and 11 wait: 2/3, and it met
    const SynFindings found = path.follow();
    BOOST_TEST(found.expected_met == 1.0, boost::test_tools::tolerance(1e-9));
    BOOST_TEST(found.expected_variance == 2.0 / 9 + 2.0 / 9, boost::test_tools::tolerance(1e-9));
    BOOST_TEST(found.drawn_met == 1U);
    BOOST_TEST(found.met == 1U);
}

BOOST_AUTO_TEST_CASE(a_segment_is_read_from_a_frame) {
    // Ethernet, IPv4 198.18.0.2 > 203.0.113.2, TCP 40001 > 8000 SYN with MSS, SACK, TSval 0x01020304.
    std::vector<std::uint8_t> bytes = {
        0x02, 0,    0,    0,    0, 1, 0x02, 0,  0,  0, 0, 2, 0x08, 0x00,  //
        0x45, 0,    0,    56,   0, 0, 0x40, 0,  64, 6, 0, 0, 198,  18,   0,    2,
        203,  0,    113,  2,  //
        0x9c, 0x41, 0x1f, 0x40, 0, 0, 0x10, 0,  0,  0, 0, 0, 0x90, 0x02, 0xff, 0xff,
        0,    0,    0,    0,  //
        2,    4,    5,    0xb4, 4, 2, 8,    10, 1,  2, 3, 4, 0,    0,    0,    0};
    const auto segment = read_segment({.bytes = bytes, .time_ns = 7});
    BOOST_REQUIRE(segment);
    BOOST_TEST(segment->time_ns == 7);
    BOOST_TEST(segment->source_port == 40'001);
    BOOST_TEST(segment->destination_port == 8000);
    BOOST_TEST(segment->sequence == 0x1000U);
    BOOST_TEST(segment->next == 0x1001U);
    BOOST_TEST((segment->syn && !segment->fin && !segment->rst));
    BOOST_TEST(segment->timestamp.value() == 0x01020304U);
    // Cut at any length: nothing, never beyond the bytes.
    for (std::size_t length = 0; length + 1 < bytes.size(); ++length) {
        const std::vector<std::uint8_t> cut(bytes.begin(),
                                            bytes.begin() + static_cast<std::ptrdiff_t>(length));
        BOOST_TEST(!read_segment({.bytes = cut}), length);
    }
    bytes[46] = 0x50;  // no options
    BOOST_TEST(!read_segment({.bytes = bytes})->timestamp);
}

BOOST_AUTO_TEST_SUITE_END()
