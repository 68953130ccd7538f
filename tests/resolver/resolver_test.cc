#define BOOST_TEST_MODULE resolver
#include "harness/resolver/resolver.h"

#include <unistd.h>

#include <boost/test/unit_test.hpp>

using namespace pathproof;
using namespace pathproof::resolver;

BOOST_AUTO_TEST_CASE(a_request_is_its_line_and_its_resolv_conf) {
    BOOST_TEST(requests_text({{.name = "a.b", .resolv_conf = "nameserver 192.0.2.1\n"},
                              {.name = "c.",
                               .resolv_conf = "x\ny\n",
                               .family = Family::kIpv4,
                               .addrconfig = true,
                               .limit = std::chrono::milliseconds(8000)}}) ==
               "0 0 30000 21 a.b\nnameserver 192.0.2.1\n4 1 8000 4 c.\nx\ny\n");
}

BOOST_AUTO_TEST_CASE(outcomes_are_read_in_any_order_and_the_first_of_a_lookup_counts) {
    const auto outcomes = read_outcomes(
        "1 EAI_AGAIN 5001234\n0 ok 1500 203.0.113.5 2001:db8::5 +31\n0 killed 8000000\n", 2);
    BOOST_REQUIRE_MESSAGE(outcomes, outcomes.error().message);
    BOOST_TEST((*outcomes)[0].ok());
    BOOST_TEST((*outcomes)[0].milliseconds == 1.5);
    BOOST_TEST((*outcomes)[0].addresses.size() == 2U);
    BOOST_TEST((*outcomes)[0].address_count() == 33U);
    BOOST_TEST((*outcomes)[1].address_count() == 0U);
    BOOST_TEST((*outcomes)[1].word == "EAI_AGAIN");
    BOOST_TEST((*outcomes)[1].milliseconds == 5001.234);
}

BOOST_AUTO_TEST_CASE(what_is_no_outcome_is_an_error_with_its_words) {
    for (const auto& [said, why] :
         {std::pair{"", "did not say what came of lookup 0"},
          {"0 ok 5\n", "of lookup 1"},
          {"7 ok 5\n", "'7 ok 5'"},
          {"hello\n", "'hello'"},
          {"0 error in a mount namespace of its own this file cannot be replaced: "
           "/etc/resolv.conf: No such file or directory\n",
           "this file cannot be replaced: /etc/resolv.conf: No such file"}}) {
        const auto outcomes = read_outcomes(said, 2);
        BOOST_REQUIRE(!outcomes);
        BOOST_TEST(outcomes.error().message.find(why) != std::string::npos,
                   outcomes.error().message);
    }
}

BOOST_AUTO_TEST_CASE(a_name_that_is_none_is_refused_with_its_fault) {
    for (const char* good : {"a", "web-0.example.com", "example.com.", "_dns._udp.example.com"}) {
        BOOST_TEST(check_name(good).has_value(), good);
    }
    const std::string long_label(64, 'a');
    for (const std::string& bad : {std::string(), std::string("."), std::string("a..b"),
                                   std::string("a b"), std::string("a\nb"), long_label + ".com",
                                   std::string("a\\.b"), std::string("\xc3\xa4.de")}) {
        const Status checked = check_name(bad);
        BOOST_REQUIRE_MESSAGE(!checked, bad);
        BOOST_TEST((checked.error().code == ErrorCode::kBadInput), bad);
        BOOST_TEST(checked.error().message.find("no name") != std::string::npos);
    }
    const auto refused = look_up("", Kind::kGlibc, {{.name = "a..b"}}, 1);
    BOOST_REQUIRE(!refused);
    BOOST_TEST((refused.error().code == ErrorCode::kBadInput));
}

BOOST_AUTO_TEST_CASE(a_resolv_conf_is_led_to_another_server_and_keeps_the_rest) {
    const Redirected led = redirect(
        "search a.test b.test\nnameserver 192.0.2.1\nnameserver 192.0.2.2\noptions ndots:5\n",
        "127.0.0.53");
    BOOST_TEST(led.nameserver == "192.0.2.1");
    BOOST_TEST(led.resolv_conf == "search a.test b.test\nnameserver 127.0.0.53\noptions ndots:5\n");
    BOOST_TEST(redirect("options ndots:5\n", "127.0.0.53").nameserver == "");
}

BOOST_AUTO_TEST_CASE(what_is_no_name_to_each_resolver_is_told_from_what_failed) {
    for (const char* none : {"EAI_NONAME", "EAI_NODATA", "no-such-host"}) {
        BOOST_TEST(Outcome{.word = none}.no_name(), none);
    }
    for (const char* failed : {"ok", "EAI_AGAIN", "timeout", "server-misbehaving", "killed"}) {
        BOOST_TEST(!Outcome{.word = failed}.no_name(), failed);
    }
}

// The test's own folder has no such programs; "/" has no systemd-resolved where it is not installed.
BOOST_AUTO_TEST_CASE(without_a_resolver_its_package_is_named) {
    std::vector<std::pair<Kind, const char*>> absent{{Kind::kMusl, "musl-tools"}};
    if (access("/usr/lib/systemd/systemd-resolved", X_OK) != 0) {
        absent.emplace_back(Kind::kResolved, "install the package systemd-resolved");
    }
    for (const auto& [kind, package] : absent) {
        const auto missing = look_up("", kind, {{.name = "localhost"}}, 1);
        BOOST_REQUIRE(!missing);
        BOOST_TEST((missing.error().code == ErrorCode::kNotFound), package);
        BOOST_TEST(missing.error().message.find(package) != std::string::npos,
                   missing.error().message);
    }
}
