#include "harness/tester/client.h"

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <filesystem>

#include "tests/contains.h"

using namespace pathproof;
using namespace pathproof::tester;

namespace {

// Ports that need no privileges.
TesterOptions two_rings() {
    return {
        .ports = {{.name = "a", .device = "net_ring"}, {.name = "b", .device = "net_null,no-rx=1"}},
        .worker_cpus = {0}};
}

std::unique_ptr<Client> start(const TesterOptions& options) {
    auto client = Client::start(options);
    BOOST_REQUIRE_MESSAGE(client, client.error().message);
    return std::move(*client);
}

std::string refusal(const TesterOptions& options) {
    const auto client = Client::start(options);
    BOOST_REQUIRE(!client);
    return client.error().message;
}

using pathproof::test::contains;

}  // namespace

BOOST_AUTO_TEST_CASE(a_tester_opens_its_ports_and_says_what_they_are) {
    const auto client = start(two_rings());
    BOOST_REQUIRE(client->ports().size() == 2u);
    BOOST_TEST(client->ports()[0].name == "a");
    BOOST_TEST(client->ports()[0].device == "net_ring0");
    BOOST_TEST(client->ports()[1].device == "net_null1");
    BOOST_TEST(client->ports()[1].driver == "net_null");
    BOOST_TEST(client->dpdk_version().starts_with("DPDK "));
    BOOST_TEST(client->alive());
}

BOOST_AUTO_TEST_CASE(a_device_without_a_number_gets_one_that_is_free) {
    TesterOptions options = two_rings();
    options.ports = {{.name = "a", .device = "net_ring"},
                     {.name = "b", .device = "net_ring0"},
                     {.name = "c", .device = "net_ring"}};
    const auto client = start(options);
    BOOST_TEST(client->ports()[0].device == "net_ring1");
    BOOST_TEST(client->ports()[1].device == "net_ring0");
    BOOST_TEST(client->ports()[2].device == "net_ring2");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_opened_is_named) {
    TesterOptions options = two_rings();
    options.ports[1].device = "net_af_packet,iface=pp-none";
    const std::string no_interface = refusal(options);
    BOOST_TEST(contains(no_interface, "net_af_packet1"));
    options = two_rings();
    options.ports[0].tx_offloads = 1ull << 2;
    BOOST_TEST(contains(refusal(options), "UDP_CKSUM"));
    options = two_rings();
    options.worker_cpus = {999};
    BOOST_TEST(contains(refusal(options), "CPU 999"));
    options = two_rings();
    options.netns = "pp-no-such";
    BOOST_TEST(contains(refusal(options), "namespace 'pp-no-such' does not exist"));
}

BOOST_AUTO_TEST_CASE(operations_out_of_order_are_refused_and_harm_nothing) {
    const auto client = start(two_rings());
    const auto nothing = client->stop_wire();
    BOOST_REQUIRE(!nothing);
    BOOST_TEST(contains(nothing.error().message, "no wire is running"));
    BOOST_TEST(!client->wire_broken());
    BOOST_REQUIRE(client->start_wire({}));
    BOOST_TEST(!client->start_wire({}));
    const auto pairs = client->run_pairs({}, std::nullopt);
    BOOST_REQUIRE(!pairs);
    BOOST_TEST(contains(pairs.error().message, "a wire is running"));
    const auto nowhere = client->stop_wire("/pp-no-such-folder/x.pcapng");
    BOOST_REQUIRE(!nowhere);
    BOOST_TEST(contains(nowhere.error().message, "/pp-no-such-folder/x.pcapng"));
    const auto broken = client->wire_broken();
    BOOST_REQUIRE(broken);
    BOOST_TEST(!*broken);
    BOOST_TEST(client->stop_wire().has_value());  // the refused stop did not lose it
}

BOOST_AUTO_TEST_CASE(a_killed_tester_is_noticed_at_once_and_the_next_one_starts) {
    auto client = start(two_rings());
    BOOST_REQUIRE(client->start_wire({}));
    const pid_t dead = client->pid();
    BOOST_REQUIRE(kill(dead, SIGKILL) == 0);
    const auto report = client->stop_wire();
    BOOST_REQUIRE(!report);
    BOOST_TEST((report.error().code == ErrorCode::kUnavailable));
    BOOST_TEST(!client->alive());
    BOOST_TEST(!client->cancel());
    client.reset();
    start(two_rings());
    // The next one has also put away what the dead one left.
    for (const char* folder : {"/var/run/dpdk", "/tmp/dpdk"}) {
        std::error_code unreadable;
        BOOST_TEST(!std::filesystem::exists(
            std::filesystem::path(folder) / ("pathproof-" + std::to_string(dead)), unreadable));
    }
}
