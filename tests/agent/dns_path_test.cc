// Lookups in numbers, the forwarder that stands in for CoreDNS, and what the kernel and dnsmasq say of a
// server's queue.
#include <netinet/tcp.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <set>
#include <string_view>
#include <thread>

#include "harness/agent/dns_load.h"
#include "harness/agent/dns_server.h"
#include "harness/agent/dnsmasq.h"
#include "harness/agent/forwarder.h"
#include "harness/agent/tcp_queue.h"
#include "tests/agent/loopback.h"

BOOST_AUTO_TEST_SUITE(dns_path)

using namespace std::string_view_literals;
using namespace pathproof;
using namespace pathproof::agent;
using namespace pathproof::agent::test;
using Asks = DnsLoadOptions::Asks;
using Outcome = ForwarderTry::Outcome;

namespace {

std::unique_ptr<DnsServer> server(milliseconds delay = milliseconds(0)) {
    auto started = DnsServer::start({.listen = endpoint("127.0.0.1:0"),
                                     .address = ip("203.0.113.5"),
                                     .address6 = ip("2001:db8::5"),
                                     .delay = delay});
    BOOST_REQUIRE_MESSAGE(started, started.error().message);
    return std::move(*started);
}

DnsLoadReport load(const frame::Endpoint& at, std::uint32_t lookups, Asks asks = Asks::kA,
                   milliseconds timeout = milliseconds(10'000)) {
    const auto report = dns_load({.server = at,
                                  .name = "svc.test",
                                  .own_names = true,
                                  .asks = asks,
                                  .lookups = lookups,
                                  .timeout = timeout});
    BOOST_REQUIRE_MESSAGE(report, report.error().message);
    BOOST_REQUIRE(report->lookups.size() == lookups);
    return *report;
}

std::size_t answered(const DnsLoadReport& report) {
    return static_cast<std::size_t>(
        std::ranges::count_if(report.lookups, [](const DnsLoadReport::Lookup& each) {
            return each.answered == each.asked && each.rcode == 0;
        }));
}

// A port of 127.0.0.1 that is free a moment before.
frame::Endpoint free_port() {
    return where(bound(SOCK_DGRAM));
}

std::unique_ptr<Forwarder> forwarder(const ForwarderOptions& options) {
    auto started = Forwarder::start(options);
    BOOST_REQUIRE_MESSAGE(started, started.error().message);
    return std::move(*started);
}

}  // namespace

BOOST_AUTO_TEST_CASE(lookups_in_numbers_are_counted_one_by_one) {
    const auto served = server();
    for (const Asks asks : {Asks::kA, Asks::kPairOneByOne, Asks::kPairTogether}) {
        const DnsLoadReport report = load(served->endpoint(), 50, asks);
        BOOST_TEST(answered(report) == 50U);
        std::set<std::uint16_t> ports;
        for (const DnsLoadReport::Lookup& each : report.lookups) {
            BOOST_TEST(each.asked == (asks == Asks::kA ? 1 : 2));
            BOOST_TEST(each.milliseconds > 0);
            ports.insert(each.port);
        }
        BOOST_TEST(ports.size() == 50U);
    }
}

BOOST_AUTO_TEST_CASE(a_lookup_without_an_answer_and_a_refused_one_are_values) {
    const Fd silent = bound(SOCK_DGRAM);
    const auto none = load(where(silent), 3, Asks::kA, milliseconds(100));
    BOOST_TEST(answered(none) == 0U);
    BOOST_TEST(none.lookups[0].error == 0);
    const auto refused = load(closed_port(SOCK_DGRAM), 3, Asks::kA, milliseconds(100));
    BOOST_TEST(answered(refused) == 0U);
    BOOST_TEST(refused.lookups[0].error == ECONNREFUSED);
    BOOST_TEST((!dns_load({.server = endpoint("127.0.0.1:53"), .name = "a..b"}).has_value()));
}

BOOST_AUTO_TEST_CASE(each_query_under_way_has_a_connection_and_idle_ones_are_used_again) {
    const auto served = server(milliseconds(200));
    const frame::Endpoint at = free_port();
    const auto cache = forwarder({.listen = at, .upstream = served->endpoint()});
    BOOST_TEST(answered(load(at, 12)) == 12U);
    BOOST_TEST(answered(load(at, 5)) == 5U);
    const ForwarderReport report = cache->stop();
    BOOST_TEST(report.queries == 17U);
    BOOST_TEST(report.answered == 17U);
    BOOST_TEST(report.dials == 12U);
    BOOST_TEST(report.most_open == 12U);
    BOOST_TEST(report.idle == 12U);
    BOOST_TEST(report.tries.size() == 17U);
    // FIFO: the first that were idle.
    for (std::size_t i = 0; i < 5; ++i) {
        BOOST_TEST((report.tries[12 + i].outcome == Outcome::kAnswered));
        BOOST_TEST(
            std::ranges::count(report.tries, report.tries[12 + i].port, &ForwarderTry::port) == 2);
    }
}

BOOST_AUTO_TEST_CASE(idle_connections_may_be_few_and_udp_needs_none) {
    const auto served = server(milliseconds(200));
    const frame::Endpoint at = free_port();
    auto cache = forwarder({.listen = at, .upstream = served->endpoint(), .max_idle = 4});
    BOOST_TEST(answered(load(at, 12)) == 12U);
    BOOST_TEST(cache->stop().idle == 4U);
    cache.reset();
    cache = forwarder({.listen = at, .upstream = served->endpoint(), .prefer_udp = true});
    BOOST_TEST(answered(load(at, 12)) == 12U);
    const ForwarderReport report = cache->stop();
    BOOST_TEST(report.answered == 12U);
    BOOST_TEST(report.idle == 0U);
}

BOOST_AUTO_TEST_CASE(what_is_not_answered_in_5_s_gets_servfail_and_two_seconds_end_a_try) {
    // It takes connections into its queue and accepts none.
    const Fd silent = bound(SOCK_STREAM);
    const frame::Endpoint at = free_port();
    const auto cache = forwarder({.listen = at, .upstream = where(silent)});
    const DnsLoadReport report = load(at, 2);
    for (const DnsLoadReport::Lookup& each : report.lookups) {
        BOOST_TEST(each.rcode == 2);
        BOOST_TEST(each.milliseconds >= 5000);
    }
    const ForwarderReport did = cache->stop();
    BOOST_TEST(did.servfail == 2U);
    BOOST_TEST(std::ranges::count(did.tries, Outcome::kTimedOut, &ForwarderTry::outcome) == 4);
    BOOST_TEST(std::ranges::count(did.tries, Outcome::kGivenUp, &ForwarderTry::outcome) == 2);
}

BOOST_AUTO_TEST_CASE(a_closed_port_and_rubbish_are_no_answers_and_harm_nobody) {
    const frame::Endpoint at = free_port();
    auto cache = forwarder({.listen = at, .upstream = closed_port(SOCK_STREAM)});
    BOOST_TEST(load(at, 1).lookups[0].rcode == 2);
    BOOST_TEST(!cache->stop().refusal.empty());
    cache.reset();
    // A length, and no DNS message of it; then a connection that ends in the middle of one.
    const Fd listener = bound(SOCK_STREAM);
    std::thread rubbish([&] {
        for (const std::string_view text : {"\x00\x03xyz"sv, "\x00\x00"sv, "\xff\xffshort"sv}) {
            const Fd taken(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
            char query[512];
            (void)!recv(taken.get(), query, sizeof query, 0);
            (void)!send(taken.get(), text.data(), text.size(), MSG_NOSIGNAL);
        }
    });
    cache = forwarder({.listen = at, .upstream = where(listener)});
    const DnsLoadReport report = load(at, 1);
    rubbish.join();
    BOOST_TEST(report.lookups[0].rcode == 2);
    const ForwarderReport did = cache->stop();
    BOOST_TEST(std::ranges::count(did.tries, Outcome::kRubbish, &ForwarderTry::outcome) == 2);
    BOOST_TEST(std::ranges::count(did.tries, Outcome::kRefused, &ForwarderTry::outcome) >= 1);
    BOOST_TEST(std::ranges::count(did.tries, Outcome::kAnswered, &ForwarderTry::outcome) == 0);
}

BOOST_AUTO_TEST_CASE(lines_of_proc_net_tcp_are_read_and_others_passed_over) {
    const auto sockets = tcp_sockets(
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
        "   0: 027100CB:0035 00000000:0000 0A 00000000:00000021 00:00000000 00000000     0        "
        "0 "
        "4711 1 0000000000000000 100 0 0 10 0\n"
        "   1: 027100CB:0035 010012C6:C350 01 00000000:0000001F 00:00000000 00000000     0        "
        "0 "
        "0 1 0000000000000000 20 0 0 10 -1\n"
        "rubbish\n");
    BOOST_REQUIRE(sockets.size() == 2U);
    BOOST_TEST((sockets[0].local == endpoint("203.0.113.2:53")));
    BOOST_TEST(sockets[0].state == static_cast<unsigned>(TCP_LISTEN));
    BOOST_TEST(sockets[0].receive_queue == 33U);
    BOOST_TEST(sockets[0].inode == 4711U);
    BOOST_TEST((sockets[1].peer == endpoint("198.18.0.1:50000")));
    BOOST_TEST(sockets[1].inode == 0U);
    BOOST_TEST(sockets[1].send_queue == 0U);
    BOOST_TEST(sockets[1].receive_queue == 31U);
    BOOST_TEST(tcp_sockets("").empty());
}

BOOST_AUTO_TEST_CASE(connections_that_wait_in_a_queue_are_told_from_those_that_were_accepted) {
    const Fd listener = bound(SOCK_STREAM);
    auto watch = TcpQueueWatch::start(where(listener));
    BOOST_REQUIRE(watch.has_value());
    const auto connected = [&] {
        Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        const SocketAddress address = to_socket_address(where(listener));
        BOOST_REQUIRE(connect(socket.get(), address.raw(), address.length) == 0);
        return socket;
    };
    const Fd first = connected();
    const Fd taken(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const Fd second = connected();
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    const TcpQueue queue = (*watch)->stop();
    BOOST_TEST(queue.most_waiting >= 1U);
    const auto seen = [&](const Fd& socket) {
        const auto at =
            std::ranges::find(queue.connections, where(socket), &TcpQueue::Connection::peer);
        BOOST_REQUIRE((at != queue.connections.end()));
        return *at;
    };
    BOOST_TEST(seen(first).accepted_ns != 0);
    BOOST_TEST(seen(second).accepted_ns == 0);
    BOOST_TEST(seen(second).first_waiting_ns != 0);
}

BOOST_AUTO_TEST_CASE(what_dnsmasq_says_of_its_workers_is_read) {
    const auto said = workers_said(
        {"dnsmasq[3]: child processes for TCP requests: in use 1, highest since last SIGUSR1 4, "
         "max "
         "allowed 20.",
         "dnsmasq[3]: child processes for TCP requests: in use 20, highest since last SIGUSR1 20, "
         "max allowed 60.",
         "dnsmasq[3]: server 127.0.0.1#10053: queries sent 0, retried 0"});
    BOOST_REQUIRE(said.has_value());
    BOOST_TEST((*said == DnsmasqWorkers{.in_use = 20, .highest = 20, .most = 60}));
    BOOST_TEST(
        !workers_said({"dnsmasq[3]: child processes for TCP requests: in use many"}).has_value());
    BOOST_TEST(!workers_said({}).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
