// The profiles against the real devices of the running kernel, in a namespace of our own.
#define BOOST_TEST_MODULE profile_devices
#include <fmt/format.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "harness/agent/ethtool.h"
#include "harness/process/netns.h"
#include "harness/process/program.h"
#include "harness/profile/compare.h"

using namespace pathproof;
using namespace pathproof::profile;

namespace {

struct Devices {
    std::string netns = fmt::format("pp-profile-{}", getpid());

    Devices() {
        run({"ip", "netns", "add", netns});
        run({"ip", "-n", netns, "link", "add", "v0", "type", "veth", "peer", "name", "v1"});
        run({"ip", "-n", netns, "link", "add", "vx", "type", "vxlan", "id", "42", "dstport", "4789",
             "local", "198.18.0.1", "remote", "198.18.0.2", "udpcsum"});
    }
    ~Devices() { static_cast<void>(process::run_program({"ip", "netns", "del", netns})); }

    static void run(const std::vector<std::string>& argv) {
        const auto done = process::run_checked(argv);
        BOOST_REQUIRE_MESSAGE(done, done.error().message);
    }

    std::vector<Finding> compared(const std::string& profile, const std::string& device) const {
        const auto wanted = find_profile(NICPROFILES, profile);
        BOOST_REQUIRE_MESSAGE(wanted, wanted.error().message);
        std::vector<Finding> findings;
        const Status done = process::in_netns(netns, [&]() -> Status {
            const auto features = agent::read_features(device);
            if (!features) {
                return pass_on(features.error());
            }
            findings = compare(*wanted, *features);
            return {};
        });
        BOOST_REQUIRE_MESSAGE(done, done.error().message);
        return findings;
    }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(new_devices_offer_what_their_profiles_expect, Devices) {
    for (const auto& [profile, device] : {std::pair{"veth", "v0"}, {"vxlan", "vx"}}) {
        for (const Finding& finding : compared(profile, device)) {
            const bool fits = finding.kind != Finding::Kind::kMissing &&
                              finding.kind != Finding::Kind::kUnexpected;
            BOOST_TEST(fits, profile << ": " << finding.feature << " is " << name(finding.kind)
                                     << ", found " << finding.found);
        }
    }
}

BOOST_FIXTURE_TEST_CASE(a_device_of_another_kind_does_not_pass, Devices) {
    BOOST_TEST(!agrees(compared("veth", "vx")));
    BOOST_TEST(!agrees(compared("vxlan", "v0")));
}

BOOST_FIXTURE_TEST_CASE(a_feature_that_was_turned_off_is_noted, Devices) {
    run({"ip", "netns", "exec", netns, "ethtool", "-K", "vx", "tx-checksum-ip-generic", "off"});
    bool noted = false;
    const auto findings = compared("vxlan", "vx");
    for (const Finding& finding : findings) {
        noted = noted || (finding.feature == "tx-checksum-ip-generic" &&
                          finding.kind == Finding::Kind::kOtherDefault);
    }
    BOOST_TEST(noted);
    BOOST_TEST(agrees(findings));
}
