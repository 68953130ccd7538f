// Output of plug-ins: read as it is, or refused with a sentence.
#define BOOST_TEST_MODULE cni
#include "harness/cni/answer.h"

#include <boost/test/unit_test.hpp>

using namespace pathproof;
using namespace pathproof::cni;

BOOST_AUTO_TEST_CASE(a_result_has_its_addresses_and_interfaces) {
    const auto added = parse_added(
        R"({"cniVersion":"1.0.0","interfaces":[{"name":"cni0","mac":"1a:2b:3c:4d:5e:6f"},)"
        R"({"name":"eth0","sandbox":"/run/netns/p"}],"ips":[{"interface":1,)"
        R"("address":"10.244.1.2/24","gateway":"10.244.1.1"},{"address":"fd00::2/64"}],"dns":{}})");
    BOOST_REQUIRE_MESSAGE(added, added.error().message);
    BOOST_TEST(added->version == "1.0.0");
    BOOST_REQUIRE(added->addresses.size() == 2);
    BOOST_TEST(to_string(added->addresses[0].address) == "10.244.1.2");
    BOOST_TEST(added->addresses[0].prefix == 24);
    BOOST_TEST(to_string(*added->addresses[0].gateway) == "10.244.1.1");
    BOOST_TEST(!added->addresses[1].gateway.has_value());
    BOOST_REQUIRE(added->interfaces.size() == 2);
    BOOST_TEST(added->interfaces[0].sandbox == "");
    BOOST_TEST(added->interfaces[1].sandbox == "/run/netns/p");
    // The next plug-in gets all of it.
    BOOST_TEST(added->json.find("\"dns\"") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_is_no_result_is_refused_with_what_is_wrong) {
    for (const auto& [text, words] :
         {std::pair{"", "no JSON object"},
          {"rubbish", "rubbish"},
          {"[]", "no JSON object"},
          {"{}", "cniVersion"},
          {R"({"cniVersion":"1.0.0","ips":{}})", "'ips'"},
          {R"({"cniVersion":"1.0.0","ips":[1]})", "an entry of 'ips'"},
          {R"({"cniVersion":"1.0.0","ips":[{"address":"10.1.1.1"}]})", "10.1.1.1"},
          {R"({"cniVersion":"1.0.0","ips":[{"address":"10.1.1.1/33"}]})", "10.1.1.1/33"},
          {R"({"cniVersion":"1.0.0","ips":[{"address":"10.1.1.1/24","gateway":"x"}]})", "x"},
          {R"({"cniVersion":"1.0.0","interfaces":[null]})", "'interfaces'"}}) {
        const auto added = parse_added(text);
        BOOST_REQUIRE(!added);
        BOOST_TEST((added.error().code == ErrorCode::kBadInput));
        BOOST_TEST(added.error().message.find(words) != std::string::npos, added.error().message);
    }
}

BOOST_AUTO_TEST_CASE(an_error_object_is_told_from_a_result) {
    const auto error = parse_error(R"({"code":7,"msg":"failed","details":"why"})");
    BOOST_REQUIRE(error.has_value());
    BOOST_TEST(to_string(*error) == "code 7, \"failed\" (why)");
    BOOST_TEST(!parse_error(R"({"cniVersion":"1.0.0"})"));
    BOOST_TEST(!parse_error("{\"code\":\"7\"}"));
    BOOST_TEST(!parse_error("panic: runtime error"));
}

BOOST_AUTO_TEST_CASE(versions_are_those_of_the_list) {
    const auto versions =
        parse_versions(R"({"cniVersion":"1.0.0","supportedVersions":["0.4.0","1.0.0",3]})");
    BOOST_REQUIRE(versions);
    BOOST_TEST((*versions == std::vector<std::string>{"0.4.0", "1.0.0"}));
    BOOST_TEST(!parse_versions("{}"));
    BOOST_TEST(!parse_versions(R"({"supportedVersions":"1.0.0"})"));
}
