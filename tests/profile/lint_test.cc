#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "harness/profile/errata.h"
#include "harness/profile/profile.h"

using namespace pathproof;
using namespace pathproof::profile;

namespace {

Profile kind_of(const std::string& id) {
    return {.id = id, .file = id + ".toml", .match = {.kernel_driver = {id}}};
}

void complains(const std::vector<Profile>& profiles, const std::string& words) {
    const auto found = lint(profiles);
    const bool said = std::any_of(found.begin(), found.end(), [&](const std::string& complaint) {
        return complaint.find(words) != std::string::npos;
    });
    BOOST_TEST(said, "no complaint about: " << words);
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_profile_that_is_shipped_is_read_and_has_no_fault) {
    const auto profiles = load_all(NICPROFILES);
    BOOST_REQUIRE_MESSAGE(profiles, profiles.error().message);
    BOOST_TEST(profiles->size() >= 20);
    for (const std::string& complaint : lint(*profiles)) {
        BOOST_ERROR(complaint);
    }
    const auto errata = load_errata(NICPROFILES);
    BOOST_REQUIRE_MESSAGE(errata, errata.error().message);
    std::vector<std::string> ids;
    for (const Erratum& erratum : *errata) {
        ids.push_back(erratum.id);
    }
    for (const std::string& complaint : lint_errata(*profiles, ids)) {
        BOOST_ERROR(complaint);
    }
}

BOOST_AUTO_TEST_CASE(faults_of_a_set_are_found) {
    BOOST_TEST(lint({kind_of("a"), kind_of("b")}).empty());
    Profile other = kind_of("a");
    other.file = "b.toml";
    complains({other}, "b.toml: id 'a' is not the name of the file");
    complains({kind_of("a"), kind_of("a")}, "id 'a' stands in a.toml too");
    Profile same = kind_of("b");
    same.match.kernel_driver = {"a"};
    complains({kind_of("a"), same}, "b.toml: kernel_driver a matches a.toml too");
    Profile card = kind_of("card");
    card.match = {.kernel_driver = {"a"}, .pci = {"8086:1592"}};
    BOOST_TEST(lint({kind_of("a"), card}).empty());
    Profile twin = card;
    twin.id = "twin";
    twin.file = "twin.toml";
    complains({card, twin}, "kernel_driver a, pci 8086:1592 matches card.toml too");
    twin.match.kernel_driver = {"b"};
    BOOST_TEST(lint({card, twin}).empty());
    Profile talkative = kind_of("t");
    talkative.sources = {{"spare", "a book that nothing is taken from"}};
    complains({talkative}, "t.toml: nothing names source 'spare'");
    talkative.sources.clear();
    talkative.errata = {"E99-none"};
    BOOST_TEST(lint_errata({talkative}, {"E01-some"}) ==
                   std::vector<std::string>{"t.toml: there is no erratum 'E99-none'"},
               boost::test_tools::per_element());
    Profile bare = kind_of("v");
    bare.maturity = Maturity::kVerified;
    complains({bare}, "a verified profile names its reports");
}

BOOST_AUTO_TEST_CASE(the_folder_can_be_named_and_what_is_missing_is_said) {
    setenv("PATHPROOF_PROFILES", "/nonexistent/profiles", 1);
    BOOST_TEST(profile_directory() == "/nonexistent/profiles");
    const auto none = load_all(profile_directory());
    BOOST_REQUIRE(!none);
    BOOST_TEST((none.error().code == ErrorCode::kNotFound));
    BOOST_TEST(none.error().message.find("/nonexistent/profiles") != std::string::npos);
    unsetenv("PATHPROOF_PROFILES");
    BOOST_TEST(profile_directory() == NICPROFILES);
}

BOOST_AUTO_TEST_CASE(an_unknown_profile_names_those_there_are) {
    const auto missing = find_profile(NICPROFILES, "e1001");
    BOOST_REQUIRE(!missing);
    BOOST_TEST((missing.error().code == ErrorCode::kNotFound));
    BOOST_TEST(missing.error().message.find("there are: 8139cp, 8139too,") != std::string::npos);
    BOOST_TEST(find_profile(NICPROFILES, "veth")->id == "veth");
}

BOOST_AUTO_TEST_CASE(a_device_finds_the_profile_that_names_its_id) {
    const auto profiles = load_all(NICPROFILES);
    BOOST_REQUIRE(profiles);
    const auto found = [&](const DeviceIdentity& device) {
        const auto profile = matching_profile(*profiles, device);
        return profile ? profile->id : profile.error().message;
    };
    BOOST_TEST(found({.kernel_driver = "veth"}) == "veth");
    BOOST_TEST(found({.kernel_driver = "igc", .pci = "8086:15f3"}) == "igc");
    BOOST_TEST(found({.kernel_driver = "sfc", .pci = "10ee:0100"}) == "sfc-ef100");
    BOOST_TEST(found({.kernel_driver = "sfc", .pci = "1924:0a03"}) == "sfc");
    BOOST_TEST(found({.pmd = "net_e1000_em", .pci = "8086:100e"}) == "e1000");
    BOOST_TEST(found({.pmd = "net_e1000_em", .pci = "8086:10d3"}) == "e1000e");
    // A card too new for the list, of a driver that is in it.
    BOOST_TEST(found({.kernel_driver = "ice", .pci = "8086:ffff"}) == "ice");
    const std::string none = found({.kernel_driver = "tulip", .pci = "1011:0009"});
    BOOST_TEST(none.find("no profile is for driver 'tulip', PCI id 1011:0009") == 0, none);
    BOOST_TEST(none.find("profile probe") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(linux_has_these_features) {
    BOOST_TEST(is_feature_name("tx-checksum-ip-generic"));
    BOOST_TEST(is_feature_name("rx-udp_tunnel-port-offload"));
    BOOST_TEST(!is_feature_name("tx-checksumming"));
    BOOST_TEST(!is_feature_name(""));
    BOOST_TEST(is_dpdk_tx_offload("OUTER_UDP_CKSUM"));
    BOOST_TEST(!is_dpdk_tx_offload("VLAN_STRIP"));
    BOOST_TEST(is_dpdk_rx_offload("VLAN_STRIP"));
    BOOST_TEST(!is_dpdk_rx_offload("TCP_TSO"));
}
