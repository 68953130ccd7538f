#include "harness/truth/locate.h"

#include <boost/test/unit_test.hpp>
#include <vector>

using namespace pathproof;
using matrix::Row;

BOOST_AUTO_TEST_SUITE(locate)

BOOST_AUTO_TEST_CASE(one_dimension_that_tells_all_rows_apart_is_named_by_the_shorter_list) {
    const std::vector<Row> passing = {
        {.encap = matrix::Encap::kVxlanOverIpv4, .tunnel_port = matrix::TunnelPort::k4789}};
    const std::vector<Row> failing = {
        {.encap = matrix::Encap::kVxlanOverIpv4, .tunnel_port = matrix::TunnelPort::k8472},
        {.encap = matrix::Encap::kVxlanOverIpv4, .tunnel_port = matrix::TunnelPort::k8223}};
    BOOST_TEST(truth::locate(failing, passing) == "tunnel port other than 4789");
    BOOST_TEST(truth::locate(passing, failing) == "tunnel port 4789");
}

BOOST_AUTO_TEST_CASE(two_dimensions_are_named_where_one_does_not_do) {
    const Row both{.vlan = matrix::Vlan::kOne, .length = matrix::Length::k1};
    const std::vector<Row> passing = {{.vlan = matrix::Vlan::kOne},
                                      {.length = matrix::Length::k1},
                                      {.vlan = matrix::Vlan::kTwo, .length = matrix::Length::k1}};
    const std::string where = truth::locate(std::vector<Row>{both}, passing);
    BOOST_TEST(where == "VLAN one, length 1");
}

BOOST_AUTO_TEST_CASE(dimensions_that_tell_the_same_rows_apart_are_all_named_the_plainest_first) {
    const std::vector<Row> failing = {
        {.length = matrix::Length::k171, .values = matrix::PayloadValues::kTunnelLike},
        {.length = matrix::Length::k256, .values = matrix::PayloadValues::kTunnelLike}};
    const std::vector<Row> passing = {
        {.length = matrix::Length::k1, .values = matrix::PayloadValues::kAllOnes},
        {.length = matrix::Length::k2, .values = matrix::PayloadValues::kRandom}};
    BOOST_TEST(truth::locate(failing, passing) ==
               "payload tunnel-like (these rows do not tell it from length)");
    // A row that only one of them keeps out tells them apart.
    std::vector<Row> more = passing;
    more.push_back({.length = matrix::Length::k171, .values = matrix::PayloadValues::kRandom});
    BOOST_TEST(truth::locate(failing, more) == "payload tunnel-like");
}

BOOST_AUTO_TEST_CASE(what_nothing_tells_apart_is_said_to_pass_as_well) {
    const std::vector<Row> same = {{}};
    BOOST_TEST(truth::locate(same, same) == "everywhere (1 row with such values passes)");
    BOOST_TEST(truth::locate(same, {}) == "everywhere");
}

BOOST_AUTO_TEST_SUITE_END()
