#include "harness/agent/sysctl.h"

#include <boost/test/unit_test.hpp>
#include <fstream>

BOOST_AUTO_TEST_SUITE(sysctl)

using namespace pathproof;
using namespace pathproof::agent;

BOOST_AUTO_TEST_CASE(only_names_of_network_sysctls_are_taken) {
    for (const char* name : {"kernel.hostname", "net", "", ".", "net.", "net..ipv4", ".net.ipv4",
                             "net/ipv4/ip_forward", "net.ipv4.../../kernel/hostname",
                             "net.ipv4./etc/passwd", "vm.drop_caches"}) {
        const auto read = read_sysctl(name);
        BOOST_REQUIRE_MESSAGE(!read, name);
        BOOST_TEST((read.error().code == ErrorCode::kBadInput), name);
    }
}

BOOST_AUTO_TEST_CASE(a_name_that_does_not_exist_is_not_found) {
    const auto read = read_sysctl("net.ipv4.no_such_thing");
    BOOST_REQUIRE(!read);
    BOOST_TEST((read.error().code == ErrorCode::kNotFound));
    BOOST_TEST(!read_sysctl("net.ipv4"));  // a folder
}

BOOST_AUTO_TEST_CASE(a_value_is_read_without_its_newline) {
    std::string expected;
    std::getline(std::ifstream("/proc/sys/net/ipv4/ip_local_port_range"), expected);
    BOOST_TEST(read_sysctl("net.ipv4.ip_local_port_range").value() == expected);
}

BOOST_AUTO_TEST_CASE(a_cpu_mask_is_hexadecimal) {
    for (const char* mask : {"", "0x3", "3 ", "g", "../3"}) {
        BOOST_TEST((set_rps("lo", mask).error().code == ErrorCode::kBadInput), mask);
    }
    BOOST_TEST((set_rps("pp-nosuchdev", "0").error().code == ErrorCode::kNotFound));
    BOOST_TEST((set_rps("lo", "0", "/nowhere").error().code == ErrorCode::kNotSupported));
}

BOOST_AUTO_TEST_SUITE_END()
