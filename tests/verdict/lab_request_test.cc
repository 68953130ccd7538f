#include "harness/verdict/lab_request.h"

#include <boost/test/unit_test.hpp>

namespace pathproof::verdict {

BOOST_AUTO_TEST_SUITE(lab_request)

BOOST_AUTO_TEST_CASE(a_request_goes_into_one_word_and_back) {
    for (const auto& [word, request] : {
             std::pair{"veth", LabRequest{.name = "veth"}},
             {"/tmp/a:b.toml", {.name = "/tmp/a:b.toml"}},
             {"qemu:nic=e1000e,rtl8139,kernel=bzImage",
              {.name = "qemu", .guest = {.nic = "e1000e,rtl8139", .kernel = "bzImage"}}},
             {"qemu:modules=/m,module=/m/n.ko",
              {.name = "qemu", .guest = {.modules = "/m", .module = "/m/n.ko"}}},
             {"cni:conflist=a.conflist,b.conflist,plugins=/opt",
              {.name = "cni", .cni = {.conflist = "a.conflist,b.conflist", .plugins = "/opt"}}},
         }) {
        BOOST_TEST(to_text(request) == word);
        BOOST_TEST((parse_lab_request(word) == request), word);
    }
}

BOOST_AUTO_TEST_CASE(a_word_without_known_options_is_a_name) {
    BOOST_TEST(parse_lab_request("qemu:card=e1000e").name == "qemu:card=e1000e");
    BOOST_TEST(parse_lab_request("").name == "");
}

BOOST_AUTO_TEST_CASE(an_unknown_part_continues_the_value_before_it) {
    BOOST_TEST(parse_lab_request("qemu:nic=a,b=c,kernel=k").guest.nic == "a,b=c");
}

BOOST_AUTO_TEST_CASE(each_option_has_a_value_of_its_own) {
    LabRequest request{.name = "x"};
    for (const LabOption& option : lab_options()) {
        BOOST_TEST(option.value(request) == "", option.name);
        option.value(request) = option.name;
    }
    BOOST_TEST((parse_lab_request(to_text(request)) == request));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace pathproof::verdict
