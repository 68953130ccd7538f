#include "dataplane/frame/dns.h"

#include <poll.h>

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <vector>

#include "harness/agent/dns_client.h"
#include "harness/agent/dns_server.h"
#include "tests/agent/loopback.h"
#include "tests/contains.h"

BOOST_AUTO_TEST_SUITE(dns_exchanges)

using namespace pathproof;
using namespace pathproof::agent;
using namespace pathproof::agent::test;

namespace {

using Bytes = std::vector<std::uint8_t>;

std::unique_ptr<DnsServer> server_at(const char* listen, milliseconds delay = milliseconds(0),
                                     const char* address6 = "2001:db8::5") {
    auto server = DnsServer::start({.listen = endpoint(listen),
                                    .address = ip("203.0.113.5"),
                                    .address6 = ip(address6),
                                    .delay = delay});
    BOOST_REQUIRE_MESSAGE(server, server.error().message);
    return std::move(*server);
}

ProbeResult lookup(const DnsLookupOptions& options) {
    const auto result = dns_lookup(options);
    BOOST_REQUIRE_MESSAGE(result, result.error().message);
    return *result;
}

using pathproof::test::contains;

// A query as a server sees it, with where it came from.
struct Query {
    Bytes message;
    SocketAddress from;
    frame::DnsHeader header;
    frame::DnsQuestion question;
};

Query receive_query(int socket) {
    Query query;
    query.message.resize(512);
    query.from.length = sizeof query.from.storage;
    const ssize_t got = recvfrom(socket, query.message.data(), query.message.size(), 0,
                                 query.from.raw(), &query.from.length);
    query.message.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    frame::DnsReader reader(query.message);
    query.header = reader.header();
    query.question = reader.next_question().value_or(frame::DnsQuestion{});
    return query;
}

Bytes answer_to(const Query& query, const frame::DnsAnswer& content = {}) {
    static const std::vector<frame::IpAddress> kAddresses{ip("203.0.113.5"), ip("2001:db8::5")};
    frame::DnsAnswer answer = content;
    answer.addresses = kAddresses;
    Bytes message(512);
    message.resize(frame::write_answer(message, query.message, answer));
    return message;
}

void send_to(int socket, const Query& query, const Bytes& message) {
    sendto(socket, message.data(), message.size(), 0, query.from.raw(), query.from.length);
}

bool nothing_comes(int socket, int for_ms) {
    pollfd entry{.fd = socket, .events = POLLIN, .revents = 0};
    return poll(&entry, 1, for_ms) == 0;
}

Bytes make_query(std::uint16_t id, std::uint16_t type) {
    Bytes message(512);
    message.resize(frame::write_query(
        message, {.id = id, .name = frame::DnsName::from_text("pod.test").value(), .type = type}));
    return message;
}

Bytes prefixed(const Bytes& message) {
    Bytes stream(2 + message.size());
    stream[0] = static_cast<std::uint8_t>(message.size() >> 8);
    stream[1] = static_cast<std::uint8_t>(message.size());
    std::copy(message.begin(), message.end(), stream.begin() + 2);
    return stream;
}

Fd connected(const frame::Endpoint& server, int type) {
    Fd socket(::socket(AF_INET, type | SOCK_CLOEXEC, 0));
    limit_waiting(socket.get());
    const SocketAddress address = to_socket_address(server);
    BOOST_REQUIRE(connect(socket.get(), address.raw(), address.length) == 0);
    return socket;
}

// One message of a TCP connection; empty at its end.
Bytes read_message(int socket) {
    std::array<std::uint8_t, 2> length{};
    if (recv(socket, length.data(), 2, MSG_WAITALL) != 2) {
        return {};
    }
    Bytes message(std::size_t{length[0]} << 8 | length[1]);
    if (recv(socket, message.data(), message.size(), MSG_WAITALL) !=
        static_cast<ssize_t>(message.size())) {
        return {};
    }
    return message;
}

const std::string kName = "pod.test";

}  // namespace

BOOST_AUTO_TEST_CASE(both_answers_come_over_udp_and_tcp_and_both_address_families) {
    for (const char* listen : {"127.0.0.1:0", "[::1]:0"}) {
        const auto server = server_at(listen);
        for (bool tcp : {false, true}) {
            const ProbeResult result =
                lookup({.server = server->endpoint(), .name = kName, .tcp = tcp});
            BOOST_TEST(result.ok, result.outcome);
            BOOST_TEST(result.sent == 2U);
            BOOST_TEST(result.received == 2U);
            BOOST_TEST(contains(result.outcome, "2 answers in"), result.outcome);
        }
    }
}

namespace {

std::unique_ptr<DnsServer> server_with(const std::vector<DnsRule>& rules,
                                       const std::vector<DnsLoss>& losses = {}) {
    auto server =
        DnsServer::start({.listen = endpoint("127.0.0.1:0"), .address = ip("203.0.113.5")},
                         {.rules = rules, .losses = losses, .keep_log = true});
    BOOST_REQUIRE_MESSAGE(server, server.error().message);
    return std::move(*server);
}

// The message that comes; empty where none does within 200 ms.
Bytes answer_for(const DnsServer& server, std::uint16_t type, const std::string& name = kName) {
    const Fd client = connected(server.endpoint(), SOCK_DGRAM);
    Bytes query(512);
    query.resize(frame::write_query(
        query, {.id = 7, .name = frame::DnsName::from_text(name).value(), .type = type}));
    BOOST_REQUIRE(send(client.get(), query.data(), query.size(), 0) > 0);
    if (nothing_comes(client.get(), 200)) {
        return {};
    }
    Bytes answer(512);
    answer.resize(static_cast<std::size_t>(recv(client.get(), answer.data(), answer.size(), 0)));
    return answer;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_first_rule_that_fits_says_what_a_name_gets) {
    const auto server = server_with(
        {{.name = "pod.test", .type = 28, .cname = true},
         {.name = "test", .rcode = 3},
         {.name = "late.example", .address = ip("203.0.113.7"), .from = std::chrono::hours(1)},
         {.name = "early.example", .rcode = 5, .until = std::chrono::hours(1)}});
    const Bytes cname = answer_for(*server, 28);
    frame::DnsReader aaaa(cname);
    const auto record = aaaa.next_record();
    BOOST_REQUIRE(record.has_value());
    BOOST_TEST((record->type == frame::kDnsTypeCname && aaaa.header().rcode == 0));
    BOOST_TEST(!aaaa.next_record());
    const auto rcode = [&](std::uint16_t type, const std::string& name) {
        const Bytes answer = answer_for(*server, type, name);
        return static_cast<int>(frame::DnsReader(answer).header().rcode);
    };
    BOOST_TEST(rcode(1, "pod.test") == 3);
    BOOST_TEST(rcode(28, "other.test") == 3);
    BOOST_TEST(rcode(1, "early.example") == 5);
    // No rule: the address of the server.
    const Bytes plain = answer_for(*server, 1, "late.example");
    frame::DnsReader data(plain);
    const auto address = data.next_record();
    BOOST_REQUIRE(address.has_value());
    BOOST_TEST((address->address() == ip("203.0.113.5")));
}

BOOST_AUTO_TEST_CASE(so_many_queries_of_a_name_and_type_get_no_answer_and_the_log_tells) {
    const auto server = server_with({}, {{.name = "POD.test", .type = 1, .first = 2}});
    BOOST_TEST(answer_for(*server, 1).empty());
    BOOST_TEST(!answer_for(*server, 28).empty());
    BOOST_TEST(!answer_for(*server, 1, "a.pod.test").empty());
    BOOST_TEST(answer_for(*server, 1).empty());
    BOOST_TEST(!answer_for(*server, 1).empty());
    std::string log;
    for (const DnsQueryRecord& each : server->take_log()) {
        BOOST_TEST((each.id == 7 && !each.tcp && each.client.port != 0));
        log += each.name + (each.type == 1 ? " A " : " AAAA ") + (each.answered ? "+ " : "- ");
    }
    BOOST_TEST(log == "pod.test A - pod.test AAAA + a.pod.test A + pod.test A - pod.test A + ");
    BOOST_TEST(server->take_log().empty());
}

BOOST_AUTO_TEST_CASE(rubbish_has_id_and_question_and_breaks_off) {
    const auto server = server_with({{.name = ".", .says = DnsRule::Says::kRubbish}});
    const Bytes message = answer_for(*server, 1);
    frame::DnsReader reader(message);
    BOOST_TEST(reader.header().id == 7);
    BOOST_TEST(reader.next_question().has_value());
    while (reader.next_record()) {
    }
    BOOST_TEST((reader.defect() == frame::DnsDefect::kShort));
}

BOOST_AUTO_TEST_CASE(an_answer_that_is_withheld_over_tcp_leaves_the_connection_open) {
    const auto server = server_with({}, {{.name = kName, .type = 1}});
    const Fd client = connected(server->endpoint(), SOCK_STREAM);
    Bytes both = prefixed(make_query(1, 1));
    const Bytes second = prefixed(make_query(2, 28));
    both.insert(both.end(), second.begin(), second.end());
    BOOST_REQUIRE(send(client.get(), both.data(), both.size(), MSG_NOSIGNAL) > 0);
    const Bytes answer = read_message(client.get());
    BOOST_REQUIRE(!answer.empty());
    BOOST_TEST(frame::DnsReader(answer).header().id == 2);
    BOOST_TEST(nothing_comes(client.get(), 50));
    const auto log = server->take_log();
    BOOST_REQUIRE(log.size() == 2U);
    BOOST_TEST((log[0].tcp && !log[0].answered && log[1].answered));
}

BOOST_AUTO_TEST_CASE(a_rule_of_a_name_that_is_none_is_refused) {
    for (const DnsRules& rules : {DnsRules{.rules = {{.name = "a..b"}}},
                                  DnsRules{.losses = {{.name = "a..b", .type = 1}}}}) {
        const auto server = DnsServer::start({.listen = endpoint("127.0.0.1:0")}, rules);
        BOOST_REQUIRE(!server);
        BOOST_TEST((server.error().code == ErrorCode::kBadInput));
    }
}

// A query with an OPT record that offers so many bytes over UDP; 0: without one.
Bytes query_taking(std::uint16_t edns_bytes) {
    Bytes query = make_query(9, frame::kDnsTypeA);
    if (edns_bytes != 0) {
        query[11] = 1;  // ARCOUNT
        const auto high = static_cast<std::uint8_t>(edns_bytes >> 8);
        const auto low = static_cast<std::uint8_t>(edns_bytes);
        query.insert(query.end(), {0, 0, 41, high, low, 0, 0, 0, 0, 0, 0});
    }
    return query;
}

BOOST_AUTO_TEST_CASE(a_large_answer_is_cut_at_what_the_server_sends_and_the_query_takes) {
    struct Row {
        std::uint16_t largest_udp, edns_bytes;
        bool ignores;
        std::size_t at_most;
        bool truncated;
    };
    for (const Row& row : {Row{512, 0, false, 512, true}, Row{512, 4096, false, 512, true},
                           Row{4096, 0, false, 512, true}, Row{4096, 1232, false, 1232, true},
                           Row{1232, 4096, false, 1232, true}, Row{4096, 100, false, 512, true},
                           Row{4096, 0, true, 4096, false}, Row{4096, 4096, false, 4096, false}}) {
        const auto server = DnsServer::start(
            {.listen = endpoint("127.0.0.1:0")},
            {.rules = {{.name = ".", .address = ip("203.0.113.1"), .addresses = 200}},
             .keep_log = true,
             .largest_udp = row.largest_udp,
             .ignores_query_size = row.ignores});
        BOOST_REQUIRE_MESSAGE(server, server.error().message);
        const Fd client = connected((*server)->endpoint(), SOCK_DGRAM);
        const Bytes query = query_taking(row.edns_bytes);
        BOOST_REQUIRE(send(client.get(), query.data(), query.size(), 0) > 0);
        Bytes answer(8192);
        const ssize_t got = recv(client.get(), answer.data(), answer.size(), 0);
        BOOST_REQUIRE(got > 0);
        answer.resize(static_cast<std::size_t>(got));
        BOOST_TEST_CONTEXT(row.largest_udp << " " << row.edns_bytes) {
            BOOST_TEST(answer.size() <= row.at_most);
            BOOST_TEST(answer.size() + 16 > (row.truncated ? row.at_most : 3200));
            BOOST_TEST(frame::DnsReader(answer).header().truncated == row.truncated);
            const auto log = (*server)->take_log();
            BOOST_REQUIRE(log.size() == 1U);
            BOOST_TEST(log[0].edns_bytes == row.edns_bytes);
            BOOST_TEST(log[0].answer_bytes == answer.size());
            BOOST_TEST(log[0].truncated == row.truncated);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_server_without_tcp_refuses_connections) {
    const auto server = DnsServer::start(
        {.listen = endpoint("127.0.0.1:0"), .address = ip("203.0.113.5")}, {.serves_tcp = false});
    BOOST_REQUIRE_MESSAGE(server, server.error().message);
    const ProbeResult result =
        lookup({.server = (*server)->endpoint(), .name = kName, .tcp = true});
    BOOST_TEST(!result.ok);
    BOOST_TEST(contains(result.outcome, "refused"), result.outcome);
}

BOOST_AUTO_TEST_CASE(the_addresses_are_those_of_the_server) {
    const auto server = server_at("127.0.0.1:0");
    const Fd client = connected(server->endpoint(), SOCK_DGRAM);
    for (std::uint16_t type : {frame::kDnsTypeA, frame::kDnsTypeAaaa}) {
        const Bytes query = make_query(7, type);
        BOOST_REQUIRE(send(client.get(), query.data(), query.size(), 0) > 0);
        Bytes answer(512);
        const ssize_t got = recv(client.get(), answer.data(), answer.size(), 0);
        BOOST_REQUIRE(got > 0);
        frame::DnsReader reader({answer.data(), static_cast<std::size_t>(got)});
        const auto record = reader.next_record();
        BOOST_REQUIRE(record.has_value());
        BOOST_TEST(
            (record->address() == ip(type == frame::kDnsTypeA ? "203.0.113.5" : "2001:db8::5")));
        BOOST_TEST(reader.header().id == 7);
    }
}

BOOST_AUTO_TEST_CASE(an_answer_leaves_after_the_delay) {
    const auto server = server_at("127.0.0.1:0", milliseconds(200));
    for (bool tcp : {false, true}) {
        const ProbeResult result =
            lookup({.server = server->endpoint(), .name = kName, .tcp = tcp});
        BOOST_TEST(result.ok, result.outcome);
        BOOST_TEST(result.milliseconds >= 195);
        BOOST_TEST(result.milliseconds < 2000);  // both wait side by side
    }
}

BOOST_AUTO_TEST_CASE(a_delay_beyond_the_timeout_is_no_answer) {
    const auto server = server_at("127.0.0.1:0", milliseconds(900));
    for (bool tcp : {false, true}) {
        const ProbeResult result = lookup({.server = server->endpoint(),
                                           .name = kName,
                                           .tcp = tcp,
                                           .timeout = milliseconds(200)});
        BOOST_TEST(!result.ok);
        BOOST_TEST(result.outcome == "no answer for A and AAAA within 200 ms");
        BOOST_TEST(result.milliseconds >= 200);
        BOOST_TEST(result.milliseconds < 800);
    }
}

BOOST_AUTO_TEST_CASE(one_family_without_an_address_is_enough) {
    const auto server = server_at("127.0.0.1:0", milliseconds(0), "::");
    BOOST_TEST(lookup({.server = server->endpoint(), .name = kName}).ok);
}

BOOST_AUTO_TEST_CASE(no_address_at_all_is_said) {
    const auto server =
        DnsServer::start({.listen = endpoint("127.0.0.1:0"), .address = {}, .address6 = {}});
    BOOST_REQUIRE(server);
    const ProbeResult result = lookup({.server = (*server)->endpoint(), .name = kName});
    BOOST_TEST(!result.ok);
    BOOST_TEST(contains(result.outcome, "A: no address, AAAA: no address"), result.outcome);
}

BOOST_AUTO_TEST_CASE(both_queries_leave_one_socket_at_once) {
    const Fd server = bound(SOCK_DGRAM);
    limit_waiting(server.get());
    Helper client([&] {
        (void)dns_lookup({.server = where(server), .name = kName, .timeout = milliseconds(200)});
    });
    const Query first = receive_query(server.get());
    const Query second = receive_query(server.get());
    BOOST_TEST(first.question.type == frame::kDnsTypeA);
    BOOST_TEST(second.question.type == frame::kDnsTypeAaaa);
    BOOST_TEST((to_endpoint(first.from.storage) == to_endpoint(second.from.storage)));
    BOOST_TEST(first.header.id != second.header.id);
    BOOST_TEST(first.header.recursion_desired);
    BOOST_TEST(nothing_comes(server.get(), 300));
}

BOOST_AUTO_TEST_CASE(a_closed_port_is_a_refusal_at_once) {
    const ProbeResult udp = lookup({.server = closed_port(SOCK_DGRAM), .name = kName});
    BOOST_TEST(!udp.ok);
    BOOST_TEST(contains(udp.outcome, "connection refused (ICMP port unreachable)"), udp.outcome);
    BOOST_TEST(udp.milliseconds < 1000);
    const ProbeResult tcp =
        lookup({.server = closed_port(SOCK_STREAM), .name = kName, .tcp = true});
    BOOST_TEST(!tcp.ok);
    BOOST_TEST(contains(tcp.outcome, "connect: connection refused"), tcp.outcome);
}

BOOST_AUTO_TEST_CASE(answers_to_other_questions_are_thrown_away) {
    const Fd server = bound(SOCK_DGRAM);
    limit_waiting(server.get());
    Helper helper([&] {
        const Query a = receive_query(server.get());
        const Query aaaa = receive_query(server.get());
        Bytes wrong_id = answer_to(a);
        wrong_id[0] ^= 0xff;
        send_to(server.get(), a, wrong_id);
        Bytes wrong_name = answer_to(a);
        wrong_name[frame::kDnsHeaderBytes + 1] = 'x';
        send_to(server.get(), a, wrong_name);
        Bytes wrong_type = answer_to(aaaa);
        wrong_type[0] = a.message[0];
        wrong_type[1] = a.message[1];
        send_to(server.get(), a, wrong_type);
        send_to(server.get(), a, a.message);  // a query, not a response
        send_to(server.get(), a, Bytes{1, 2, 3});
        send_to(server.get(), aaaa, answer_to(aaaa));
        send_to(server.get(), aaaa, answer_to(aaaa));  // twice: still one
    });
    const ProbeResult result =
        lookup({.server = where(server), .name = kName, .timeout = milliseconds(300)});
    BOOST_TEST(!result.ok);
    BOOST_TEST(result.received == 1U);
    BOOST_TEST(result.outcome == "no answer for A within 300 ms");
}

BOOST_AUTO_TEST_CASE(after_one_lost_answer_the_next_attempt_asks_one_by_one) {
    const Fd server = bound(SOCK_DGRAM);
    limit_waiting(server.get());
    bool second_waited = false;
    bool port_changed = false;
    Helper helper([&] {
        const Query a = receive_query(server.get());
        receive_query(server.get());  // AAAA gets no answer
        send_to(server.get(), a, answer_to(a));
        const Query again = receive_query(server.get());
        port_changed = to_endpoint(again.from.storage) != to_endpoint(a.from.storage);
        second_waited = nothing_comes(server.get(), 50);
        send_to(server.get(), again, answer_to(again));
        const Query last = receive_query(server.get());
        send_to(server.get(), last, answer_to(last));
    });
    const ProbeResult result = lookup(
        {.server = where(server), .name = kName, .attempts = 2, .timeout = milliseconds(300)});
    helper.join();
    BOOST_TEST(result.ok, result.outcome);
    BOOST_TEST(result.sent == 4U);
    BOOST_TEST(second_waited);
    BOOST_TEST(port_changed);
    BOOST_TEST(result.milliseconds >= 300);
}

BOOST_AUTO_TEST_CASE(an_error_code_is_an_answer_but_no_success) {
    const Fd server = bound(SOCK_DGRAM);
    limit_waiting(server.get());
    Helper helper([&] {
        const Query a = receive_query(server.get());
        const Query aaaa = receive_query(server.get());
        send_to(server.get(), a, answer_to(a, {.rcode = frame::Rcode::kNxDomain}));
        send_to(server.get(), aaaa, answer_to(aaaa));
    });
    const ProbeResult result = lookup({.server = where(server), .name = kName});
    BOOST_TEST(!result.ok);
    BOOST_TEST(result.received == 2U);
    BOOST_TEST(contains(result.outcome, "A: NXDOMAIN, AAAA: an address"), result.outcome);
}

BOOST_AUTO_TEST_CASE(a_truncated_answer_is_asked_for_again_over_tcp) {
    const BothBound both = both_bound();
    limit_waiting(both.udp.get());
    Helper helper([&] {
        const Query a = receive_query(both.udp.get());
        send_to(both.udp.get(), a, answer_to(a, {.truncated = true}));
        const Fd connection(accept(both.tcp.get(), nullptr, nullptr));
        limit_waiting(connection.get());
        for (int i = 0; i < 2; ++i) {
            Query query;
            query.message = read_message(connection.get());
            const Bytes answer = prefixed(answer_to(query));
            (void)!send(connection.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
        }
    });
    const ProbeResult result =
        lookup({.server = where(both.udp), .name = kName, .timeout = milliseconds(2000)});
    BOOST_TEST(result.ok, result.outcome);
    BOOST_TEST(contains(result.outcome, "truncated"), result.outcome);
}

BOOST_AUTO_TEST_CASE(a_server_that_accepts_and_says_nothing_is_a_timeout) {
    const Fd listener = bound(SOCK_STREAM);
    const ProbeResult result = lookup(
        {.server = where(listener), .name = kName, .tcp = true, .timeout = milliseconds(200)});
    BOOST_TEST(!result.ok);
    BOOST_TEST(result.sent == 2U);
    BOOST_TEST(result.outcome == "no answer for A and AAAA within 200 ms");
}

BOOST_AUTO_TEST_CASE(a_name_that_is_none_is_an_error) {
    const auto result = dns_lookup({.server = endpoint("127.0.0.1:1"), .name = "a..b"});
    BOOST_REQUIRE(!result);
    BOOST_TEST((result.error().code == ErrorCode::kBadInput));
    BOOST_TEST(contains(result.error().message, "a..b"));
}

BOOST_AUTO_TEST_CASE(hundreds_of_connections_are_answered) {
    const auto server = server_at("127.0.0.1:0", milliseconds(20));
    std::vector<Fd> clients;
    for (int i = 0; i < 300; ++i) {
        clients.push_back(connected(server->endpoint(), SOCK_STREAM));
    }
    for (std::size_t i = 0; i < clients.size(); ++i) {
        Bytes both = prefixed(make_query(static_cast<std::uint16_t>(i), frame::kDnsTypeA));
        const Bytes second =
            prefixed(make_query(static_cast<std::uint16_t>(i + 1), frame::kDnsTypeAaaa));
        both.insert(both.end(), second.begin(), second.end());
        BOOST_REQUIRE(send(clients[i].get(), both.data(), both.size(), MSG_NOSIGNAL) ==
                      static_cast<ssize_t>(both.size()));
    }
    for (std::size_t i = 0; i < clients.size(); ++i) {
        const Bytes first = read_message(clients[i].get());
        const Bytes second = read_message(clients[i].get());
        BOOST_REQUIRE(!first.empty());
        BOOST_REQUIRE(!second.empty());
        BOOST_TEST(frame::DnsReader(first).header().id == i);
        BOOST_TEST(frame::DnsReader(second).header().id == i + 1);
    }
}

BOOST_AUTO_TEST_CASE(a_query_cut_into_single_bytes_is_answered) {
    const auto server = server_at("127.0.0.1:0");
    const Fd client = connected(server->endpoint(), SOCK_STREAM);
    const int on = 1;
    setsockopt(client.get(), 6, 1, &on, sizeof on);  // IPPROTO_TCP, TCP_NODELAY
    for (std::uint8_t byte : prefixed(make_query(9, frame::kDnsTypeA))) {
        BOOST_REQUIRE(send(client.get(), &byte, 1, MSG_NOSIGNAL) == 1);
    }
    BOOST_TEST(frame::DnsReader(read_message(client.get())).header().id == 9);
}

BOOST_AUTO_TEST_CASE(a_client_that_has_sent_its_last_query_still_gets_the_answer) {
    const auto server = server_at("127.0.0.1:0", milliseconds(50));
    const Fd client = connected(server->endpoint(), SOCK_STREAM);
    const Bytes query = prefixed(make_query(9, frame::kDnsTypeA));
    BOOST_REQUIRE(send(client.get(), query.data(), query.size(), MSG_NOSIGNAL) > 0);
    shutdown(client.get(), SHUT_WR);
    BOOST_TEST(!read_message(client.get()).empty());
    char byte = 0;
    BOOST_TEST(recv(client.get(), &byte, 1, 0) == 0);  // then the server closes
}

BOOST_AUTO_TEST_CASE(what_is_no_query_does_not_disturb_the_server) {
    const auto server = server_at("127.0.0.1:0");
    const Fd udp = connected(server->endpoint(), SOCK_DGRAM);
    Bytes response = make_query(1, frame::kDnsTypeA);
    response[2] |= 0x80;
    for (const Bytes& junk : {Bytes{}, Bytes{1}, Bytes(11, 0xff), Bytes(600, 0xc0), response}) {
        BOOST_REQUIRE(send(udp.get(), junk.data(), junk.size(), 0) ==
                      static_cast<ssize_t>(junk.size()));
    }
    BOOST_TEST(nothing_comes(udp.get(), 100));
    const Fd tcp = connected(server->endpoint(), SOCK_STREAM);
    const Bytes junk(40, 0);
    BOOST_REQUIRE(send(tcp.get(), junk.data(), junk.size(), MSG_NOSIGNAL) > 0);
    char byte = 0;
    BOOST_TEST(recv(tcp.get(), &byte, 1, 0) <= 0);
    { const Fd vanishes = connected(server->endpoint(), SOCK_STREAM); }
    BOOST_TEST(lookup({.server = server->endpoint(), .name = kName}).ok);
    BOOST_TEST(lookup({.server = server->endpoint(), .name = kName, .tcp = true}).ok);
}

BOOST_AUTO_TEST_CASE(connections_closed_before_their_delayed_answer_are_forgotten) {
    const auto server = server_at("127.0.0.1:0", milliseconds(60));
    for (int i = 0; i < 50; ++i) {
        const Fd client = connected(server->endpoint(), SOCK_STREAM);
        const Bytes query = prefixed(make_query(9, frame::kDnsTypeA));
        BOOST_REQUIRE(send(client.get(), query.data(), query.size(), MSG_NOSIGNAL) > 0);
        if (i % 2 == 0) {
            const linger reset{.l_onoff = 1, .l_linger = 0};
            setsockopt(client.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        }
    }
    BOOST_TEST(lookup({.server = server->endpoint(), .name = kName, .tcp = true}).ok);
}

BOOST_AUTO_TEST_CASE(a_port_in_use_is_named_and_nothing_is_left_open) {
    const auto server = server_at("127.0.0.1:0");
    const auto second =
        DnsServer::start({.listen = server->endpoint(), .address = {}, .address6 = {}});
    BOOST_REQUIRE(!second);
    BOOST_TEST(contains(second.error().message, frame::to_string(server->endpoint())),
               second.error().message);
}

BOOST_AUTO_TEST_CASE(a_stopped_server_frees_its_port) {
    auto server = server_at("127.0.0.1:0", milliseconds(5000));
    const frame::Endpoint at = server->endpoint();
    const Fd waiting = connected(at, SOCK_STREAM);
    const Bytes query = prefixed(make_query(9, frame::kDnsTypeA));
    BOOST_REQUIRE(send(waiting.get(), query.data(), query.size(), MSG_NOSIGNAL) > 0);
    const auto begin = std::chrono::steady_clock::now();
    server.reset();
    BOOST_TEST((std::chrono::steady_clock::now() - begin < std::chrono::seconds(4)));
    const auto again = DnsServer::start({.listen = at, .address = {}, .address6 = {}});
    BOOST_TEST(again.has_value());
}

BOOST_AUTO_TEST_SUITE_END()
