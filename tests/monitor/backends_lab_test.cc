#include <fmt/format.h>
#include <sys/socket.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>
#include <vector>

#include "harness/monitor/monitor.h"
#include "harness/process/program.h"
#include "tests/monitor/lab_socket.h"
#include "tests/netfilter/lab_namespace.h"

using namespace pathproof;
using namespace pathproof::monitor;
using namespace std::chrono_literals;
using netfilter::lab::Namespace;
using Clock = std::chrono::steady_clock;

namespace {

constexpr const char* kService = "10.96.0.10";
constexpr const char* kNobody = "10.96.0.11";  // a service without endpoints
constexpr unsigned kFlowsEach = 24;
constexpr auto kSlowness = 1300ms;

// Client - router with the service's DNAT rules - host of the backends .1 healthy, .2 dead, .3
// refusing, .4 slow.
struct Lab {
    Namespace client{"bkc"}, router{"bkr"}, host{"bkh"};

    Lab() {
        link(client, "198.18.0.1/24", "198.18.0.254/24", "to-client");
        link(host, "10.1.0.1/24", "10.1.0.254/24", "to-host");
        client.run("ip route add default via 198.18.0.254");
        host.run("ip route add default via 10.1.0.254");
        for (const char* address : {"10.1.0.2/24", "10.1.0.3/24", "10.1.0.4/24"}) {
            host.run(fmt::format("ip address add {} dev eth0", address));
        }
        host.run("iptables -A INPUT -d 10.1.0.2 -j DROP");
        router.run("sysctl -qw net.ipv4.ip_forward=1");
        balance("udp", 53, 4);
        balance("tcp", 80, 3);
        // Without a route the packets would not come as far as the rule.
        router.run(fmt::format("ip route add {} via 10.1.0.1", kNobody));
        router.run(fmt::format("iptables -A FORWARD -d {} -j REJECT", kNobody));
    }

    void link(const Namespace& end, const char* its, const char* routers, const char* name) const {
        router.run(
            fmt::format("ip link add {} type veth peer name eth0 netns {}", name, end.name()));
        router.run(fmt::format("ip address add {} dev {}", routers, name));
        router.run(fmt::format("ip link set {} up", name));
        end.run(fmt::format("ip address add {} dev eth0", its));
        end.run("ip link set eth0 up");
    }

    // Each backend gets every n-th flow.
    void balance(const char* protocol, unsigned port, unsigned backends) const {
        for (unsigned i = 1; i <= backends; ++i) {
            router.run(fmt::format(
                "iptables -t nat -A PREROUTING -p {} -d {} --dport {} -m statistic --mode nth "
                "--every {} --packet 0 -j DNAT --to-destination 10.1.0.{}:{}",
                protocol, kService, port, backends - i + 1, i, port));
        }
    }
};

// Answers the healthy backend's queries at once and the slow one's after a while, until nothing is
// left to answer.
class Answerer {
  public:
    explicit Answerer(const Namespace& host)
        : healthy_(host.name(), SOCK_DGRAM), slow_(host.name(), SOCK_DGRAM) {
        healthy_.bind("10.1.0.1", 53);
        slow_.bind("10.1.0.4", 53);
    }

    void serve(Clock::duration time) {
        for (const auto end = Clock::now() + time; Clock::now() < end;) {
            while (const auto asker = healthy_.receive_waiting()) {
                healthy_.send_to(*asker);
            }
            while (const auto asker = slow_.receive_waiting()) {
                later_.emplace_back(Clock::now() + kSlowness, *asker);
            }
            while (!later_.empty() && later_.front().first <= Clock::now()) {
                slow_.send_to(later_.front().second);
                later_.pop_front();
            }
            std::this_thread::sleep_for(1ms);
        }
    }

  private:
    lab::LabSocket healthy_, slow_;
    std::deque<std::pair<Clock::time_point, sockaddr_in>> later_;
};

std::vector<lab::LabSocket> ask(const Lab& lab, const char* service, unsigned flows) {
    std::vector<lab::LabSocket> sockets;
    for (unsigned i = 0; i < flows; ++i) {
        sockets.emplace_back(lab.client.name(), SOCK_DGRAM);
        sockets.back().send_to(lab::end_of(service, 53));
    }
    return sockets;
}

std::vector<lab::LabSocket> call(const Lab& lab, unsigned flows) {
    std::vector<lab::LabSocket> sockets;
    for (unsigned i = 0; i < flows; ++i) {
        sockets.emplace_back(lab.client.name(), SOCK_STREAM);
        sockets.back().connect(kService, 80);
    }
    return sockets;
}

const BackendHealth& backend(const BackendReport& report, std::uint8_t protocol,
                             const std::string& address) {
    for (const ServiceHealth& service : report.services) {
        for (const BackendHealth& health : service.backends) {
            if (service.protocol == protocol && frame::to_string(health.address) == address) {
                return health;
            }
        }
    }
    BOOST_FAIL("no backend " << address);
    std::abort();
}

BackendVerdict verdict_of(const BackendReport& report, std::uint8_t protocol,
                          const std::string& address) {
    const BackendHealth& health = backend(report, protocol, address);
    BOOST_TEST_MESSAGE(fmt::format("{} {}: {} flows, {} judged, {} unanswered, {} refused ({})",
                                   protocol, address, health.flows, health.judged,
                                   health.unanswered, health.refused, health.last_refusal));
    return health.verdict;
}

}  // namespace

BOOST_AUTO_TEST_CASE(healthy_slow_dead_and_refusing_backends_are_told_apart) {
    const Lab lab;
    Answerer answerer(lab.host);
    lab::LabSocket web(lab.host.name(), SOCK_STREAM);
    web.bind("10.1.0.1", 80);
    web.listen();
    auto monitor = Monitor::start({.netns = lab.router.name()});
    BOOST_REQUIRE_MESSAGE(monitor, monitor.error().message);

    const auto askers = ask(lab, kService, 4 * kFlowsEach);
    const auto callers = call(lab, 3 * kFlowsEach);
    const auto nobodys = ask(lab, kNobody, 3);
    answerer.serve(kSlowness + 1500ms);

    const BackendReport report = (*monitor)->snapshot().backends;
    BOOST_TEST(report.refusals_watched, report.refusals_source);
    BOOST_TEST((verdict_of(report, IPPROTO_UDP, "10.1.0.1:53") == BackendVerdict::kHealthy));
    BOOST_TEST((verdict_of(report, IPPROTO_UDP, "10.1.0.2:53") == BackendVerdict::kDead));
    BOOST_TEST((verdict_of(report, IPPROTO_UDP, "10.1.0.3:53") == BackendVerdict::kRefusing));
    BOOST_TEST((verdict_of(report, IPPROTO_UDP, "10.1.0.4:53") == BackendVerdict::kSlow));
    BOOST_TEST((verdict_of(report, IPPROTO_TCP, "10.1.0.1:80") == BackendVerdict::kHealthy));
    BOOST_TEST((verdict_of(report, IPPROTO_TCP, "10.1.0.2:80") == BackendVerdict::kDead));
    BOOST_TEST((verdict_of(report, IPPROTO_TCP, "10.1.0.3:80") == BackendVerdict::kRefusing));

    for (const char* address : {"10.1.0.1:53", "10.1.0.2:53", "10.1.0.3:53", "10.1.0.4:53"}) {
        BOOST_TEST(backend(report, IPPROTO_UDP, address).flows == kFlowsEach);
        BOOST_TEST(backend(report, IPPROTO_UDP, address).judged == kFlowsEach);
    }
    BOOST_TEST(backend(report, IPPROTO_UDP, "10.1.0.3:53").last_refusal ==
               "port unreachable from 10.1.0.3");
    BOOST_TEST(backend(report, IPPROTO_UDP, "10.1.0.2:53").refused == 0U);
    BOOST_TEST(*backend(report, IPPROTO_UDP, "10.1.0.4:53").median_answer_ns > 1'200'000'000);
    // Every connection to a closed port ends in a reset, which takes its entry away.
    BOOST_TEST(backend(report, IPPROTO_TCP, "10.1.0.3:80").refused == kFlowsEach);
    BOOST_TEST(backend(report, IPPROTO_TCP, "10.1.0.3:80").in_table == 0);
    BOOST_TEST(backend(report, IPPROTO_TCP, "10.1.0.3:80").last_refusal == "reset");

    BOOST_REQUIRE_EQUAL(report.stray_refusals.size(), 1U);
    BOOST_TEST(frame::to_string(report.stray_refusals[0].destination) == "10.96.0.11:53");
    BOOST_TEST(report.stray_refusals[0].packets == 3U);
    BOOST_TEST(report.stray_refusals[0].refusal == "port unreachable from 198.18.0.254");
}

BOOST_AUTO_TEST_CASE(one_dump_shows_who_answers_and_who_does_not) {
    const Lab lab;
    Answerer answerer(lab.host);
    const auto askers = ask(lab, kService, 4 * kFlowsEach);
    answerer.serve(300ms);
    const auto output = process::run_program({std::getenv("PATHPROOF"), "inspect", "backends",
                                              "udp", "--json", "--netns", lab.router.name()});
    BOOST_REQUIRE(output);
    BOOST_TEST(output->exit_status == 0);
    std::istringstream lines(output->out);
    std::size_t backends = 0;
    for (std::string line; std::getline(lines, line);) {
        const auto value = nlohmann::json::parse(line);
        if (!value.contains("backend")) {
            BOOST_TEST(value["summary"]["refusals_watched"] == false);
            continue;
        }
        ++backends;
        BOOST_TEST(value["service"] == "10.96.0.10:53");
        BOOST_TEST(value["flows"] == kFlowsEach);
        BOOST_TEST(value["verdict"] ==
                   (value["backend"] == "10.1.0.1:53" ? "healthy" : "dead or refusing"));
    }
    BOOST_TEST(backends == 4U);
}

BOOST_AUTO_TEST_CASE(a_snapshot_holds_counts_rates_and_the_table) {
    const Lab lab;
    auto monitor = Monitor::start({.netns = lab.router.name(), .counters_every = 200ms});
    BOOST_REQUIRE_MESSAGE(monitor, monitor.error().message);
    Answerer answerer(lab.host);
    const auto askers = ask(lab, kService, 40);
    answerer.serve(600ms);
    const Snapshot snapshot = (*monitor)->snapshot();
    BOOST_TEST(snapshot.failure.empty(), snapshot.failure);
    BOOST_TEST(snapshot.events.created == 40U);
    BOOST_TEST(snapshot.events.updated >= 10U);
    BOOST_TEST(snapshot.events.overruns == 0U);
    BOOST_TEST(snapshot.table.entries == 40U);
    BOOST_TEST(snapshot.table.maximum > 0U);
    BOOST_TEST(!snapshot.cpus.empty());
    BOOST_TEST(snapshot.rates.seconds > 0.0);
    BOOST_TEST(snapshot.backends.services.size() == 1U);
    BOOST_TEST(!snapshot.drops.has_value());
}
