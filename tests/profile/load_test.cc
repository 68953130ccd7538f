#define BOOST_TEST_MODULE profile
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <random>
#include <sstream>

#include "harness/profile/profile.h"

using namespace pathproof;
using namespace pathproof::profile;

namespace {

const std::string kGood = R"(schema = "nicprofile/1"
id = "test"
title = "A test device"
status = "draft"
evidence_class = "physical"

[match]
kernel_driver = ["ice"]
pci = ["8086:1592"]

[offload.ethtool]
tx-checksum-ip-generic = { expect = "required", default = "on", why = "because" }
hw-tc-offload = { expect = "absent" }

[provenance]
source = "a datasheet"
date = 2026-11-21
)";

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
    BOOST_REQUIRE(profile->offloads.size() == 2);
    BOOST_TEST(profile->offloads[0].name == "hw-tc-offload");
    BOOST_TEST((profile->offloads[0].expect == Expectation::kAbsent));
    BOOST_TEST(!profile->offloads[0].on_by_default);
    BOOST_TEST((profile->offloads[1].expect == Expectation::kRequired));
    BOOST_TEST(*profile->offloads[1].on_by_default);
    BOOST_TEST(profile->offloads[1].why == "because");
    BOOST_TEST(profile->provenance.date == "2026-11-21");
}

BOOST_AUTO_TEST_CASE(unknown_keys_are_refused_with_place_and_what_is_allowed) {
    refused("title =", "titel =", "3:1", "unknown key 'titel'; allowed here: schema, id, title");
    refused("pci =", "pcie =", "9:1", "allowed here: kernel_driver, pmd, pci");
    refused("expect = \"required\"", "exepct = \"required\"", "12:28",
            "unknown key 'exepct'; allowed here: expect, default, why");
    refused("[offload.ethtool]", "[offload.dpdk]", "11:10", "allowed here: ethtool");
    refused("source =", "sauce =", "16:1", "allowed here: source, date, reports");
}

BOOST_AUTO_TEST_CASE(unknown_features_and_words_are_refused) {
    refused("hw-tc-offload", "hw-tc-offlaod", "13:1", "no feature that Linux has");
    refused("\"absent\"", "\"never\"", "13:28", "it may be: required, optional, absent");
    refused("\"draft\"", "\"done\"", "4:10", "it may be: draft, verified");
    refused("\"physical\"", "\"real\"", "5:18", "it may be: physical, virtual, simulated");
    refused("nicprofile/1", "nicprofile/2", "1:10", "it may be: nicprofile/1");
    refused("default = \"on\"", "default = \"yes\"", "12:59", "it may be: off, on");
    refused("expect = \"absent\"", "expect = \"absent\", default = \"on\"", "13:48", "no default");
}

BOOST_AUTO_TEST_CASE(wrong_types_and_missing_keys_are_refused) {
    refused("id = \"test\"", "id = 7", "2:6", "'id' wants a text");
    refused("id = \"test\"", "id = \"\"", "2:6", "not empty");
    refused("[\"ice\"]", "\"ice\"", "8:17", "list of texts");
    refused("[\"ice\"]", "[1]", "8:18", "wants a text");
    refused("{ expect = \"absent\" }", "\"absent\"", "13:17", "wants a table");
    refused("date = 2026-11-21", "date = \"2026-11-21\"", "17:8", "without quotes");
    refused("title = \"A test device\"\n", "", "1:1", "'title' is missing");
    refused("8086:1592", "8086:159X", "9:7", "'8086:159X' is no PCI id");
    refused("kernel_driver = [\"ice\"]\npci = [\"8086:1592\"]", "", "7:1", "names no device");
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
    refused("[match]", "[match", "7:7", "");
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
