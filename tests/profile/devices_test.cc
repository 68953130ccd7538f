// The profiles against the real devices of the running kernel, in a namespace of our own.
#define BOOST_TEST_MODULE profile_devices
#include <fmt/format.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "harness/process/netns.h"
#include "harness/process/program.h"
#include "harness/profile/compare.h"
#include "harness/profile/live.h"

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
        run({"ip", "-n", netns, "tuntap", "add", "dev", "tap0", "mode", "tap"});
    }
    ~Devices() { static_cast<void>(process::run_program({"ip", "netns", "del", netns})); }

    static void run(const std::vector<std::string>& argv) {
        const auto done = process::run_checked(argv);
        BOOST_REQUIRE_MESSAGE(done, done.error().message);
    }

    LiveDevice live(const std::string& name) const {
        LiveDevice device;
        const Status done = process::in_netns(netns, [&]() -> Status {
            device = TRY(read_kernel_device(name));
            return {};
        });
        BOOST_REQUIRE_MESSAGE(done, done.error().message);
        return device;
    }

    std::vector<Finding> compared(const std::string& profile, const std::string& device) const {
        const auto wanted = find_profile(NICPROFILES, profile);
        BOOST_REQUIRE_MESSAGE(wanted, wanted.error().message);
        const LiveDevice found = live(device);
        return compare(*wanted, found.features, found.running);
    }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(new_devices_offer_what_their_profiles_expect, Devices) {
    for (const auto& [profile, device] :
         {std::pair{"veth", "v0"}, {"vxlan", "vx"}, {"tap", "tap0"}}) {
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

BOOST_FIXTURE_TEST_CASE(a_device_tells_who_it_is_and_how_far_it_goes, Devices) {
    const LiveDevice device = live("v0");
    BOOST_TEST(device.identity.kernel_driver == "veth");
    BOOST_TEST(device.identity.pci.empty());
    BOOST_TEST(device.limits.at(LimitKind::kMaxMtu) == 65535);
    BOOST_TEST(device.limits.at(LimitKind::kRxQueues) >= 1);
    BOOST_TEST(parse_version(device.running.kernel).has_value());
    const auto profiles = load_all(NICPROFILES);
    BOOST_REQUIRE(profiles);
    for (const auto& [name, profile] :
         {std::pair{"v0", "veth"}, {"vx", "vxlan"}, {"tap0", "tap"}}) {
        const auto found = matching_profile(*profiles, live(name).identity);
        BOOST_REQUIRE_MESSAGE(found, name);
        BOOST_TEST(found->id == profile);
        const auto limits = compare_limits(found->limits, live(name).limits);
        BOOST_REQUIRE(!limits.empty());
        BOOST_TEST((limits[0].kind == Finding::Kind::kAsExpected),
                   name << ": " << limits[0].expected << ", found " << limits[0].found);
    }
}

BOOST_FIXTURE_TEST_CASE(a_draft_is_a_profile_that_its_device_agrees_with, Devices) {
    for (const std::string name : {"v0", "vx", "tap0"}) {
        const LiveDevice device = live(name);
        const auto drafted = parse_profile(draft(device, "2026-01-31"), "draft.toml");
        BOOST_REQUIRE_MESSAGE(drafted, drafted.error().message);
        BOOST_TEST((drafted->match.kernel_driver[0] == device.identity.kernel_driver));
        BOOST_TEST(drafted->provenance.date == "2026-01-31");
        BOOST_TEST(drafted->evidence_class == "virtual");
        const auto findings = compare(*drafted, device.features, device.running);
        BOOST_TEST(agrees(findings));
        for (const Finding& finding : findings) {
            BOOST_TEST((finding.kind == Finding::Kind::kAsExpected),
                       name << ": " << finding.feature << " " << profile::name(finding.kind));
        }
    }
}

BOOST_FIXTURE_TEST_CASE(a_draft_notices_what_a_driver_stops_offering, Devices) {
    LiveDevice device = live("v0");
    const auto drafted = parse_profile(draft(device, "2026-01-31"), "draft.toml");
    BOOST_REQUIRE(drafted);
    for (agent::Feature& feature : device.features) {
        if (feature.name == "tx-checksum-ip-generic") {
            feature.active = feature.requested = feature.available = false;
        }
    }
    BOOST_TEST(!agrees(compare(*drafted, device.features, device.running)));
}

BOOST_AUTO_TEST_CASE(a_device_that_is_not_there_is_said_so) {
    const auto none = read_kernel_device("pp-no-such");
    BOOST_REQUIRE(!none);
    BOOST_TEST((none.error().code == ErrorCode::kNotFound));
    BOOST_TEST(pci_id("0000:ff:1f.7").empty());
    BOOST_TEST(pci_id("../../../etc:passwd").empty());
    BOOST_TEST(pci_id("v0").empty());
}
