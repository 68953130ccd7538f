#include <boost/test/unit_test.hpp>

#include "harness/profile/live.h"

using namespace pathproof;
using namespace pathproof::profile;

namespace {

LiveDevice card() {
    return {.name = "eth7",
            .identity = {.kernel_driver = "ice", .pmd = "", .pci = "8086:1592"},
            .firmware = "4.40 \"beta\" \\ 1\t2",
            .features = {{"tx-checksum-ipv4", true, true, true, false},
                         {"rx-all", false, false, true, false},
                         {"tx-udp-segmentation", false, false, false, false},
                         {"hw-tc-offload", false, false, false, false}},
            .dpdk_tx = {},
            .dpdk_rx = {},
            .limits = {{LimitKind::kMaxMtu, 9702}},
            .speed_mbps = 25000,
            .running = {.kernel = "6.1.0", .dpdk = ""}};
}

Profile read_back(const LiveDevice& device) {
    const std::string text = draft(device, "2026-01-31");
    const auto profile = parse_profile(text, "draft.toml");
    BOOST_REQUIRE_MESSAGE(profile, profile.error().message << "\n" << text);
    return *profile;
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_offered_is_required_and_what_matters_and_is_not_is_absent) {
    const Profile profile = read_back(card());
    BOOST_REQUIRE(profile.offloads.size() == 3);
    BOOST_TEST(profile.offloads[0].name == "rx-all");
    BOOST_TEST((profile.offloads[0].expect == Expectation::kRequired));
    BOOST_TEST(!*profile.offloads[0].on_by_default);
    BOOST_TEST(profile.offloads[1].name == "tx-checksum-ipv4");
    BOOST_TEST(*profile.offloads[1].on_by_default);
    BOOST_TEST(profile.offloads[2].name == "tx-udp-segmentation");
    BOOST_TEST((profile.offloads[2].expect == Expectation::kAbsent));
}

BOOST_AUTO_TEST_CASE(a_card_on_a_bus_is_physical_and_known_by_its_id) {
    const Profile profile = read_back(card());
    BOOST_TEST(profile.id == "ice-draft");
    BOOST_TEST(profile.evidence_class == "physical");
    BOOST_TEST(profile.match.pci.at(0) == "8086:1592");
    BOOST_TEST(profile.limits.at(0).value == 9702);
    BOOST_TEST(profile.link->mbps.at(0) == 25000);
    LiveDevice paravirtual = card();
    paravirtual.identity.kernel_driver = "virtio_net";
    BOOST_TEST(read_back(paravirtual).evidence_class == "virtual");
    BOOST_TEST(lint({profile}).size() == 1);  // it is not yet named after its id
}

BOOST_AUTO_TEST_CASE(text_from_a_device_cannot_break_the_draft) {
    BOOST_TEST(read_back(card()).sources.at("probe").find("firmware 4.40 \"beta\" \\ 1\t2") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_port_without_offloads_has_a_draft_too) {
    LiveDevice port;
    port.name = "net_null0";
    port.identity.pmd = "net_null";
    port.running.dpdk = "22.11.11";
    const Profile profile = read_back(port);
    BOOST_TEST(profile.match.pmd.at(0) == "net_null");
    BOOST_TEST(profile.dpdk_tx.empty());
    port.dpdk_tx = {"TCP_TSO", "IPV4_CKSUM"};
    port.dpdk_rx = {"VLAN_STRIP"};
    BOOST_TEST(read_back(port).dpdk_tx.size() == 2);
    BOOST_TEST(agrees(compare_dpdk(read_back(port), port.dpdk_tx, port.dpdk_rx)));
    BOOST_TEST(!agrees(compare_dpdk(read_back(port), {"TCP_TSO"}, port.dpdk_rx)));
}
