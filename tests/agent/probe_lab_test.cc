// Probes, counters, sysctls and conntrack through agents in two namespaces.
#include <netinet/tcp.h>

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "harness/agent/connects.h"
#include "harness/agent/name_servers.h"
#include "harness/agent/offload_frames.h"
#include "harness/agent/probes.h"
#include "harness/netfilter/entry.h"
#include "tests/agent/lab.h"
#include "tests/contains.h"

using namespace pathproof;
using namespace pathproof::agent;
using namespace pathproof::agent::test;

namespace {

using pathproof::test::contains;

ProbeResult value(const Result<ProbeResult>& result) {
    BOOST_REQUIRE_MESSAGE(result, result.error().message);
    return *result;
}

void require(const Status& status) {
    BOOST_REQUIRE_MESSAGE(status, status.error().message);
}

// `nstat -asz` without history: every counter's absolute value, zeros too; names as
// "UdpInDatagrams".
std::map<std::string, std::uint64_t> nstat(const std::string& netns) {
    std::map<std::string, std::uint64_t> counters;
    std::istringstream lines(run_in(netns, "nstat -asz"));
    std::string line;
    while (std::getline(lines, line)) {
        std::istringstream words(line);
        std::string name;
        std::uint64_t count = 0;
        if (words >> name >> count && name.front() != '#') {
            counters[name] = count;
        }
    }
    return counters;
}

std::string name_of_nstat(std::string name) {
    std::erase(name, '.');
    return name;
}

Result<std::unique_ptr<Client>> started(const std::vector<std::string>& argv) {
    return Client::start_behind(argv, "", "the agent", std::chrono::seconds(30));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(probes)

BOOST_AUTO_TEST_CASE(ping_works_over_veth_and_vxlan_in_both_families) {
    const Lab lab;
    lab.wait_for_links();
    const auto agent = agent_in(lab.a);
    for (const char* destination :
         {"198.18.77.2", "2001:db8:77::2", "198.19.77.2", "127.0.0.1", "::1"}) {
        for (std::uint32_t payload : {0U, 56U, 1399U, 8000U}) {
            const ProbeResult result = value(agent->ping({.destination = ip(destination),
                                                          .count = 3,
                                                          .payload_bytes = payload,
                                                          .interval = milliseconds(5)}));
            BOOST_TEST(result.ok, destination << " " << payload << ": " << result.outcome);
            BOOST_TEST(result.received == 3U);
        }
    }
}

BOOST_AUTO_TEST_CASE(ping_fails_when_the_peer_is_down_or_unreachable) {
    const Lab lab;
    const auto agent = agent_in(lab.a);
    const ProbeResult nowhere = value(agent->ping({.destination = ip("203.0.113.9"), .count = 1}));
    BOOST_TEST(!nowhere.ok);
    BOOST_TEST(contains(nowhere.outcome, "network is unreachable"), nowhere.outcome);
    run_in(lab.b, "ip link set e0 down");
    const ProbeResult down = value(agent->ping({.destination = ip("198.18.77.2"),
                                                .count = 2,
                                                .interval = milliseconds(10),
                                                .timeout = milliseconds(300)}));
    BOOST_TEST(!down.ok);
    BOOST_TEST(down.received == 0U);
    BOOST_TEST(contains(down.outcome, "0 of 2 echo requests answered"), down.outcome);
}

BOOST_AUTO_TEST_CASE(dns_and_transfers_run_between_two_agents) {
    const Lab lab;
    lab.wait_for_links();
    const auto client = agent_in(lab.a);
    const auto server = agent_in(lab.b);
    for (const std::string host : {"198.18.77.2", "[2001:db8:77::2]", "198.19.77.2"}) {
        require(server->start_dns_server({.listen = endpoint(host + ":53"),
                                          .address = ip("203.0.113.5"),
                                          .address6 = ip("2001:db8::5"),
                                          .delay = milliseconds(0)}));
        require(server->start_transfer_server(endpoint(host + ":5001")));
        for (bool tcp : {false, true}) {
            const ProbeResult lookup = value(client->dns_lookup(
                {.server = endpoint(host + ":53"), .name = "pod.test", .tcp = tcp}));
            BOOST_TEST(lookup.ok, lookup.outcome);
        }
        const ProbeResult transfer =
            value(client->tcp_transfer({.server = endpoint(host + ":5001")}));
        BOOST_TEST(transfer.ok, transfer.outcome);
        BOOST_TEST(transfer.received == 1'000'000U);
    }
    require(server->stop_servers());
    BOOST_TEST(contains(
        value(client->tcp_transfer({.server = endpoint("198.18.77.2:5001")})).outcome, "refused"));
}

// The side that closes first keeps the TIME_WAIT; the capture has segments of each connection.
BOOST_AUTO_TEST_CASE(connects_are_timed_and_closed_by_the_side_that_was_asked_for) {
    const Lab lab;
    lab.wait_for_links();
    const auto client = agent_in(lab.a);
    const auto server = agent_in(lab.b);
    const auto time_waits = [](const std::string& netns) {
        std::istringstream lines(run_in(netns, "ss -Htan state time-wait"));
        int count = 0;
        for (std::string line; std::getline(lines, line);) {
            ++count;
        }
        return count;
    };
    std::uint16_t port = 5001;
    int left[2] = {0, 0};
    for (const Closer closer : {Closer::kServer, Closer::kClient}) {
        const frame::Endpoint at = endpoint("198.18.77.2:" + std::to_string(port++));
        const std::string greeting = closer == Closer::kServer ? "hello" : "";
        require(server->start_closing_server(
            {.listen = at, .closes_first = closer, .greeting = greeting}));
        require(server->start_capture(
            {.device = "e0", .most_bytes = 128, .tcp_flags = TH_SYN | TH_FIN | TH_RST}));
        const auto report = client->tcp_connects(
            {.server = at, .count = 50, .per_second = 500, .closes_first = closer});
        BOOST_REQUIRE_MESSAGE(report, report.error().message);
        BOOST_REQUIRE(report->connects.size() == 50U);
        BOOST_TEST(report->left_open == 0U);
        for (const Connect& each : report->connects) {
            BOOST_TEST(each.error == 0);
            BOOST_TEST(each.port != 0);
            BOOST_TEST(each.said == greeting);
            BOOST_TEST(each.milliseconds > 0);
        }
        // The last FINs may still be on their way.
        const std::size_t side = closer == Closer::kServer ? 1 : 0;
        const std::string& keeper = side == 1 ? lab.b : lab.a;
        for (int waited = 0; waited < 2000 && time_waits(keeper) < left[side] + 50; ++waited) {
            std::this_thread::sleep_for(milliseconds(10));
        }
        const auto capture = server->stop_capture();
        BOOST_REQUIRE(capture);
        BOOST_TEST(capture->frames.size() >= 100U);
        for (const CapturedFrame& frame : capture->frames) {
            BOOST_TEST((frame.bytes.at(47) & (TH_SYN | TH_FIN | TH_RST)) != 0);
            BOOST_TEST(frame.time_ns >= report->connects.front().start_ns);
        }
        const int now[2] = {time_waits(lab.a), time_waits(lab.b)};
        BOOST_TEST(now[side] - left[side] == 50);
        BOOST_TEST(now[1 - side] <= left[1 - side]);  // they end after a minute
        left[0] = now[0];
        left[1] = now[1];
    }
    require(server->start_closing_server({.listen = endpoint("198.18.77.2:5009"),
                                          .closes_first = Closer::kServerAsked,
                                          .greeting = "hello"}));
    const auto asked = client->tcp_connects({.server = endpoint("198.18.77.2:5009"),
                                             .count = 5,
                                             .closes_first = Closer::kServerAsked,
                                             .asks_after = milliseconds(300)});
    BOOST_REQUIRE(asked);
    BOOST_TEST(asked->seconds >= 0.3);
    BOOST_TEST(asked->left_open == 0U);
    for (const Connect& each : asked->connects) {
        BOOST_TEST(each.said == "hellohello");
        BOOST_TEST(each.end == 0);
    }
    // A client that asks after a reset reports the reset; a connection without an answer stays
    // open.
    run_in(lab.b,
           "iptables -A INPUT -p tcp --dport 5009 --tcp-flags PSH PSH -j REJECT "
           "--reject-with tcp-reset");
    const auto reset = client->tcp_connects({.server = endpoint("198.18.77.2:5009"),
                                             .count = 1,
                                             .closes_first = Closer::kServerAsked,
                                             .asks_after = milliseconds(200)});
    BOOST_REQUIRE(reset);
    BOOST_TEST(reset->connects[0].error == 0);
    BOOST_TEST(reset->connects[0].said == "hello");
    BOOST_TEST(reset->connects[0].end == ECONNRESET);
    run_in(lab.b, "iptables -R INPUT 1 -p tcp --dport 5009 --tcp-flags PSH PSH -j DROP");
    const auto unanswered = client->tcp_connects({.server = endpoint("198.18.77.2:5009"),
                                                  .count = 1,
                                                  .closes_first = Closer::kServerAsked,
                                                  .timeout = milliseconds(300)});
    BOOST_REQUIRE(unanswered);
    BOOST_TEST(unanswered->connects[0].end == ETIMEDOUT);
    BOOST_TEST(unanswered->left_open == 1U);

    const auto refused = client->tcp_connects({.server = endpoint("198.18.77.2:9"), .count = 2});
    BOOST_REQUIRE(refused);
    BOOST_TEST(refused->connects[1].error == ECONNREFUSED);
    run_in(lab.b, "iptables -A INPUT -p tcp --dport 5001 -j DROP");
    const auto lost = client->tcp_connects(
        {.server = endpoint("198.18.77.2:5001"), .count = 1, .timeout = milliseconds(200)});
    BOOST_REQUIRE(lost);
    BOOST_TEST(lost->connects[0].error == ETIMEDOUT);
}

// A server of many addresses must answer from the one it was asked at, or connected sockets refuse
// the answer.
BOOST_AUTO_TEST_CASE(a_dns_server_on_every_address_answers_from_the_one_asked) {
    const Lab lab;
    lab.wait_for_links();
    run_in(lab.b, "ip address add 198.18.77.99/24 dev e0");
    run_in(lab.b, "ip address add 2001:db8:77::99/64 dev e0 nodad");
    const auto client = agent_in(lab.a);
    const auto server = agent_in(lab.b);
    for (const std::string any : {"0.0.0.0", "[::]"}) {
        require(server->start_dns_server({.listen = endpoint(any + ":53"),
                                          .address = ip("203.0.113.5"),
                                          .address6 = {},
                                          .delay = milliseconds(10)}));
    }
    for (const std::string asked : {"198.18.77.99", "[2001:db8:77::99]", "198.18.77.2"}) {
        const ProbeResult lookup = value(client->dns_lookup(
            {.server = endpoint(asked + ":53"), .name = "pod.test", .timeout = milliseconds(500)}));
        BOOST_TEST(lookup.ok, asked << ": " << lookup.outcome);
    }
}

BOOST_AUTO_TEST_CASE(dropped_packets_run_into_the_timeouts_asked_for) {
    const Lab lab;
    const auto client = agent_in(lab.a);
    const auto server = agent_in(lab.b);
    require(server->start_transfer_server(endpoint("198.18.77.2:5001")));
    require(server->start_dns_server(
        {.listen = endpoint("198.18.77.2:53"), .address = ip("203.0.113.5"), .address6 = {}}));
    const auto within = [](const ProbeResult& result, double least, double most) {
        BOOST_TEST(!result.ok);
        BOOST_TEST(result.milliseconds >= least, result.outcome);
        BOOST_TEST(result.milliseconds < most, result.outcome);
    };

    // Data is dropped, handshakes are not: the transfer connects and then stalls.
    run_in(lab.b, "iptables -A INPUT -p tcp --dport 5001 -m length --length 200:65535 -j DROP");
    const ProbeResult stalled = value(client->tcp_transfer(
        {.server = endpoint("198.18.77.2:5001"), .timeout = milliseconds(400)}));
    within(stalled, 400, 4000);
    BOOST_TEST(contains(stalled.outcome, "no progress for 400 ms, 0 of 1000000 bytes acknowledged"),
               stalled.outcome);

    run_in(lab.b, "iptables -I INPUT -j DROP");
    const ProbeResult transfer = value(client->tcp_transfer(
        {.server = endpoint("198.18.77.2:5001"), .timeout = milliseconds(400)}));
    within(transfer, 400, 1500);
    BOOST_TEST(transfer.outcome == "connect timed out after 400 ms");
    const ProbeResult udp = value(client->dns_lookup(
        {.server = endpoint("198.18.77.2:53"), .name = "pod.test", .timeout = milliseconds(300)}));
    within(udp, 300, 1500);
    BOOST_TEST(udp.outcome == "no answer for A and AAAA within 300 ms");
    const ProbeResult tcp = value(client->dns_lookup({.server = endpoint("198.18.77.2:53"),
                                                      .name = "pod.test",
                                                      .tcp = true,
                                                      .timeout = milliseconds(300)}));
    within(tcp, 300, 1500);
    BOOST_TEST(contains(tcp.outcome, "connect timed out after 300 ms"), tcp.outcome);
    const auto begin = std::chrono::steady_clock::now();
    const ProbeResult ping = value(
        client->ping({.destination = ip("198.18.77.2"), .count = 1, .timeout = milliseconds(250)}));
    const auto took = std::chrono::steady_clock::now() - begin;
    BOOST_TEST((took >= milliseconds(250) && took < milliseconds(1500)));
    BOOST_TEST(ping.outcome == "0 of 1 echo requests answered");
}

BOOST_AUTO_TEST_CASE(probes_that_wait_do_not_hold_up_other_requests) {
    const Lab lab;
    const auto agent = agent_in(lab.a);
    run_in(lab.b, "iptables -I INPUT -j DROP");
    std::thread waiting([&] {
        (void)agent->dns_lookup({.server = endpoint("198.18.77.2:53"),
                                 .name = "pod.test",
                                 .timeout = milliseconds(1500)});
    });
    const auto begin = std::chrono::steady_clock::now();
    BOOST_TEST(agent->counters().has_value());
    BOOST_TEST((std::chrono::steady_clock::now() - begin < std::chrono::seconds(1)));
    waiting.join();
}

BOOST_AUTO_TEST_CASE(counters_of_devices_are_those_of_sysfs) {
    const Lab lab;
    const auto agent = agent_in(lab.a);
    BOOST_REQUIRE(agent->ping({.destination = ip("198.18.77.2"), .count = 2}));
    run_in(lab.a, "ip link set e0 down");  // nothing comes or goes from now on
    const auto read = agent->counters();
    BOOST_REQUIRE(read);
    const CounterSet& counters = *read;
    const auto shown = process::run_checked(
        {"ip", "netns", "exec", lab.a, "sh", "-c",
         "cd /sys/class/net && grep -H . */statistics/* */carrier_down_count"});
    BOOST_REQUIRE_MESSAGE(shown, shown.error().message);
    std::istringstream files(*shown);
    std::size_t compared = 0;
    for (std::string line; std::getline(files, line); ++compared) {
        const std::size_t slash = line.find('/');
        const std::size_t colon = line.rfind(':');
        const std::size_t name = line.rfind('/', colon) + 1;
        const std::string key = line.substr(0, slash) + "." + line.substr(name, colon - name);
        BOOST_TEST(counters.contains(key), key);
        BOOST_TEST(
            std::to_string(counters.contains(key) ? counters.at(key) : 0) == line.substr(colon + 1),
            key);
    }
    BOOST_TEST(compared >= 2U * 25U);
    BOOST_TEST(counters.at("e0.tx_packets") >= 2U);
}

BOOST_AUTO_TEST_CASE(counters_are_those_of_nstat) {
    const Lab lab;
    const auto agent = agent_in(lab.a);
    const auto before = agent->counters();
    BOOST_REQUIRE(before);
    BOOST_REQUIRE(
        agent->ping({.destination = ip("198.18.77.2"), .count = 5, .interval = milliseconds(1)}));
    const auto after = agent->counters();
    BOOST_REQUIRE(after);
    const CounterSet grown = delta(*before, *after);
    BOOST_TEST(grown.at("Icmp.OutEchos") == 5U);
    BOOST_TEST(grown.at("Icmp.InEchoReps") == 5U);
    BOOST_TEST(after->contains("Udp.InCsumErrors"));
    BOOST_TEST(after->contains("TcpExt.ListenOverflows"));
    BOOST_TEST(after->contains("Udp6InCsumErrors"));
    BOOST_TEST(grown.at("e0.rx_packets") >= 5U);
    BOOST_TEST(!after->contains("eth0.rx_packets"));  // the devices of this namespace only

    const auto theirs = nstat(lab.a);
    BOOST_TEST(theirs.size() > 200U);
    std::size_t compared = 0;
    for (const auto& [name, count] : *after) {
        const auto found = theirs.find(name_of_nstat(name));
        // Multicast listener reports of IPv6 come by themselves while we look.
        if (found != theirs.end() && !name.starts_with("Ip6") && !name.starts_with("Icmp6")) {
            BOOST_TEST(found->second == count,
                       name << ": " << count << " is not " << found->second);
            ++compared;
        }
    }
    BOOST_TEST(compared > 150U);
}

BOOST_AUTO_TEST_CASE(sysctls_of_the_namespace_are_read) {
    const Lab lab;
    const auto a = agent_in(lab.a);
    const auto b = agent_in(lab.b);
    run_in(lab.a, "sysctl -w net.ipv4.ip_forward=1");
    BOOST_TEST(a->read_sysctl("net.ipv4.ip_forward").value() == "1");
    BOOST_TEST(b->read_sysctl("net.ipv4.ip_forward").value() == "0");
    // The device's name has a dot.
    run_in(lab.a, "sysctl -w net/ipv4/conf/vx.pp/rp_filter=2");
    BOOST_TEST(a->read_sysctl("net.ipv4.conf.vx.pp.rp_filter").value() == "2");
}

BOOST_AUTO_TEST_CASE(rps_is_read_of_the_device_of_the_namespace) {
    const Lab lab;
    const auto agent = agent_in(lab.a);
    BOOST_TEST(!contains(agent->rps("e0").value(), "1"));
    BOOST_REQUIRE(process::run_checked({"ip", "netns", "exec", lab.a, "sh", "-c",
                                        "echo 1 > /sys/class/net/e0/queues/rx-0/rps_cpus"}));
    BOOST_TEST(contains(run_in(lab.a, "cat /sys/class/net/e0/queues/rx-0/rps_cpus"), "1"));
    BOOST_TEST(contains(agent->rps("e0").value(), "1"));
}

BOOST_AUTO_TEST_CASE(conntrack_is_that_of_the_namespace) {
    const Lab lab;
    run_in(lab.a,
           "iptables -t nat -A POSTROUTING -p udp --dport 53 -j SNAT --to-source 198.18.77.50");
    run_in(lab.a, "ip address add 198.18.77.50/24 dev e0");
    const auto agent = agent_in(lab.a);
    const auto server = agent_in(lab.b);
    require(server->start_dns_server(
        {.listen = endpoint("198.18.77.2:53"), .address = ip("203.0.113.5"), .address6 = {}}));
    const ConntrackFilter dns{.protocol = std::uint8_t{17},
                              .original_destination_port = std::uint16_t{53}};
    require(agent->start_events(dns));
    BOOST_TEST(!agent->start_events(dns));  // one listener at a time
    BOOST_TEST(
        value(agent->dns_lookup({.server = endpoint("198.18.77.2:53"), .name = "pod.test"})).ok);
    BOOST_TEST(value(agent->ping({.destination = ip("198.18.77.2"), .count = 1})).ok);
    // Nobody listens on another port of the same protocol.
    BOOST_TEST(!value(agent->dns_lookup({.server = endpoint("198.18.77.2:54"), .name = "x"})).ok);
    const auto entries = agent->conntrack_dump(dns);
    BOOST_REQUIRE_MESSAGE(entries, entries.error().message);
    BOOST_REQUIRE(entries->size() == 1U);
    BOOST_TEST((entries->front().reply.destination.address == ip("198.18.77.50")));
    BOOST_TEST((entries->front().status & netfilter::status::kSrcNat) != 0U);
    BOOST_TEST(agent->conntrack_dump()->size() == 3U);  // the echo and the other port too
    const auto log = agent->stop_events();
    BOOST_REQUIRE_MESSAGE(log, log.error().message);
    BOOST_TEST(log->overruns == 0U);
    BOOST_REQUIRE(log->events.size() >= 2U);
    for (const netfilter::Event& event : log->events) {
        BOOST_TEST((event.entry.original == entries->front().original));
    }
    BOOST_TEST((log->events.front().kind == netfilter::EventKind::kNew));
    BOOST_TEST((agent->stop_events().error().code == ErrorCode::kUnavailable));
    const auto stats = agent->conntrack_stats();
    BOOST_REQUIRE_MESSAGE(stats, stats.error().message);
    BOOST_TEST(!stats->empty());
    BOOST_REQUIRE(agent->conntrack_flush());
    BOOST_TEST(agent->conntrack_dump()->empty());
}

// A buffer that holds a few events only.
BOOST_AUTO_TEST_CASE(entries_whose_events_were_lost_are_found_in_the_table) {
    const Lab lab;
    run_in(lab.a,
           "iptables -t nat -A POSTROUTING -p udp --dport 53 -j SNAT --to-source 198.18.77.50");
    const auto agent = agent_in(lab.a);
    constexpr std::uint32_t kEntries = 20'000;
    for (const std::uint64_t buffer : {std::uint64_t{4096}, std::uint64_t{0}}) {
        BOOST_REQUIRE(agent->conntrack_flush());
        require(agent->start_events(
            {.protocol = std::uint8_t{17}, .brief = true, .buffer_bytes = buffer}));
        require(agent->conntrack_fill(
            {.from = ip("198.18.77.7"), .to = endpoint("203.0.113.5:53"), .count = kEntries}));
        const auto seen = agent->finish_events(std::chrono::milliseconds(20));
        BOOST_REQUIRE_MESSAGE(seen, seen.error().message);
        std::set<std::string> entries;  // by their sources: two ids may be the same
        std::uint64_t found = 0;
        for (const netfilter::Event& event : seen->log.events) {
            BOOST_TEST((event.kind == netfilter::EventKind::kNew));
            entries.insert(to_string(event.entry.original.source));
            found += event.missed ? 1 : 0;
        }
        BOOST_TEST(entries.size() == kEntries);
        BOOST_TEST(seen->log.events.size() == kEntries);
        BOOST_TEST(found == seen->log.repaired);
        BOOST_TEST((seen->log.repaired != 0) == (buffer != 0));
        BOOST_TEST((seen->log.overruns != 0) == (buffer != 0));
        BOOST_TEST(agent->conntrack_dump()->empty());
    }
    BOOST_TEST(!agent->finish_events(std::chrono::milliseconds(0)));  // none is started
    require(agent->drop_events());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(life)

BOOST_AUTO_TEST_CASE(a_killed_agent_is_a_clear_error) {
    const Lab lab;
    const auto agent = agent_in(lab.a);
    run_in(lab.b, "iptables -I INPUT -j DROP");
    std::thread killer([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        kill(agent->pid(), SIGKILL);
    });
    const auto begin = std::chrono::steady_clock::now();
    const auto interrupted =
        agent->dns_lookup({.server = endpoint("198.18.77.2:53"), .name = "pod.test"});
    killer.join();
    BOOST_REQUIRE(!interrupted);
    BOOST_TEST((std::chrono::steady_clock::now() - begin < std::chrono::seconds(2)));
    BOOST_TEST((interrupted.error().code == ErrorCode::kUnavailable));
    BOOST_TEST(contains(interrupted.error().message, "agent in namespace " + lab.a),
               interrupted.error().message);
    BOOST_TEST(
        contains(interrupted.error().message, "was ended by signal 9 (Killed) before it answered"),
        interrupted.error().message);
    BOOST_TEST(!agent->alive());
    BOOST_TEST(contains(agent->counters().error().message, "no longer running"));
}

BOOST_AUTO_TEST_CASE(an_agent_and_its_servers_end_with_their_client) {
    const Lab lab;
    pid_t pid = 0;
    {
        const auto agent = agent_in(lab.a);
        pid = agent->pid();
        require(agent->start_dns_server(
            {.listen = endpoint("198.18.77.1:53"), .address = ip("203.0.113.5"), .address6 = {}}));
        require(agent->start_events());
        BOOST_TEST(kill(pid, 0) == 0);
    }
    BOOST_TEST(kill(pid, 0) != 0);
    BOOST_TEST(!contains(run_in(lab.a, "ss -lun"), ":53"));
}

BOOST_AUTO_TEST_CASE(a_namespace_that_does_not_exist_is_named) {
    const auto agent = Client::start_in_netns("pp-agent-no-such");
    BOOST_REQUIRE(!agent);
    BOOST_TEST((agent.error().code == ErrorCode::kNotFound));
    BOOST_TEST(contains(agent.error().message, "pp-agent-no-such"));
}

BOOST_AUTO_TEST_CASE(two_agents_speak_of_their_own_namespaces) {
    const Lab lab;
    const auto a = agent_in(lab.a);
    const auto b = agent_in(lab.b);
    BOOST_TEST(a->who() != b->who());
    run_in(lab.a, "ethtool -K e0 tx off");
    const auto is_on = [](Client& agent) {
        const auto features = agent.features("e0");
        BOOST_REQUIRE_MESSAGE(features, features.error().message);
        for (const Feature& feature : *features) {
            if (feature.name == "tx-checksum-ip-generic") {
                return feature.active;
            }
        }
        return false;
    };
    BOOST_TEST(!is_on(*a));
    BOOST_TEST(is_on(*b));
}

BOOST_AUTO_TEST_CASE(an_agent_behind_a_command_works_as_over_ssh) {
    const Lab lab;
    const char* binary = std::getenv("PATHPROOF_BINARY");
    BOOST_REQUIRE_MESSAGE(binary != nullptr, "PATHPROOF_BINARY must name the built binary");
    // A remote shell may print a line of its own before the agent speaks.
    const auto agent = started(
        {"ip", "netns", "exec", lab.a, "sh", "-c", "echo Welcome; exec \"$0\" agent", binary});
    BOOST_REQUIRE_MESSAGE(agent, agent.error().message);
    BOOST_TEST((*agent)->features("vx.pp").has_value());
    BOOST_TEST(value((*agent)->ping({.destination = ip("198.18.77.2"), .count = 1})).ok);
}

BOOST_AUTO_TEST_CASE(a_command_that_is_no_agent_is_said) {
    const auto none = started({"pathproof-no-such-program"});
    BOOST_REQUIRE(!none);
    BOOST_TEST(contains(none.error().message, "pathproof-no-such-program"), none.error().message);
    const auto ends = started({"true"});
    BOOST_REQUIRE(!ends);
    BOOST_TEST((ends.error().code == ErrorCode::kUnavailable));
    const auto other =
        started({"sh", "-c", "read line; echo '{\"id\":1,\"ok\":\"hi\"}'; read line"});
    BOOST_REQUIRE(!other);
    BOOST_TEST(contains(other.error().message, "no pathproof agent"), other.error().message);
}

BOOST_AUTO_TEST_CASE(answers_that_make_no_sense_are_errors_not_exceptions) {
    const auto agent = started({"sh", "-c",
                                "read a; echo '{\"id\":1,\"ok\":{\"agent\":\"pathproof\"}}'; read "
                                "b; echo '{\"id\":2,\"ok\":17}'; read c"});
    BOOST_REQUIRE_MESSAGE(agent, agent.error().message);
    const auto features = (*agent)->features("e0");
    BOOST_REQUIRE(!features);
    BOOST_TEST((features.error().code == ErrorCode::kFailed));
    BOOST_TEST(contains(features.error().message, "cannot read"), features.error().message);
}

BOOST_AUTO_TEST_SUITE_END()
