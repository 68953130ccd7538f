#include "dataplane/pairs/pair_run.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <mutex>

#include "tests/contains.h"
#include "tests/pairs/middle.h"
#include "tests/port/eal_fixture.h"

BOOST_AUTO_TEST_SUITE(pair_run)

using namespace pathproof;
using namespace pathproof::pairs;
using namespace pathproof::traffic;
using namespace std::chrono_literals;
using judge::PairReport;
using judge::QueryState;

namespace {

// Returns the objections without late departures: a busy test machine departs late, and all else
// must be in order.
std::vector<std::string> objections_but_late(const PairReport& report) {
    std::vector<std::string> left = report.objections;
    std::erase_if(left,
                  [](const std::string& text) { return text.starts_with("late departures"); });
    return left;
}

void require_sound(const PairReport& report) {
    const auto objections = objections_but_late(report);
    BOOST_TEST(objections.empty(), (objections.empty() ? "" : objections.front()));
    BOOST_TEST(judge::audit(report).empty());
}

std::uint32_t sequence(const Frame& frame) {
    return *read_frame(frame).sequence;
}

// Applies `change` to answers whose query number is divisible by `every`.
Hook to_answers(unsigned every, std::function<Frames(Frame)> change) {
    return [=](Way way, const Frame& frame) -> Frames {
        const bool chosen = way == Way::kToClient && sequence(frame) % every == 0;
        return chosen ? change(frame) : Frames{frame};
    };
}

std::int64_t median(std::vector<std::int64_t> values) {
    std::ranges::nth_element(values, values.begin() + static_cast<long>(values.size() / 2));
    return values[values.size() / 2];
}

}  // namespace

BOOST_AUTO_TEST_CASE(all_pairs_leave_and_all_are_answered) {
    const PairPlan plan = small_plan();
    const PairReport report = run(plan, small_responder(), unchanged);
    require_sound(report);
    BOOST_TEST(report.departures.sent == 200u);
    BOOST_TEST(report.count(QueryState::kAnswered) == 200u);
    BOOST_TEST(report.client.answers == 200u);
    BOOST_TEST(report.server.answers == 200u);
    BOOST_TEST(report.latency.count == 200u);
    BOOST_REQUIRE(report.ports.size() == 3u);
    BOOST_TEST(report.ports[0].tx_packets == 100u);
    BOOST_TEST(report.ports[1].tx_packets == 100u);
    for (const judge::QueryRecord& record : report.records) {
        BOOST_TEST((record.server == plan.service));
        BOOST_TEST((record.seen_client == plan.client(record.pair, record.member)));
        BOOST_TEST(record.server_saw == 1);
    }
}

BOOST_AUTO_TEST_CASE(departures_keep_to_the_schedule_from_the_first_on) {
    PairPlan plan = small_plan();
    plan.pairs = 200;
    const PairReport report = run(plan, small_responder(), unchanged);
    std::vector<std::int64_t> apart;
    std::vector<std::int64_t> skews;
    const std::int64_t first = report.records[0].sent_ns;
    for (std::size_t pair = 1; pair < plan.pairs; ++pair) {
        apart.push_back(report.records[2 * pair].sent_ns - report.records[2 * pair - 2].sent_ns);
        skews.push_back(report.records[2 * pair + 1].sent_ns - report.records[2 * pair].sent_ns);
        // Never early, so never in a burst, the first ones included.
        BOOST_TEST(report.records[2 * pair].sent_ns >= static_cast<std::int64_t>(pair) * 1'000'000);
    }
    BOOST_TEST(first >= 0);
    BOOST_TEST(std::abs(median(apart) - 1'000'000) < 20'000);
    BOOST_TEST(std::abs(median(skews)) < 2'000);
    BOOST_TEST(std::abs(report.departures.skew_p50_ns - median(skews)) < 500);
    BOOST_TEST(report.seconds > 0.299);
    BOOST_TEST(report.seconds < 0.6);
}

BOOST_AUTO_TEST_CASE(a_skew_of_either_sign_is_kept) {
    for (const Nanoseconds skew : {Nanoseconds(200'000), Nanoseconds(-200'000)}) {
        PairPlan plan = small_plan();
        plan.skew = skew;
        const PairReport report = run(plan, small_responder(), unchanged);
        require_sound(report);
        BOOST_TEST(std::abs(report.departures.skew_p50_ns - skew.count()) < 20'000);
        BOOST_TEST(report.count(QueryState::kAnswered) == 200u);
    }
}

BOOST_AUTO_TEST_CASE(one_burst_holds_both_and_in_turn_keeps_its_distance) {
    PairPlan plan = small_plan();
    plan.members[1].port = 0;
    plan.departure = Departure::kOneBurst;
    const PairReport burst = run(plan, small_responder(), unchanged);
    require_sound(burst);
    BOOST_TEST(burst.departures.skew_p99_ns == 0);
    BOOST_TEST(burst.count(QueryState::kAnswered) == 200u);

    plan.departure = Departure::kInTurn;
    plan.skew = 400us;
    const PairReport turn = run(plan, small_responder(), unchanged);
    require_sound(turn);
    BOOST_TEST(turn.count(QueryState::kAnswered) == 200u);
    BOOST_TEST(turn.departures.skew_p50_ns >= 399'999);  // cut to whole nanoseconds
    BOOST_TEST(turn.departures.skew_p50_ns < 420'000);
}

BOOST_AUTO_TEST_CASE(lost_answers_are_never_answered_and_no_others) {
    const PairReport report =
        run(small_plan(), small_responder(), to_answers(10, [](Frame) { return Frames(); }));
    require_sound(report);
    BOOST_TEST(report.count(QueryState::kNever) == 20u);
    BOOST_TEST(report.count(QueryState::kAnswered) == 180u);
    BOOST_TEST((report.records[10].state == QueryState::kNever));
    BOOST_TEST(report.records[10].server_saw == 1);
}

BOOST_AUTO_TEST_CASE(the_rest_is_listened_for_while_an_answer_is_missing) {
    PairPlan plan = small_plan();
    plan.drain = 60s;
    BOOST_TEST(run(plan, small_responder(), unchanged).seconds < 30);
    plan.drain = 1s;
    const auto lost = [](Frame) { return Frames{}; };
    BOOST_TEST(run(plan, small_responder(), to_answers(199, lost)).seconds > 1);
}

BOOST_AUTO_TEST_CASE(lost_queries_were_not_seen_by_the_server) {
    const PairReport report = run(small_plan(), small_responder(), [](Way way, const Frame& frame) {
        const bool lost = way == Way::kToServer && sequence(frame) % 10 == 3;
        return lost ? Frames() : Frames{frame};
    });
    require_sound(report);
    BOOST_TEST(report.count(QueryState::kNever) == 20u);
    BOOST_TEST(report.records[3].server_saw == 0);
    BOOST_TEST(report.server.answers == 180u);
}

BOOST_AUTO_TEST_CASE(answers_that_come_twice_are_counted_as_duplicates) {
    const PairReport report = run(small_plan(), small_responder(), to_answers(4, [](Frame frame) {
                                      return Frames{frame, frame, frame};
                                  }));
    require_sound(report);
    BOOST_TEST(report.count(QueryState::kAnswered) == 200u);
    BOOST_TEST(report.client.answers == 300u);
    BOOST_TEST(report.records[4].duplicates == 2);
    BOOST_TEST(report.records[5].duplicates == 0);
}

BOOST_AUTO_TEST_CASE(answers_in_any_order_find_their_queries) {
    Frames held;
    const PairReport report =
        run(small_plan(), small_responder(), [&held](Way way, const Frame& frame) {
            if (way == Way::kToServer) {
                return Frames{frame};
            }
            held.insert(held.begin(), frame);
            return held.size() < 40 ? Frames() : std::exchange(held, {});
        });
    require_sound(report);
    BOOST_TEST(report.count(QueryState::kAnswered) == 200u);
}

BOOST_AUTO_TEST_CASE(corrupted_answers_are_bad_checksums_and_never_answers) {
    const PairReport report = run(small_plan(), small_responder(), to_answers(5, [](Frame frame) {
                                      frame.back() ^= 0x10;
                                      return Frames{frame};
                                  }));
    require_sound(report);
    BOOST_TEST(report.client.bad_checksum == 40u);
    BOOST_TEST(report.count(QueryState::kNever) == 40u);
    BOOST_TEST(report.bad_frames.size() == 40u);
    constexpr judge::Layer kUdp{judge::Depth::kPlain, judge::Protocol::kUdp};
    const auto& udp = report.checksums[judge::index_of(kUdp)];
    BOOST_TEST(udp[static_cast<std::size_t>(judge::ChecksumState::kBad)] == 40u);
    BOOST_TEST(udp[static_cast<std::size_t>(judge::ChecksumState::kGood)] == 160u);
}

BOOST_AUTO_TEST_CASE(answers_from_another_address_are_misdelivered_and_kept) {
    const PairReport report = run(small_plan(), small_responder(), to_answers(5, [](Frame frame) {
                                      // The last byte of the IPv4 source address.
                                      frame[26 + 3] = 99;
                                      mend_checksums(frame);
                                      return Frames{frame};
                                  }));
    require_sound(report);
    BOOST_TEST(report.count(QueryState::kWrongSource) == 40u);
    BOOST_TEST((report.records[5].answer_source == endpoint("203.0.113.99:53")));
    BOOST_TEST(report.misdelivered_frames.size() == 40u);
}

BOOST_AUTO_TEST_CASE(the_right_answer_after_a_wrong_one_counts) {
    const PairReport report = run(small_plan(), small_responder(), to_answers(5, [](Frame frame) {
                                      Frame forged = frame;
                                      forged[26 + 3] = 99;
                                      mend_checksums(forged);
                                      return Frames{forged, frame};
                                  }));
    require_sound(report);
    BOOST_TEST(report.count(QueryState::kAnswered) == 200u);
    BOOST_TEST(report.records[5].duplicates == 1);
    BOOST_TEST((report.records[5].answer_source == endpoint("203.0.113.2:53")));
}

BOOST_AUTO_TEST_CASE(wrong_ids_wrong_records_and_wrong_clients_are_wrong) {
    const PairReport report = run(small_plan(), small_responder(), to_answers(1, [](Frame frame) {
                                      switch (sequence(frame) % 4) {
                                          case 0: frame[message_offset(frame)] ^= 1; break;
                                          case 1:
                                              frame.back() ^= 1;
                                              break;  // the address in the record
                                          case 2:
                                              frame[30 + 3] ^= 8;
                                              break;  // the client's address
                                          default: break;
                                      }
                                      mend_checksums(frame);
                                      return Frames{frame};
                                  }));
    require_sound(report);
    BOOST_TEST(report.count(QueryState::kWrong) == 150u);
    BOOST_TEST(report.count(QueryState::kAnswered) == 50u);
    BOOST_TEST((report.records[3].state == QueryState::kAnswered));
}

BOOST_AUTO_TEST_CASE(answers_after_the_timeout_are_late) {
    PairPlan plan = small_plan();
    plan.answer_timeout = 500ms;  // a busy machine may hold the others up
    ResponderPlan responder = small_responder();
    responder.rules.insert(
        responder.rules.begin(),
        {.qtype = frame::kDnsTypeAaaa, .addresses = responder.rules[0].addresses, .delay = 700ms});
    const PairReport report = run(plan, responder, unchanged);
    require_sound(report);
    BOOST_TEST(report.count(QueryState::kLate) == 100u);
    BOOST_TEST((report.records[1].state == QueryState::kLate));
    BOOST_TEST(report.records[1].answered_ns - report.records[1].sent_ns >= 700'000'000);
    BOOST_TEST(report.latency.max_ns >= 700'000'000);
}

BOOST_AUTO_TEST_CASE(the_responders_own_losses_are_the_unanswered_queries) {
    ResponderPlan responder = small_responder();
    responder.rules[0].loss = 0.3;
    const PairReport report = run(small_plan(), responder, unchanged);
    require_sound(report);
    BOOST_TEST(report.count(QueryState::kNever) > 20u);
    BOOST_TEST(report.count(QueryState::kNever) < 110u);
    BOOST_TEST(report.server.answers == 200u);
}

BOOST_AUTO_TEST_CASE(foreign_frames_are_counted_apart) {
    const PairReport report = run(small_plan(), small_responder(), to_answers(20, [](Frame frame) {
                                      Frame foreign =
                                          query_frame(plain_spec(), frame::kDnsTypeA, 5);
                                      Frame cut(frame.begin(), frame.begin() + 30);
                                      return Frames{frame, foreign, cut};
                                  }));
    require_sound(report);
    BOOST_TEST(report.client.other_traffic == 10u);
    BOOST_TEST(report.client.malformed == 10u);
    BOOST_TEST(report.count(QueryState::kAnswered) == 200u);
}

BOOST_AUTO_TEST_CASE(carried_pairs_are_answered_through_the_tunnel) {
    PairPlan plan = small_plan();
    plan.departure = Departure::kOneBurst;
    for (std::size_t n = 0; n < 2; ++n) {
        plan.members[n].port = 0;
        plan.members[n].carrier = VxlanCarrier{.vni = 42,
                                               .source_mac = plan.members[0].source_mac,
                                               .destination_mac = plan.members[0].destination_mac,
                                               .source = endpoint("198.51.100.1:5000"),
                                               .destination = endpoint("198.51.100.2:4789"),
                                               .udp_checksum = n == 0};
        plan.members[n].carrier->source.port = static_cast<std::uint16_t>(5000 + n);
    }
    std::mutex guard;
    std::vector<std::uint16_t> outer_ports;
    const PairReport report = run(plan, small_responder(), [&](Way way, const Frame& frame) {
        if (way == Way::kToServer) {
            const std::lock_guard lock(guard);
            outer_ports.push_back(read_frame(frame).view.outer.source_port);
        }
        return Frames{frame};
    });
    require_sound(report);
    BOOST_TEST(report.count(QueryState::kAnswered) == 200u);
    BOOST_TEST(std::ranges::count(outer_ports, 5000) == 100);
    BOOST_TEST(std::ranges::count(outer_ports, 5001) == 100);
}

BOOST_AUTO_TEST_CASE(pairs_over_ipv6_are_answered) {
    PairPlan plan = small_plan();
    plan.service = endpoint("[2001:db8:1::2]:53");
    plan.members[0].first_client = plan.members[1].first_client = ip_of("2001:db8::1");
    const PairReport report = run(plan, small_responder(), unchanged);
    require_sound(report);
    BOOST_TEST(report.count(QueryState::kAnswered) == 200u);
}

BOOST_AUTO_TEST_CASE(warm_up_frames_are_right_come_from_nowhere_and_count_as_nothing) {
    PairPlan plan = small_plan();
    plan.warm_up = true;
    std::atomic<unsigned> from_nowhere = 0;
    std::atomic<unsigned> wrong = 0;
    const PairReport report = run(plan, small_responder(), [&](Way way, const Frame& frame) {
        const auto source = frame::parse_frame(frame, {}).outer.source;
        from_nowhere += way == Way::kToServer && source == ip_of("255.255.255.255") ? 1 : 0;
        wrong += is_right(frame) ? 0 : 1;
        return Frames{frame};
    });
    require_sound(report);
    BOOST_TEST(from_nowhere == 200u);
    BOOST_TEST(wrong == 0u);
    BOOST_TEST(report.departures.sent == 200u);
    BOOST_TEST(report.count(QueryState::kAnswered) == 200u);
    BOOST_TEST(report.server.answers == 200u);
    BOOST_TEST(report.server.other_traffic == 200u);
    BOOST_TEST(report.client.received == 200u);
}

BOOST_AUTO_TEST_CASE(a_run_that_is_stopped_says_so_and_still_balances) {
    PairPlan plan = small_plan();
    plan.pairs = 100'000;
    std::atomic<bool> stop = false;
    ring_ports();
    const Middle middle(unchanged);
    std::thread stopper([&stop] {
        std::this_thread::sleep_for(150ms);
        stop = true;
    });
    const auto report = run_pairs(port::eal(), ring_ports(), plan, small_responder(), stop);
    stopper.join();
    BOOST_REQUIRE_MESSAGE(report, report.error().message);
    const auto objections = objections_but_late(*report);
    BOOST_REQUIRE(objections.size() == 1u);
    BOOST_TEST(objections[0].starts_with("stopped after "), objections[0]);
    BOOST_TEST(report->departures.sent > 50u);
    BOOST_TEST(report->departures.sent < 2000u);
    BOOST_TEST(report->records.size() == 200'000u);
    BOOST_TEST(report->seconds < 1.0);
}

BOOST_AUTO_TEST_CASE(frames_that_the_driver_does_not_take_are_refused_not_sent) {
    PairPlan plan = small_plan();
    plan.pairs = kRingSize + 99;  // nobody empties the ring
    plan.pairs_per_second = 50'000;
    plan.drain = 1ms;
    const std::atomic<bool> stop = false;
    ring_ports();
    { const Middle emptied(unchanged); }
    const auto report = run_pairs(port::eal(), ring_ports(), plan, std::nullopt, stop);
    BOOST_REQUIRE_MESSAGE(report, report.error().message);
    // The pair that was made last stayed with the tester; no more were made.
    BOOST_TEST(report->departures.refused == 2u);
    BOOST_TEST(report->departures.sent == 2u * (kRingSize - 1));
    BOOST_TEST(judge::audit(*report).empty());
    const auto objected = [&](const std::string& words) {
        return std::ranges::any_of(report->objections, [&](const std::string& text) {
            return test::contains(text, words);
        });
    };
    BOOST_TEST(objected("2 queries were made, and the driver did not take them"));
    BOOST_TEST(objected("stopped after 2047 of 2147 pairs"));
    BOOST_TEST(objected("a client port sent nothing for 100 ms"));
}

BOOST_AUTO_TEST_CASE(plans_that_make_no_sense_are_refused_before_anything_is_sent) {
    const auto refused = [](auto change, const std::string& word) {
        PairPlan plan = small_plan();
        ResponderPlan responder = small_responder();
        change(plan, responder);
        const Status status = check_plan(plan, responder, 3, 2);
        BOOST_REQUIRE_MESSAGE(!status, word);
        BOOST_TEST(status.error().message.find(word) != std::string::npos, status.error().message);
    };
    refused([](PairPlan& plan, ResponderPlan&) { plan.pairs = 0; }, "pairs");
    refused([](PairPlan& plan, ResponderPlan&) { plan.pairs_per_second = 0; }, "rate");
    refused([](PairPlan& plan, ResponderPlan&) { plan.pairs_per_second = 1e9; }, "rate");
    refused([](PairPlan& plan, ResponderPlan&) { plan.members[1].port = 0; }, "two ports");
    refused([](PairPlan& plan, ResponderPlan&) { plan.members[1].port = 3; }, "port 3");
    refused([](PairPlan& plan, ResponderPlan&) { plan.departure = Departure::kOneBurst; }, "burst");
    refused([](PairPlan& plan, ResponderPlan&) { plan.skew = 2ms; }, "skew");
    refused([](PairPlan& plan, ResponderPlan&) { plan.first_source_port = 65'500; },
            "source ports");
    refused([](PairPlan& plan, ResponderPlan&) { plan.members[0].first_client = ip_of("::1"); },
            "families");
    refused([](PairPlan&, ResponderPlan& responder) { responder.port = 1; }, "at once");
    refused([](PairPlan&, ResponderPlan& responder) { responder.rules[0].loss = 2; }, "loss");
    BOOST_TEST(!check_plan(small_plan(), small_responder(), 3, 1));
    BOOST_TEST(bool(check_plan(small_plan(), small_responder(), 3, 2)));
}

BOOST_AUTO_TEST_CASE(delays_for_which_there_is_no_memory_are_refused) {
    PairPlan plan = small_plan();
    plan.pairs = 1'000'000;
    plan.pairs_per_second = 100'000;
    ResponderPlan responder = small_responder();
    responder.rules[0].delay = 10s;
    const std::atomic<bool> stop = false;
    const auto report = run_pairs(port::eal(), ring_ports(), plan, responder, stop);
    BOOST_REQUIRE(!report);
    BOOST_TEST(report.error().message.find("memory") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
