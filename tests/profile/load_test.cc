#define BOOST_TEST_MODULE profile
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <random>
#include <sstream>

#include "harness/profile/profile.h"

using namespace pathproof;
using namespace pathproof::profile;

namespace {

const std::string kGood = R"toml(schema = "nicprofile/1"
id = "test"
title = "A test device"
status = "draft"
evidence_class = "physical"
errata = ["E01-some"]

[match]
kernel_driver = ["ice"]
pci = ["8086:1592"]
source = "sheet"

[sources]
sheet = "the datasheet, section 3"
code = "driver.c: probe()"

[link]
speeds_mbps = [1000, 25000]
source = "sheet"

[limits]
max_mtu = { value = 9702, when = "PF", source = "code" }

[dpdk_limits]
rx_queues = { value = 16, source = "code" }

[tunnel]
vxlan = { count = 1, fixed = [4789], outer = "ipv4", source = "code" }

[[quirk]]
what = "short frames are padded"
kernel = { from = "5.1", fixed_in = "5.7", backports = ["5.6.13"] }
erratum = "E01-some"
source = "code"

[offload]
kernel_from = "5.4"
dpdk_from = "22.11"

[offload.ethtool]
tx-checksum-ip-generic = { expect = "required", default = "on", why = "because", source = "sheet" }
hw-tc-offload = { expect = "absent", kernel = { fixed_in = "6.1" }, source = "code" }

[offload.dpdk.tx]
OUTER_UDP_CKSUM = { expect = "broken", when = "X710", why = "left", erratum = "E01-some", source = "code" }

[offload.dpdk.rx]
UDP_CKSUM = { expect = "required", source = "code" }

[provenance]
source = "a datasheet"
date = 2026-11-21
)toml";

std::string replaced(std::string text, const std::string& part, const std::string& by) {
    const std::size_t at = text.find(part);
    BOOST_REQUIRE_MESSAGE(at != std::string::npos, part);
    return text.replace(at, part.size(), by);
}

// The good profile with one part replaced is refused at that place, with these words.
void refused(const std::string& part, const std::string& by, const std::string& place,
             const std::string& words) {
    const auto profile = parse_profile(replaced(kGood, part, by), "test.toml");
    BOOST_REQUIRE_MESSAGE(!profile, "accepted: " << by);
    BOOST_TEST((profile.error().code == ErrorCode::kBadInput));
    const std::string& message = profile.error().message;
    BOOST_TEST(message.starts_with("test.toml:" + place + ": "), message);
    BOOST_TEST(message.find(words) != std::string::npos, message);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_profile_is_read_whole) {
    const auto profile = parse_profile(kGood, "test.toml");
    BOOST_REQUIRE_MESSAGE(profile, profile.error().message);
    BOOST_TEST(profile->id == "test");
    BOOST_TEST((profile->maturity == Maturity::kDraft));
    BOOST_TEST(profile->evidence_class == "physical");
    BOOST_TEST((profile->match.kernel_driver == std::vector<std::string>{"ice"}));
    BOOST_TEST((profile->match.pci == std::vector<std::string>{"8086:1592"}));
    BOOST_TEST(profile->match.source == "sheet");
    BOOST_TEST((profile->errata == std::vector<std::string>{"E01-some"}));
    BOOST_TEST(profile->sources.at("code") == "driver.c: probe()");
    BOOST_TEST(profile->provenance.date == "2026-11-21");
}

BOOST_AUTO_TEST_CASE(offloads_are_read_with_their_conditions) {
    const auto profile = parse_profile(kGood, "test.toml");
    BOOST_REQUIRE(profile);
    BOOST_REQUIRE(profile->offloads.size() == 2);
    const OffloadExpectation& traffic = profile->offloads[0];
    BOOST_TEST(traffic.name == "hw-tc-offload");
    BOOST_TEST((traffic.expect == Expectation::kAbsent));
    BOOST_TEST(!traffic.on_by_default);
    BOOST_TEST(to_text(traffic.kernel) == "before 6.1");
    const OffloadExpectation& checksum = profile->offloads[1];
    BOOST_TEST((checksum.expect == Expectation::kRequired));
    BOOST_TEST(*checksum.on_by_default);
    BOOST_TEST(checksum.why == "because");
    BOOST_TEST(checksum.source == "sheet");
    BOOST_TEST(to_text(checksum.kernel) == "from 5.4");
    BOOST_REQUIRE(profile->dpdk_tx.size() == 1);
    BOOST_TEST((profile->dpdk_tx[0].expect == Expectation::kBroken));
    BOOST_TEST(profile->dpdk_tx[0].when == "X710");
    BOOST_TEST(to_text(profile->dpdk_tx[0].dpdk) == "from 22.11");
    BOOST_REQUIRE(profile->dpdk_rx.size() == 1);
    BOOST_TEST(profile->dpdk_rx[0].name == "UDP_CKSUM");
}

BOOST_AUTO_TEST_CASE(limits_tunnels_and_quirks_are_read) {
    const auto profile = parse_profile(kGood, "test.toml");
    BOOST_REQUIRE(profile);
    BOOST_REQUIRE(profile->link);
    BOOST_TEST((profile->link->mbps == std::vector<std::uint64_t>{1000, 25000}));
    BOOST_REQUIRE(profile->limits.size() == 1);
    BOOST_TEST((profile->limits[0].kind == LimitKind::kMaxMtu));
    BOOST_TEST(profile->limits[0].value == 9702);
    BOOST_TEST(profile->limits[0].when == "PF");
    BOOST_TEST((profile->dpdk_limits.at(0).kind == LimitKind::kRxQueues));
    BOOST_REQUIRE(profile->tunnels.size() == 1);
    BOOST_TEST(profile->tunnels[0].protocol == "vxlan");
    BOOST_TEST(*profile->tunnels[0].count == 1);
    BOOST_TEST((profile->tunnels[0].fixed == std::vector<std::uint16_t>{4789}));
    BOOST_TEST(profile->tunnels[0].outer == "ipv4");
    BOOST_REQUIRE(profile->quirks.size() == 1);
    BOOST_TEST(to_text(profile->quirks[0].kernel) == "5.1 to before 5.7 (mended in 5.6.13 too)");
    BOOST_TEST(profile->quirks[0].erratum == "E01-some");
}

BOOST_AUTO_TEST_CASE(unknown_keys_are_refused_with_place_and_what_is_allowed) {
    refused("title =", "titel =", "3:1", "unknown key 'titel'; allowed here: schema, id, title");
    refused("pci =", "pcie =", "10:1", "allowed here: kernel_driver, pmd, pci, source");
    refused("expect = \"required\", default", "exepct = \"required\", default", "41:28",
            "unknown key 'exepct'; allowed here: expect, default, why");
    refused("[offload.dpdk.tx]", "[offload.pmd.tx]", "44:10", "allowed here: ethtool, dpdk");
    refused("[offload.dpdk.tx]", "[offload.dpdk.out]", "44:15", "allowed here: tx, rx");
    refused("what =", "waht =", "31:1", "allowed here: what, kernel, dpdk, erratum, source");
    refused("fixed_in = \"5.7\"", "until = \"5.7\"", "32:26", "from, fixed_in, backports");
    refused("max_mtu", "min_mtu", "22:1", "allowed here: max_mtu, rx_queues");
    refused("vxlan =", "gre =", "28:1", "allowed here: vxlan, geneve");
    refused("date = 2026-11-21", "day = 2026-11-21", "52:1", "allowed here: source, date, reports");
}

BOOST_AUTO_TEST_CASE(unknown_features_and_words_are_refused) {
    refused("hw-tc-offload", "hw-tc-offlaod", "42:1", "no feature that Linux has");
    refused("OUTER_UDP_CKSUM", "OUTER_UDP_CSUM", "45:1", "no offload that DPDK has");
    refused("\nUDP_CKSUM", "\nOUTER_UDP_TSO", "48:1", "no offload that DPDK has");
    refused("\"absent\"", "\"never\"", "42:28", "it may be: required, optional, absent, broken");
    refused("\"draft\"", "\"done\"", "4:10", "it may be: draft, verified");
    refused("\"physical\"", "\"real\"", "5:18", "it may be: physical, virtual, simulated");
    refused("nicprofile/1", "nicprofile/2", "1:10", "it may be: nicprofile/1");
    refused("default = \"on\"", "default = \"yes\"", "41:59", "it may be: off, on");
    refused("expect = \"absent\"", "expect = \"absent\", default = \"on\"", "42:48", "no default");
    refused("outer = \"ipv4\"", "outer = \"v4\"", "28:46", "it may be: ipv4, ipv6");
}

BOOST_AUTO_TEST_CASE(a_claim_without_a_source_is_refused) {
    refused("why = \"because\", source = \"sheet\"", "why = \"because\"", "41:26",
            "'source' is missing");
    refused("why = \"because\", source = \"sheet\"", "source = \"hearsay\"", "41:74",
            "source 'hearsay' is not in [sources]; there are: code, sheet");
    refused("when = \"PF\", source = \"code\"", "when = \"PF\"", "22:11", "'source' is missing");
    refused("pci = [\"8086:1592\"]\nsource = \"sheet\"", "pci = [\"8086:1592\"]", "8:1",
            "'source' is missing");
    refused("why = \"left\", erratum = \"E01-some\", ", "", "45:19", "says how");
}

BOOST_AUTO_TEST_CASE(wrong_types_and_missing_keys_are_refused) {
    refused("id = \"test\"", "id = 7", "2:6", "'id' wants a text");
    refused("id = \"test\"", "id = \"\"", "2:6", "not empty");
    refused("[\"ice\"]", "\"ice\"", "9:17", "list of texts");
    refused("[\"ice\"]", "[1]", "9:18", "wants a text");
    refused("[1000, 25000]", "[1000, 0]", "18:22", "whole number from 1 to");
    refused("value = 9702", "value = \"9702\"", "22:21", "whole number");
    refused("[4789]", "[70000]", "28:31", "from 1 to 65535");
    refused("count = 1, fixed = [4789], ", "", "28:9", "says nothing of ports");
    refused("from = \"5.1\"", "from = \"five\"", "32:19", "no version; write it as 5.7");
    refused("from = \"5.1\"", "from = \"5.1.0\"", "32:19", "no version");
    refused("from = \"5.1\"", "from = \"5.8\"", "32:10", "ends before it begins");
    refused("fixed_in = \"5.7\", ", "", "32:10", "no 'fixed_in'");
    refused("date = 2026-11-21", "date = \"2026-11-21\"", "52:8", "without quotes");
    refused("title = \"A test device\"\n", "", "1:1", "'title' is missing");
    refused("8086:1592", "8086:159X", "10:8", "'8086:159X' is no PCI id");
    refused("kernel_driver = [\"ice\"]\npci = [\"8086:1592\"]\n", "", "8:1", "names no device");
}

BOOST_AUTO_TEST_CASE(every_key_that_is_needed_is_asked_for) {
    for (const std::string line :
         {"schema = \"nicprofile/1\"", "id = \"test\"", "title = \"A test device\"",
          "status = \"draft\"", "evidence_class = \"physical\"", "source = \"a datasheet\"",
          "date = 2026-11-21"}) {
        const auto profile = parse_profile(replaced(kGood, line, ""), "test.toml");
        const std::string key = line.substr(0, line.find(' '));
        BOOST_REQUIRE_MESSAGE(!profile, key);
        BOOST_TEST(profile.error().message.find("'" + key + "' is missing") != std::string::npos);
    }
    BOOST_TEST(!parse_profile("", "test.toml"));
}

BOOST_AUTO_TEST_CASE(text_that_is_no_toml_is_refused_with_its_place) {
    refused("id = \"test\"", "id = \"test", "2:11", "");
    refused("[match]", "[match", "8:7", "");
}

BOOST_AUTO_TEST_CASE(damaged_text_never_crashes_the_loader) {
    std::mt19937 random(11);
    for (int round = 0; round < 3000; ++round) {
        std::string text = kGood;
        for (int times = 0; times < 4; ++times) {
            text[random() % text.size()] = static_cast<char>(random());
        }
        if (const auto profile = parse_profile(text, "test.toml"); !profile) {
            BOOST_REQUIRE(profile.error().message.starts_with("test.toml:"));
        }
    }
}
