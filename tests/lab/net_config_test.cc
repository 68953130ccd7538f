// Reading of a net.config of the kernel's selftests, and the errors in it.
#include <boost/test/unit_test.hpp>

#include "harness/lab/lab_file.h"

BOOST_AUTO_TEST_SUITE(net_config)

using namespace pathproof;
using namespace pathproof::lab;

namespace {

const std::string kGood =
    "# of the machine\nNETIF=d0\nLOCAL_V4=\"198.18.0.1\"\n REMOTE_V4 = 198.18.0.2 # far\n"
    "REMOTE_TYPE=netns\nREMOTE_ARGS=far\n";

Result<NetConfig> parsed(const std::string& text,
                         std::map<std::string, std::string> environment = {}) {
    return parse_net_config(text, "net.config", std::move(environment));
}

void check_refused(const std::string& text, const std::string& why) {
    const auto config = parsed(text);
    BOOST_TEST_REQUIRE(!config, text);
    BOOST_TEST(config.error().message.starts_with(why), config.error().message);
}

}  // namespace

BOOST_AUTO_TEST_CASE(quotes_blanks_and_comments_are_none_of_a_value) {
    const auto config = parsed(kGood);
    BOOST_TEST_REQUIRE(config.has_value());
    BOOST_TEST((*config == NetConfig{.device = "d0",
                                     .remote_netns = "far",
                                     .local = {{*frame::parse_ip("198.18.0.1"), 32}},
                                     .remote = {{*frame::parse_ip("198.18.0.2"), 32}}}));
}

BOOST_AUTO_TEST_CASE(the_file_comes_before_the_environment) {
    const auto config =
        parsed(kGood, {{"NETIF", "other0"}, {"LOCAL_V6", "2001:db8::1"}, {"REMOTE_V6", ""}});
    BOOST_TEST_REQUIRE(config.has_value());
    BOOST_TEST(config->device == "d0");
    BOOST_TEST(config->local.size() == 2u);
    BOOST_TEST(to_string(config->local.back()) == "2001:db8::1/128");
    BOOST_TEST(config->remote.size() == 1u);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_named_with_its_place) {
    check_refused("", "net.config: NETIF must name the device");
    check_refused("NETIF=d0\nREMOTE_TYPE ssh\n",
                  "net.config:2: 'REMOTE_TYPE ssh' is no NAME=VALUE");
    check_refused("=d0\n", "net.config:1: '=d0' is no NAME=VALUE");
    check_refused("NETIF=d0\n", "net.config: REMOTE_TYPE is ''");
    check_refused("NETIF=d0\nREMOTE_TYPE=ssh\n", "net.config: REMOTE_TYPE=ssh");
    check_refused("NETIF=d0\nREMOTE_TYPE=netns\n",
                  "net.config: LOCAL_V4 must be given, or LOCAL_V6");
    check_refused("NETIF=d0\nREMOTE_TYPE=netns\nLOCAL_V4=198.18.0\n",
                  "net.config: LOCAL_V4: '198.18.0' is no IP address");
    check_refused("NETIF=d0\nREMOTE_TYPE=netns\nLOCAL_V4=198.18.0.1\n",
                  "net.config: REMOTE_V4 must be given, or REMOTE_V6");
}

BOOST_AUTO_TEST_SUITE_END()
