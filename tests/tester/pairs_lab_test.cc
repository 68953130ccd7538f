// Query pairs through the tester process: its two ports are the ends of one veth pair.
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <thread>

#include "dataplane/port/device_name.h"
#include "harness/process/program.h"
#include "harness/tester/client.h"
#include "tests/tester/traffic.h"

using namespace pathproof;
using namespace pathproof::tester;
using namespace std::chrono_literals;

namespace {

class Cable {
  public:
    Cable() {
        in("", "ip netns add " + netns_);
        in(netns_,
           "echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6; ip link add q0 type veth peer name "
           "q1 && "
           "ip link set q0 up && ip link set q1 up");
        auto client =
            Client::start({.netns = netns_,
                           .ports = {{.name = "q0", .device = port::af_packet_device("q0")},
                                     {.name = "q1", .device = port::af_packet_device("q1")}},
                           .worker_cpus = {0, 1}});
        BOOST_REQUIRE_MESSAGE(client, client.error().message);
        client_ = std::move(*client);
    }
    Cable(const Cable&) = delete;
    Cable& operator=(const Cable&) = delete;
    ~Cable() {
        client_.reset();
        process::run_program({"ip", "netns", "del", netns_}).has_value();
    }

    Client& client() { return *client_; }

  private:
    const std::string netns_ = "pp-tp" + std::to_string(getpid());
    std::unique_ptr<Client> client_;
};

pairs::PairPlan plan(const std::vector<port::PortInfo>& ports, std::uint64_t pairs) {
    pairs::PairPlan plan;
    plan.pairs = pairs;
    plan.pairs_per_second = 1000;
    plan.departure = pairs::Departure::kOneBurst;
    for (std::size_t member = 0; member < 2; ++member) {
        plan.members[member].source_mac = ports[0].mac;
        plan.members[member].destination_mac = ports[1].mac;
        plan.members[member].first_client = *frame::parse_ip("198.18.0.2");
        plan.members[member].qtype = member == 0 ? 1 : 28;
    }
    plan.service = *frame::parse_endpoint("198.51.100.10:53");
    plan.drain = 200ms;
    return plan;
}

const traffic::ResponderPlan kAnswers{
    .port = 1,
    .rules = {{.addresses = {*frame::parse_ip("192.0.2.7"), *frame::parse_ip("2001:db8::7")}}}};

}  // namespace

BOOST_AUTO_TEST_SUITE(pairs_lab, *boost::unit_test::label("lab"))

BOOST_AUTO_TEST_CASE(every_query_is_answered_and_the_ports_lose_nothing) {
    Cable cable;
    const auto report = cable.client().run_pairs(plan(cable.client().ports(), 300), kAnswers);
    BOOST_REQUIRE_MESSAGE(report, report.error().message);
    BOOST_TEST(report->records.size() == 600u);
    BOOST_TEST(report->count(judge::QueryState::kAnswered) == 600u);
    BOOST_TEST(report->tester_lost == 0u);
    BOOST_REQUIRE(report->ports.size() == 2u);
    BOOST_TEST(report->ports[0].rx_packets == 600u);
    BOOST_TEST(report->ports[1].rx_packets == 600u);
    BOOST_TEST(report->bad_frames.empty());
}

BOOST_AUTO_TEST_CASE(a_plan_that_makes_no_sense_is_refused_by_the_tester) {
    Cable cable;
    pairs::PairPlan wrong = plan(cable.client().ports(), 10);
    wrong.members[0].port = 9;
    const auto refused = cable.client().run_pairs(wrong, kAnswers);
    BOOST_REQUIRE(!refused);
    BOOST_TEST((refused.error().code == ErrorCode::kBadInput));
    const auto nowhere = cable.client().run_pairs(plan(cable.client().ports(), 10), kAnswers,
                                                  "/pp-no-such-folder/x.pcapng");
    BOOST_REQUIRE(!nowhere);
    BOOST_TEST(nowhere.error().message.find("/pp-no-such-folder/x.pcapng") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_run_that_is_cancelled_ends_soon_and_says_so) {
    Cable cable;
    const auto began = std::chrono::steady_clock::now();
    std::thread canceller([&] {
        std::this_thread::sleep_for(400ms);
        cable.client().cancel().has_value();
    });
    const auto report = cable.client().run_pairs(plan(cable.client().ports(), 30'000), kAnswers);
    canceller.join();
    BOOST_REQUIRE_MESSAGE(report, report.error().message);
    BOOST_TEST((std::chrono::steady_clock::now() - began < 10s));
    BOOST_TEST(!report->objections.empty());
    BOOST_TEST(report->departures.sent < 60'000u);
}

BOOST_AUTO_TEST_CASE(a_tester_killed_during_a_run_fails_the_run_at_once) {
    Cable cable;
    std::thread killer([&] {
        std::this_thread::sleep_for(300ms);
        kill(cable.client().pid(), SIGKILL);
    });
    const auto began = std::chrono::steady_clock::now();
    const auto report = cable.client().run_pairs(plan(cable.client().ports(), 30'000), kAnswers);
    killer.join();
    BOOST_REQUIRE(!report);
    BOOST_TEST((report.error().code == ErrorCode::kUnavailable));
    BOOST_TEST((std::chrono::steady_clock::now() - began < 5s));
}

BOOST_AUTO_TEST_SUITE_END()
