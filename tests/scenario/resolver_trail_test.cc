// The way of each query, joined from what was seen of it on the wire and at the server.
#include "harness/scenario/resolvers/resolver_trail.h"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(resolver_trail)

using namespace pathproof;
using namespace pathproof::scenario;

namespace {

constexpr std::int64_t kMs = 1'000'000;
const frame::Endpoint kClient = frame::parse_endpoint("198.18.0.2:40000").value();
const frame::Endpoint kServer = frame::parse_endpoint("203.0.113.2:53").value();

DnsOnWire on_wire(std::int64_t ms, bool response, std::uint8_t rcode = 0,
                  const std::string& name = "n1.example.com") {
    return {.time_ns = ms * kMs,
            .client = kClient,
            .server = kServer,
            .response = response,
            .id = 7,
            .name = name,
            .type = 1,
            .rcode = rcode};
}

agent::DnsQueryRecord at_server(std::int64_t ms, bool answered, std::uint8_t rcode = 0) {
    return {.time_ns = ms * kMs,
            .client = kClient,
            .id = 7,
            .name = "n1.example.com",
            .type = 1,
            .answered = answered,
            .rcode = rcode};
}

QueryFate only_fate(const std::vector<QueryTrail>& trails) {
    BOOST_REQUIRE(trails.size() == 1U);
    return fate_of(trails[0], 4500);
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_fate_of_a_query_has_its_name) {
    BOOST_TEST((only_fate(join_queries(kServer.address, {on_wire(0, false)}, {at_server(1, true)},
                                       {on_wire(2, true)})) == QueryFate::kAnswered));
    BOOST_TEST((only_fate(join_queries(kServer.address, {on_wire(0, false)}, {at_server(1, false)},
                                       {})) == QueryFate::kWithheld));
    BOOST_TEST((only_fate(join_queries(kServer.address, {on_wire(0, false)}, {}, {})) ==
                QueryFate::kQueryLost));
    BOOST_TEST((only_fate(join_queries(kServer.address, {on_wire(0, false)}, {at_server(1, true)},
                                       {})) == QueryFate::kAnswerLost));
    BOOST_TEST((only_fate(join_queries(kServer.address, {on_wire(0, false)}, {at_server(1, true)},
                                       {on_wire(6000, true)})) == QueryFate::kLate));
    // A stranger answers what the server never saw, or other than it, or in the place of silence.
    BOOST_TEST((only_fate(join_queries(kServer.address, {on_wire(0, false)}, {},
                                       {on_wire(2, true, 5)})) == QueryFate::kForeign));
    BOOST_TEST((only_fate(join_queries(kServer.address, {on_wire(0, false)}, {at_server(1, true)},
                                       {on_wire(2, true, 3)})) == QueryFate::kForeign));
    BOOST_TEST((only_fate(join_queries(kServer.address, {on_wire(0, false)}, {at_server(1, false)},
                                       {on_wire(2, true)})) == QueryFate::kForeign));
}

BOOST_AUTO_TEST_CASE(what_is_no_answer_in_the_place_of_one_is_told_from_a_lost_query) {
    DnsOnWire noise{.time_ns = 2 * kMs,
                    .client = kClient,
                    .server = kServer,
                    .response = true,
                    .rubbish = true};
    const auto trails = join_queries(kServer.address, {on_wire(0, false)}, {}, {noise});
    BOOST_TEST((only_fate(trails) == QueryFate::kRubbish));
    BOOST_TEST(strange_fate(trails, 4500) == "rubbish-answer");
    // Rubbish with another name, beside a query that the server took, and to another port.
    BOOST_TEST((only_fate(join_queries(kServer.address, {on_wire(0, false)}, {},
                                       {on_wire(2, true, 0, "x.test")})) == QueryFate::kRubbish));
    BOOST_TEST((only_fate(join_queries(kServer.address, {on_wire(0, false)}, {at_server(1, false)},
                                       {noise})) == QueryFate::kWithheld));
    noise.client.port = 1;
    BOOST_TEST((only_fate(join_queries(kServer.address, {on_wire(0, false)}, {}, {noise})) ==
                QueryFate::kQueryLost));
}

// The query goes elsewhere where the client's resolv.conf names another server.
BOOST_AUTO_TEST_CASE(a_query_to_another_server_is_told_from_a_lost_one) {
    DnsOnWire elsewhere = on_wire(0, false);
    elsewhere.server = frame::parse_endpoint("198.51.100.53:53").value();
    const auto trails = join_queries(kServer.address, {elsewhere}, {}, {on_wire(2, true, 3)});
    BOOST_TEST((only_fate(trails) == QueryFate::kElsewhere));
    BOOST_TEST(strange_fate(trails, 4500) == "other-server");
}

BOOST_AUTO_TEST_CASE(a_query_that_is_sent_again_has_two_ways) {
    const auto trails =
        join_queries(kServer.address, {on_wire(0, false), on_wire(5000, false)},
                     {at_server(1, false), at_server(5001, true)}, {on_wire(5002, true)});
    BOOST_REQUIRE(trails.size() == 2U);
    BOOST_TEST((fate_of(trails[0], 4500) == QueryFate::kWithheld));
    BOOST_TEST((fate_of(trails[1], 4500) == QueryFate::kAnswered));
    BOOST_TEST(trails[1].came_after_ms == 2.0);
    BOOST_TEST(strange_fate(trails, 4500) == "");
    // The first was lost on its way: what the server took is the second.
    const auto lost = join_queries(kServer.address, {on_wire(0, false), on_wire(5000, false)},
                                   {at_server(5001, true)}, {on_wire(5002, true)});
    BOOST_TEST((fate_of(lost[0], 4500) == QueryFate::kQueryLost));
    BOOST_TEST((fate_of(lost[1], 4500) == QueryFate::kAnswered));
    BOOST_TEST(strange_fate(lost, 4500) == "query-lost");
}

BOOST_AUTO_TEST_CASE(messages_of_other_names_and_over_tcp_do_not_mix) {
    agent::DnsQueryRecord tcp = at_server(3, true, 3);
    tcp.tcp = true;
    const auto trails =
        join_queries(kServer.address, {on_wire(0, false), on_wire(1, false, 0, "n2.example.com")},
                     {tcp}, {on_wire(2, true, 0, "n2.example.com")});
    BOOST_REQUIRE(trails.size() == 3U);
    BOOST_TEST((fate_of(trails[0], 4500) == QueryFate::kQueryLost));
    BOOST_TEST((fate_of(trails[1], 4500) == QueryFate::kForeign));
    BOOST_TEST(trails[2].tcp);
    BOOST_TEST((fate_of(trails[2], 4500) == QueryFate::kAnswered));
    BOOST_TEST(first_label("n2.example.com") == "n2");
    BOOST_TEST(first_label("n2") == "n2");
}

BOOST_AUTO_TEST_SUITE_END()
