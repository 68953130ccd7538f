// Features, driver facts and statistics against ethtool(8) itself.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>
#include <sstream>
#include <thread>

#include "harness/agent/device_info.h"
#include "harness/agent/ethtool.h"
#include "harness/agent/feature_names.h"
#include "harness/agent/probes.h"
#include "harness/process/netns.h"
#include "tests/agent/lab.h"

BOOST_AUTO_TEST_SUITE(devices)

using namespace pathproof;
using namespace pathproof::agent;
using namespace pathproof::agent::test;

namespace {

// Feature name to what stands behind the colon: "on", "off [fixed]", "off [requested on]".
using Shown = std::map<std::string, std::string>;

Shown shown_by_us(Client& agent, const std::string& device) {
    const auto features = agent.features(device);
    BOOST_REQUIRE_MESSAGE(features, features.error().message);
    Shown shown;
    for (const Feature& feature : *features) {
        std::string text = feature.active ? "on" : "off";
        if (feature.never_changed) {
            text += " [fixed]";
        } else if (feature.active != feature.requested) {
            text += feature.requested ? " [requested on]" : " [requested off]";
        }
        shown[feature.name] = text;
    }
    return shown;
}

// ethtool -k prints a group ("rx-checksumming: on") in place of its only member, and above several
// members.
Shown shown_by_ethtool(const std::string& netns, const std::string& device, const Shown& ours) {
    std::vector<std::string> names;
    for (const auto& [name, text] : ours) {
        names.push_back(name);
    }
    Shown shown;
    std::istringstream lines(run_in(netns, "ethtool -k " + device));
    std::string line;
    std::getline(lines, line);  // "Features for e0:"
    while (std::getline(lines, line)) {
        line.erase(0, line.find_first_not_of(" \t"));
        const std::size_t colon = line.find(": ");
        BOOST_REQUIRE_MESSAGE(colon != std::string::npos, line);
        const std::string name = line.substr(0, colon);
        const auto members = expand_features(names, {{name, true}});
        if (!members) {
            shown[name] = line.substr(colon + 2);
        } else if (members->size() == 1) {
            shown[names[members->front().index]] = line.substr(colon + 2);
        }
    }
    return shown;
}

void check_same(Client& agent, const std::string& netns, const std::string& device) {
    const Shown ours = shown_by_us(agent, device);
    const Shown theirs = shown_by_ethtool(netns, device, ours);
    BOOST_TEST(theirs.size() > 40U);
    for (const auto& [name, text] : theirs) {
        const auto found = ours.find(name);
        BOOST_REQUIRE_MESSAGE(found != ours.end(), device + " lacks " + name);
        BOOST_TEST(found->second == text,
                   device << " " << name << ": " << found->second << " is not " << text);
    }
    BOOST_TEST(ours.size() == theirs.size());
}

// "name: value" lines of ethtool -i and -S.
std::map<std::string, std::string> fields(const std::string& text) {
    std::map<std::string, std::string> values;
    std::istringstream lines(text);
    std::string line;
    while (std::getline(lines, line)) {
        const std::size_t colon = line.find(": ");
        if (colon != std::string::npos) {
            const std::size_t begin = line.find_first_not_of(' ');
            values[line.substr(begin, colon - begin)] = line.substr(colon + 2);
        }
    }
    return values;
}

std::string first_line(const std::string& text) {
    return text.substr(0, text.find('\n'));
}

// Changes the features as the agent of that namespace does.
Result<std::vector<FeatureChange>> change_in(
    const std::string& netns, const std::string& device,
    const std::vector<std::pair<std::string, bool>>& wanted) {
    return process::in_netns(netns, [&] { return change_features(device, wanted); });
}

}  // namespace

BOOST_AUTO_TEST_CASE(features_are_those_of_ethtool_k) {
    const Lab lab;
    const auto agent = agent_in(lab.a);
    for (const char* device : {"e0", "vx.pp", "lo"}) {
        check_same(*agent, lab.a, device);
    }
    // A feature that waits for another is shown as requested.
    run_in(lab.a, "ethtool -K e0 tx off");
    BOOST_TEST(shown_by_us(*agent, "e0").at("tx-tcp-segmentation") == "off [requested on]");
    check_same(*agent, lab.a, "e0");
}

BOOST_AUTO_TEST_CASE(setting_features_does_what_ethtool_K_does) {
    const Lab lab;
    const auto agent_a = agent_in(lab.a);
    const auto agent_b = agent_in(lab.b);
    const std::vector<std::pair<std::string, bool>> steps{{"tx", false},
                                                          {"tso", false},
                                                          {"tx", true},
                                                          {"tso", true},
                                                          {"sg", false},
                                                          {"rx", false},
                                                          {"gso", false},
                                                          {"sg", true},
                                                          {"gro", true},
                                                          {"rx-gro-list", true},
                                                          {"tx-checksum-ip-generic", false},
                                                          {"tx-checksum-ip-generic", true},
                                                          {"rxvlan", false},
                                                          {"tx-udp-segmentation", false},
                                                          {"rx-checksumming", true}};
    for (const char* device : {"e0", "vx.pp"}) {
        BOOST_REQUIRE((shown_by_us(*agent_a, device) == shown_by_us(*agent_b, device)));
        for (const auto& [word, on] : steps) {
            const auto tried = process::run_program(
                {"ip", "netns", "exec", lab.b, "ethtool", "-K", device, word, on ? "on" : "off"});
            BOOST_REQUIRE(tried);
            const auto changed = change_in(lab.a, device, {{word, on}});
            BOOST_TEST((tried->exit_status == 0) == changed.has_value(),
                       device << " " << word << ": ethtool: " << tried->err
                              << ", we: " << (changed ? "done" : changed.error().message));
            const Shown ours = shown_by_us(*agent_a, device);
            const Shown theirs = shown_by_us(*agent_b, device);
            BOOST_TEST((ours == theirs), device << " differs after " << word << " " << on);
        }
    }
}

BOOST_AUTO_TEST_CASE(what_changed_along_is_told_apart_from_what_was_asked) {
    const Lab lab;
    const auto agent = agent_in(lab.a);
    const auto changed = change_in(lab.a, "e0", {{"tx-checksum-ip-generic", false}});
    BOOST_REQUIRE_MESSAGE(changed, changed.error().message);
    std::map<std::string, FeatureChange> changes;
    for (const FeatureChange& change : *changed) {
        changes[change.name] = change;
    }
    BOOST_REQUIRE(changes.contains("tx-checksum-ip-generic"));
    BOOST_TEST(changes["tx-checksum-ip-generic"].asked);
    BOOST_REQUIRE(changes.contains("tx-tcp-segmentation"));
    BOOST_TEST(!changes["tx-tcp-segmentation"].asked);
    BOOST_TEST((changes["tx-tcp-segmentation"].before && !changes["tx-tcp-segmentation"].after));
    BOOST_TEST(change_in(lab.a, "e0", {{"tx-checksum-ip-generic", false}})->empty());
}

BOOST_AUTO_TEST_CASE(a_refused_or_fixed_feature_is_named_and_nothing_is_changed) {
    const Lab lab;
    const auto agent = agent_in(lab.a);
    BOOST_REQUIRE(change_in(lab.a, "e0", {{"tx", false}}));
    const Shown before = shown_by_us(*agent, "e0");

    const auto fixed = change_in(lab.a, "e0", {{"rx", false}, {"vlan-challenged", true}});
    BOOST_REQUIRE(!fixed);
    BOOST_TEST((fixed.error().code == ErrorCode::kNotSupported));
    BOOST_TEST(
        fixed.error().message.find("vlan-challenged of e0 is off [fixed]") != std::string::npos,
        fixed.error().message);
    BOOST_TEST((shown_by_us(*agent, "e0") == before));

    // The kernel keeps TSO off while checksums are off (netdev_fix_features).
    BOOST_REQUIRE(change_in(lab.a, "e0", {{"tso", false}}));
    const Shown without_tso = shown_by_us(*agent, "e0");
    const auto refused = change_in(lab.a, "e0", {{"rx", false}, {"tx-tcp-segmentation", true}});
    BOOST_REQUIRE(!refused);
    BOOST_TEST((refused.error().code == ErrorCode::kNotSupported));
    BOOST_TEST(refused.error().message.find("tx-tcp-segmentation") != std::string::npos,
               refused.error().message);
    BOOST_TEST((shown_by_us(*agent, "e0") == without_tso));

    const auto on_lo = change_in(lab.a, "lo", {{"highdma", false}});
    BOOST_REQUIRE(!on_lo);
    BOOST_TEST(on_lo.error().message.find("highdma of lo is on [fixed]") != std::string::npos,
               on_lo.error().message);
}

BOOST_AUTO_TEST_CASE(unknown_devices_and_features_are_refused_with_close_names) {
    const Lab lab;
    const auto agent = agent_in(lab.a);
    const auto device = agent->features("vx.p");
    BOOST_REQUIRE(!device);
    BOOST_TEST((device.error().code == ErrorCode::kNotFound));
    BOOST_TEST(device.error().message.find("did you mean vx.pp?") != std::string::npos,
               device.error().message);
    BOOST_TEST(device.error().message.find(lab.a) != std::string::npos, device.error().message);
    const Shown before = shown_by_us(*agent, "e0");
    const auto feature = change_in(lab.a, "e0", {{"rx", false}, {"tx-checksum-ip-genric", false}});
    BOOST_REQUIRE(!feature);
    BOOST_TEST((feature.error().code == ErrorCode::kNotFound));
    BOOST_TEST((shown_by_us(*agent, "e0") == before));
    BOOST_TEST((agent->device("nothing-like-it-at-all").error().code == ErrorCode::kNotFound));
}

BOOST_AUTO_TEST_CASE(driver_facts_are_those_of_ethtool_i_and_ip_link) {
    const Lab lab;
    const auto agent = agent_in(lab.a);
    for (const char* device : {"e0", "vx.pp"}) {
        const auto info = agent->device(device);
        BOOST_REQUIRE_MESSAGE(info, info.error().message);
        auto theirs = fields(run_in(lab.a, std::string("ethtool -i ") + device));
        BOOST_TEST(info->driver == theirs["driver"]);
        BOOST_TEST(info->driver_version == theirs["version"]);
        BOOST_TEST(info->firmware == theirs["firmware-version"]);
        BOOST_TEST(info->bus == theirs["bus-info"]);
        const std::string folder = std::string("/sys/class/net/") + device;
        BOOST_TEST(frame::to_string(info->mac) ==
                   first_line(run_in(lab.a, "cat " + folder + "/address")));
        BOOST_TEST(std::to_string(info->mtu) ==
                   first_line(run_in(lab.a, "cat " + folder + "/mtu")));
        BOOST_TEST(info->link_up);
    }
    BOOST_TEST(agent->device("e0")->speed_mbps == 10000);  // veth_get_link_ksettings
    const auto loopback = agent->device("lo");
    BOOST_REQUIRE_MESSAGE(loopback, loopback.error().message);
    BOOST_TEST(loopback->driver.empty());
    BOOST_TEST(loopback->speed_mbps == -1);
    run_in(lab.b, "ip link set e0 down");
    BOOST_TEST(!agent->device("e0")->link_up);
}

BOOST_AUTO_TEST_CASE(statistics_are_those_of_ethtool_S) {
    const Lab lab;
    const auto agent = agent_in(lab.a);
    BOOST_REQUIRE(
        agent->ping({.destination = ip("198.18.77.2"), .count = 2, .interval = milliseconds(1)}));
    const auto info = agent->device("e0");
    BOOST_REQUIRE(info);
    const auto theirs = fields(run_in(lab.a, "ethtool -S e0"));
    BOOST_TEST(info->statistics.size() > 0U);
    BOOST_TEST(info->statistics.size() == theirs.size());
    for (const auto& [name, value] : info->statistics) {
        BOOST_REQUIRE_MESSAGE(theirs.contains(name), name);
        BOOST_TEST(std::to_string(value) == theirs.at(name), name);
    }
}

// The kernel breaks a dump off that devices come or go in, and more of it waits to be read.
BOOST_AUTO_TEST_CASE(counters_are_read_while_devices_come_and_go) {
    const Lab lab;
    constexpr int kDevices = 120;  // of several datagrams
    std::string many;
    for (int vni = 1000; vni < 1000 + kDevices; ++vni) {
        many += "link add d" + std::to_string(vni) + " type vxlan id " + std::to_string(vni) +
                " dstport 4789\n";
    }
    const auto made =
        process::run_program({"sh", "-c", "printf '" + many + "' | ip -n " + lab.a + " -batch -"});
    BOOST_REQUIRE_MESSAGE(made && made->exit_status == 0, (made ? made->err : ""));
    const auto agent = Client::start_in_netns(lab.a).value();
    std::jthread changes([&](const std::stop_token& over) {
        while (!over.stop_requested()) {
            (void)process::run_program(
                {"sh", "-c",
                 "for i in $(seq 50); do echo link add x type vxlan id 9999 dstport 4789; "
                 "echo link del x; done | ip -n " +
                     lab.a + " -force -batch -"});
        }
    });
    for (int n = 0; n < 100; ++n) {
        const auto counters = agent->counters();
        BOOST_REQUIRE_MESSAGE(counters, counters.error().message);
        BOOST_TEST(counters->contains("d1000.rx_packets"));
        usleep(5'000);
    }
}

BOOST_AUTO_TEST_SUITE_END()
