#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

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
    BOOST_TEST(profiles->size() >= 2);
    for (const std::string& complaint : lint(*profiles)) {
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
    complains({card, twin}, "pci 8086:1592 matches card.toml too");
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
    const auto missing = find_profile(NICPROFILES, "e1000");
    BOOST_REQUIRE(!missing);
    BOOST_TEST((missing.error().code == ErrorCode::kNotFound));
    BOOST_TEST(missing.error().message.find("there are: veth, vxlan") != std::string::npos);
    BOOST_TEST(find_profile(NICPROFILES, "veth")->id == "veth");
}

BOOST_AUTO_TEST_CASE(linux_has_these_features) {
    BOOST_TEST(is_feature_name("tx-checksum-ip-generic"));
    BOOST_TEST(is_feature_name("rx-udp_tunnel-port-offload"));
    BOOST_TEST(!is_feature_name("tx-checksumming"));
    BOOST_TEST(!is_feature_name(""));
}
