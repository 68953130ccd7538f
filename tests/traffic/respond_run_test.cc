#include "dataplane/traffic/respond_run.h"

#include <boost/test/unit_test.hpp>
#include <thread>

#include "tests/pairs/middle.h"
#include "tests/port/eal_fixture.h"

BOOST_AUTO_TEST_SUITE(respond)

using namespace pathproof;
using namespace pathproof::traffic;
using namespace std::chrono_literals;

namespace {

const AnswerRule kAddress{.addresses = {ip_of("192.0.2.53"), ip_of("2001:db8::53")}};

// Holds one frame less.
constexpr unsigned kRingSize = 2048;

// The port is made once for the process and never closed: the EAL is gone when static objects are.
port::RingPort& one_queue() {
    static auto* port = new port::RingPort(port::RingPort::make("oneq", kRingSize));
    return *port;
}
port::RingPort& two_queues() {
    static auto* port = new port::RingPort(port::RingPort::make("twoq", kRingSize, 2));
    return *port;
}

RespondPlan plan(std::vector<AnswerRule> rules, unsigned workers = 1) {
    return {.responder = {.rules = std::move(rules), .tunnel_ports = {4789}}, .workers = workers};
}

// Runs the responder, and `work` beside it; ends it when that is done.
RespondReport run_beside(port::Port& port, const RespondPlan& plan,
                         const std::function<void()>& work) {
    std::atomic<bool> stop = false;
    std::thread client([&] {
        std::this_thread::sleep_for(50ms);
        work();
        stop = true;
    });
    auto report = run_responder(port::eal(), port, plan, stop);
    client.join();
    BOOST_REQUIRE_MESSAGE(report, report.error().message);
    return std::move(*report);
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_responder_alone_answers_until_it_is_told_to_stop) {
    Frames answers;
    const RespondReport report =
        run_beside(one_queue().port,
                   plan({{.suffix = "q00000007.pathproof.test", .delay = 5s}, kAddress}), [&] {
                       for (std::uint32_t n = 0; n < 40; ++n) {
                           one_queue().end.arrive(query_frame(plain_spec(), frame::kDnsTypeA, n));
                       }
                       std::this_thread::sleep_for(100ms);
                       answers = one_queue().end.left();
                   });
    BOOST_TEST(report.objections.empty());
    BOOST_TEST(report.queries.queries == 40u);
    BOOST_TEST(report.queries.answered == 39u);
    BOOST_TEST(report.queries.quick == 39u);
    BOOST_TEST(report.waiting == 1u);
    BOOST_TEST(answers.size() == 39u);
    BOOST_TEST(*read_frame(answers[0]).sequence == 0u);
}

BOOST_AUTO_TEST_CASE(arp_is_answered_in_place_for_the_addresses_of_the_server) {
    std::vector<std::uint8_t> request(60);
    const std::vector<std::uint8_t> start_of{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2,   0,   0, 0, 0,
                                             1,    0x08, 0x06, 0,    1,    0x08, 0,   6,   4, 0, 1,
                                             2,    0,    0,    0,    0,    1,    198, 18,  0, 1, 0,
                                             0,    0,    0,    0,    0,    203,  0,   113, 2};
    std::ranges::copy(start_of, request.begin());
    RespondPlan asked = plan({kAddress});
    asked.responder.station = neighbour::Station{.mac = one_queue().port.info().mac,
                                                 .addresses = {{ip_of("203.0.113.2")}}};
    Frames left;
    const RespondReport report = run_beside(one_queue().port, asked, [&] {
        one_queue().end.arrive(request);
        request[41] = 3;  // not its own
        one_queue().end.arrive(request);
        one_queue().end.arrive(query_frame(plain_spec(), frame::kDnsTypeA, 1));
        std::this_thread::sleep_for(50ms);
        left = one_queue().end.left();
    });
    BOOST_REQUIRE(left.size() == 2u);
    BOOST_TEST(left[0][21] == 2);
    BOOST_TEST(left[0].size() == 60u);
    BOOST_TEST(report.queries.neighbours == 1u);
    BOOST_TEST(report.queries.answered == 1u);
    BOOST_TEST(report.received.other_traffic == 2u);
    BOOST_TEST(report.objections.empty());
}

BOOST_AUTO_TEST_CASE(the_responder_alone_ends_after_its_duration) {
    const std::atomic<bool> stop = false;
    RespondPlan short_plan = plan({kAddress});
    short_plan.duration = 50ms;
    const auto report = run_responder(port::eal(), one_queue().port, short_plan, stop);
    BOOST_REQUIRE(report);
    BOOST_TEST(report->seconds >= 0.05);
    BOOST_TEST(report->seconds < 0.3);
}

BOOST_AUTO_TEST_CASE(two_lcores_answer_each_on_the_queue_that_the_query_came_in) {
    port::RingPort& rings = two_queues();
    std::array<Frames, 2> answers;
    const RespondReport report = run_beside(rings.port, plan({kAddress}, 2), [&] {
        for (std::uint32_t n = 0; n < 60; ++n) {
            rings.end.arrive(query_frame(plain_spec(), frame::kDnsTypeA, n), n % 3 == 0 ? 1 : 0);
        }
        std::this_thread::sleep_for(100ms);
        answers = {rings.end.left(0), rings.end.left(1)};
    });
    BOOST_TEST(report.objections.empty());
    BOOST_TEST(report.queries.answered == 60u);
    BOOST_TEST(report.received_by_worker == (std::vector<std::uint64_t>{40, 20}),
               boost::test_tools::per_element());
    BOOST_TEST(answers[0].size() == 40u);
    BOOST_TEST(answers[1].size() == 20u);
    BOOST_TEST(*read_frame(answers[1][1]).sequence == 3u);
}

BOOST_AUTO_TEST_CASE(one_lcore_serves_all_queues) {
    port::RingPort& rings = two_queues();
    const RespondReport report = run_beside(rings.port, plan({kAddress}), [&] {
        for (std::uint32_t n = 0; n < 10; ++n) {
            rings.end.arrive(query_frame(plain_spec(), frame::kDnsTypeA, n), n % 2);
        }
        std::this_thread::sleep_for(100ms);
    });
    BOOST_TEST(report.queries.answered == 10u);
    BOOST_TEST(rings.end.left(0).size() == 10u);  // its own transmit queue
}

BOOST_AUTO_TEST_CASE(more_lcores_than_queues_or_workers_are_refused) {
    const std::atomic<bool> stop = false;
    const auto queues = run_responder(port::eal(), one_queue().port, plan({kAddress}, 2), stop);
    BOOST_REQUIRE(!queues);
    BOOST_TEST(queues.error().message.find("1 receive and 1 transmit queues") != std::string::npos);
    const auto lcores = run_responder(port::eal(), two_queues().port, plan({kAddress}, 3), stop);
    BOOST_REQUIRE(!lcores);
    BOOST_TEST(lcores.error().message.find("the EAL has 2") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(answers_that_no_queue_takes_are_counted_and_make_an_objection) {
    constexpr unsigned kNarrow = 256;  // such a ring holds one frame less
    port::RingPort rings = port::RingPort::make("narrow", kNarrow);
    const RespondReport report = run_beside(rings.port, plan({kAddress}), [&] {
        const Frame query = query_frame(plain_spec(), frame::kDnsTypeA);
        for (unsigned n = 0; n < kNarrow + 100; ++n) {
            rings.end.arrive(query);
            if (n % 50 == 0) {
                std::this_thread::sleep_for(20ms);
            }
        }
        std::this_thread::sleep_for(100ms);
    });
    BOOST_TEST(report.queries.answered == kNarrow - 1u);
    BOOST_TEST(report.queries.not_sent == 101u);
    BOOST_REQUIRE(report.objections.size() == 1u);
    BOOST_TEST(report.objections[0].find("did not send 101 answers") != std::string::npos);
    BOOST_TEST(rings.end.left().size() == kNarrow - 1u);
}

BOOST_AUTO_TEST_SUITE_END()
