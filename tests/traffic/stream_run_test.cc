#include "dataplane/traffic/stream_run.h"

#include <boost/test/unit_test.hpp>
#include <thread>

#include "dataplane/traffic/responder.h"
#include "tests/port/eal_fixture.h"
#include "tests/traffic/middle.h"

using namespace pathproof;
using namespace pathproof::traffic;
using namespace std::chrono_literals;
using judge::QueryState;

namespace {

StreamPlan small_stream() {
    StreamPlan plan;
    plan.groups = 300;
    plan.groups_per_second = 2000;
    plan.spec = plain_spec();
    plan.source_ports = 50;
    plan.drain = 100ms;
    return plan;
}

// Stands at the far end of port 0 and answers, or keeps still; keeps what came.
class FarEnd {
  public:
    explicit FarEnd(std::vector<AnswerRule> rules) {
        first_client_end().left();  // of a run before
        thread_ = std::thread([this, rules] { run(rules); });
    }
    FarEnd(const FarEnd&) = delete;
    FarEnd& operator=(const FarEnd&) = delete;
    ~FarEnd() { stop(); }

    const Frames& stop() {
        stop_ = true;
        if (thread_.joinable()) {
            thread_.join();
        }
        return came_;
    }

  private:
    void run(const std::vector<AnswerRule>& rules) {
        auto responder = Responder::make({.rules = rules, .tunnel_ports = {4789}, .pending = 4096});
        BOOST_REQUIRE(responder);
        while (!stop_) {
            for (Frame& frame : first_client_end().left()) {
                responder->take(frame, 0);
                came_.push_back(std::move(frame));
            }
            while (responder->next_due() && !rules.empty()) {
                const frame::Bytes answer = responder->next_answer();
                first_client_end().arrive({answer.begin(), answer.end()});
                responder->take_off(Responder::Outcome::kSent);
            }
            std::this_thread::sleep_for(50us);
        }
    }

    std::atomic<bool> stop_ = false;
    Frames came_;
    std::thread thread_;
};

StreamReport run(const StreamPlan& plan, const std::atomic<bool>& stop = false) {
    auto report = run_stream(port::eal(), ring_ports()[0], plan, stop);
    BOOST_REQUIRE_MESSAGE(report, report.error().message);
    return std::move(*report);
}

std::uint64_t state(const StreamReport& report, QueryState state) {
    return report.answers.states[static_cast<std::size_t>(state)];
}

const AnswerRule kAddress{.addresses = {ip("192.0.2.53"), ip("2001:db8::53")}};

}  // namespace

BOOST_AUTO_TEST_SUITE(stream)

BOOST_AUTO_TEST_CASE(exactly_the_count_leaves_at_exactly_the_rate) {
    ring_ports();
    FarEnd far({kAddress});
    const StreamReport report = run(small_stream());
    const Frames& came = far.stop();
    BOOST_TEST(report.sent == 300u);
    BOOST_TEST(came.size() == 300u);
    BOOST_TEST(report.port.tx_packets == 300u);
    BOOST_TEST(state(report, QueryState::kAnswered) == 300u);
    BOOST_TEST(report.unanswered() == 0u);
    BOOST_TEST(report.received.answers == 300u);
    // 299 intervals of 500 us; the ends may each be late on a busy machine.
    BOOST_TEST(std::abs(report.sending_seconds - 0.1495) < 0.02);
    for (std::uint32_t n = 0; n < came.size(); ++n) {
        const ReadFrame query = read_frame(came[n]);
        BOOST_TEST(*query.sequence == n);
        BOOST_TEST(query.view.outer.source_port == 10'000 + n % 50);
        BOOST_TEST((query.view.outer.source == ip("198.18.0.1").plus(n / 50)));
    }
}

BOOST_AUTO_TEST_CASE(pairs_leave_from_one_socket_with_a_type_each) {
    ring_ports();
    FarEnd far({kAddress});
    StreamPlan plan = small_stream();
    plan.group = {frame::kDnsTypeA, frame::kDnsTypeAaaa};
    const StreamReport report = run(plan);
    const Frames& came = far.stop();
    BOOST_TEST(report.sent == 600u);
    BOOST_TEST(state(report, QueryState::kAnswered) == 600u);
    BOOST_REQUIRE(came.size() == 600u);
    for (std::size_t n = 0; n < came.size(); n += 2) {
        const ReadFrame first = read_frame(came[n]);
        const ReadFrame second = read_frame(came[n + 1]);
        BOOST_TEST((first.view.outer.source_endpoint() == second.view.outer.source_endpoint()));
        BOOST_TEST(first.question->type == frame::kDnsTypeA);
        BOOST_TEST(second.question->type == frame::kDnsTypeAaaa);
    }
}

BOOST_AUTO_TEST_CASE(outer_source_ports_take_turns) {
    ring_ports();
    FarEnd far({kAddress});
    StreamPlan plan = small_stream();
    plan.spec = carried_spec();
    plan.outer_source_ports = {5000, 5001, 5002};
    const StreamReport report = run(plan);
    const Frames& came = far.stop();
    BOOST_TEST(state(report, QueryState::kAnswered) == 300u);
    for (std::size_t n = 0; n < came.size(); ++n) {
        BOOST_TEST(read_frame(came[n]).view.outer.source_port == 5000 + n % 3);
    }
}

BOOST_AUTO_TEST_CASE(checksums_made_wrong_are_wrong_in_every_frame_and_in_that_layer_only) {
    constexpr std::uint16_t kTunnelPorts[] = {4789};
    ring_ports();
    FarEnd far({});
    StreamPlan plan = small_stream();
    plan.spec = carried_spec();
    plan.spec.packet.transport_checksum = frame::ChecksumMode::kPlusOne;
    plan.drain = 1ms;
    const StreamReport report = run(plan);
    std::this_thread::sleep_for(20ms);
    const Frames& came = far.stop();
    BOOST_TEST(report.unanswered() == 300u);
    BOOST_REQUIRE(came.size() == 300u);
    constexpr judge::Layer kInnerUdp{judge::Depth::kInner, judge::Protocol::kUdp};
    for (const Frame& frame : came) {
        const judge::FrameVerdict verdict = judge::verify_slowly(frame, kTunnelPorts);
        for (const judge::ChecksumFinding& finding : verdict.all()) {
            const bool bad = finding.state == judge::ChecksumState::kBad;
            BOOST_TEST(bad == (finding.layer == kInnerUdp), judge::name(finding.layer));
        }
    }
}

BOOST_AUTO_TEST_CASE(the_same_seed_gives_the_same_frames) {
    ring_ports();
    const auto frames_of = [](std::uint64_t seed) {
        FarEnd far({});
        StreamPlan plan = small_stream();
        plan.groups = 20;
        plan.seed = seed;
        plan.drain = 20ms;
        run(plan);
        return far.stop();
    };
    BOOST_TEST((frames_of(3) == frames_of(3)));
    BOOST_TEST((frames_of(3) != frames_of(4)));
}

BOOST_AUTO_TEST_CASE(a_stream_that_is_stopped_is_partial_and_counts_what_left) {
    ring_ports();
    FarEnd far({kAddress});
    StreamPlan plan = small_stream();
    plan.groups = 100'000;
    std::atomic<bool> stop = false;
    std::thread stopper([&stop] {
        std::this_thread::sleep_for(100ms);
        stop = true;
    });
    const StreamReport report = run(plan, stop);
    stopper.join();
    BOOST_TEST(report.partial);
    BOOST_TEST(report.sent > 50u);
    BOOST_TEST(report.sent < 1000u);
    BOOST_TEST(state(report, QueryState::kAnswered) + report.unanswered() == report.sent);
}

BOOST_AUTO_TEST_CASE(what_the_driver_does_not_take_is_refused_not_sent) {
    ring_ports();
    first_client_end().left();
    StreamPlan plan = small_stream();
    plan.groups = kRingSize + 49;  // nobody empties the ring
    plan.groups_per_second = 100'000;
    plan.drain = 1ms;
    const StreamReport report = run(plan);
    BOOST_TEST(report.sent == kRingSize - 1);
    BOOST_TEST(report.refused == 50u);
    BOOST_TEST(report.port.tx_packets == report.sent);
    BOOST_TEST(report.unanswered() == report.sent);
}

BOOST_AUTO_TEST_CASE(a_rate_that_is_not_reached_is_said) {
    ring_ports();
    FarEnd far({});
    StreamPlan plan = small_stream();
    plan.groups = 2000;
    plan.groups_per_second = 90e6;
    plan.drain = 1ms;
    const StreamReport report = run(plan);
    BOOST_TEST(report.sent == 2000u);
    BOOST_REQUIRE(!report.objections.empty());
    BOOST_TEST(report.objections[0].starts_with("the rate was not reached"), report.objections[0]);
}

BOOST_AUTO_TEST_CASE(streams_that_make_no_sense_are_refused) {
    const auto refused = [](auto change, const std::string& word) {
        StreamPlan plan = small_stream();
        change(plan);
        const Status status = check_stream(plan);
        BOOST_REQUIRE_MESSAGE(!status, word);
        BOOST_TEST(status.error().message.find(word) != std::string::npos, status.error().message);
    };
    refused([](StreamPlan& plan) { plan.groups = 0; }, "count");
    refused([](StreamPlan& plan) { plan.groups = 1'000'000'000; }, "count");
    refused([](StreamPlan& plan) { plan.groups_per_second = 0; }, "rate");
    refused([](StreamPlan& plan) { plan.groups_per_second = 1e9; }, "rate");
    refused([](StreamPlan& plan) { plan.group = {1, 28, 1}; }, "together");
    refused([](StreamPlan& plan) { plan.source_ports = 60'000; }, "source ports");
    refused([](StreamPlan& plan) { plan.outer_source_ports = {1}; }, "envelope");
}

BOOST_AUTO_TEST_SUITE_END()
