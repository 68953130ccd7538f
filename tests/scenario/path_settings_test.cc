// The settings of a service and of its endpoints on the NAT path, as texts.
#include "harness/lab/path_settings.h"

#include <boost/test/unit_test.hpp>
#include <string>

#include "harness/lab/plan.h"
#include "harness/scenario/settings/endpoints.h"
#include "harness/scenario/settings/service.h"
#include "tests/contains.h"

BOOST_AUTO_TEST_SUITE(path_settings)

using namespace pathproof;
using namespace pathproof::scenario;
using pathproof::test::contains;
using setting::HostRole;

namespace {

std::string rules_of(const lab::NatPathNames& names, const lab::Settings& settings,
                     HostRole role = HostRole::kDut) {
    std::string rules;
    for (const auto& change : setting::merged(settings, {role}, lab::place_names(names))) {
        rules += change.name + "\n" + change.value + "\n";
    }
    return rules;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_service_on_udp_has_an_endpoint_or_rejects) {
    const auto names = lab::nat_path_names("1a2b");
    const std::string to = " -d 198.51.100.10/32 -p udp -m udp --dport 53 -j ";
    const std::string second = rules_of(names, {udp_service(names, names.endpoints[1])});
    BOOST_TEST(contains(second, to + "DNAT --to-destination 203.0.113.3:53\n"));
    BOOST_TEST(!contains(second, "REJECT"));
    const std::string none = rules_of(names, {no_endpoint(names)});
    BOOST_TEST(contains(none, "-A FORWARD" + to + "REJECT --reject-with icmp-port-unreachable\n"));
    BOOST_TEST(!contains(none, "DNAT"));
    const auto names6 = lab::nat_path_names("1a2b", frame::Family::kIpv6);
    BOOST_TEST(contains(rules_of(names6, {udp_service(names6, names6.endpoints[1])}),
                        " -d 2001:db8:100::a/128 -p udp -m udp --dport 53 -j DNAT --to-destination "
                        "[2001:db8:113::3]:53\n"));
    BOOST_TEST(contains(rules_of(names6, {no_endpoint(names6)}),
                        "--reject-with icmp6-port-unreachable\n"));
}

BOOST_AUTO_TEST_CASE(what_is_invalid_is_counted_on_both_ways) {
    const auto names = lab::nat_path_names("1a2b");
    const std::string rules = rules_of(names, {count_invalid()});
    for (const char* device : {"d0", "d1"}) {
        BOOST_TEST(contains(rules, std::string("-A FORWARD -o ") + device +
                                       " -p tcp -m conntrack --ctstate INVALID -j ACCEPT\n"));
    }
}

BOOST_AUTO_TEST_CASE(a_service_on_tcp_names_endpoints_as_kube_proxy_does) {
    const auto names = lab::nat_path_names("1a2b");
    const auto closed = endpoints_that(EndpointState::kClosed);
    const std::string rules = rules_of(
        names, web_service(names, Proxy::kIptables,
                           {endpoints_that(EndpointState::kServes)[0], closed[0], closed[7]}));
    for (const char* line :
         {"-j KUBE-SERVICES\n", "--probability 0.3333333333 -j KUBE-SEP-",
          "\"default/web:http cluster IP\" -d 198.51.100.10/32 -p tcp -m tcp --dport 80 ! -s "
          "198.18.0.1/24 -j KUBE-MARK-MASQ\n",
          "-p tcp -m tcp -j DNAT --to-destination 203.0.113.48:8080\n",
          "-p tcp -m tcp -j DNAT --to-destination 203.0.113.55:8080\n"}) {
        BOOST_TEST(contains(rules, line), line);
    }
    const auto names6 = lab::nat_path_names("1a2b", frame::Family::kIpv6);
    const auto closed6 = endpoints_that(EndpointState::kClosed, frame::Family::kIpv6);
    BOOST_TEST(contains(rules_of(names6, web_service(names6, Proxy::kIptables, closed6)),
                        "--to-destination [2001:db8:113::30]:8080\n"));
    const std::string nft = rules_of(names6, web_service(names6, Proxy::kNftables, closed6));
    BOOST_TEST(nft.starts_with("ip6 kube-proxy\n"), nft);
    BOOST_TEST(contains(nft, "dnat to [2001:db8:113::37]:8080;\n"));
    BOOST_TEST(!contains(nft, "KUBE"));
}

BOOST_AUTO_TEST_CASE(ipvs_has_its_services_a_device_with_their_address_and_kube_proxys_sysctls) {
    const auto names = lab::nat_path_names("1a2b");
    const std::string changes = rules_of(
        names, ipvs_services(names, {.udp = names.endpoints[0], .tcp = names.endpoints[1]}));
    BOOST_TEST(contains(changes,
                        "-A -u 198.51.100.10:53 -s rr\n"
                        "-a -u 198.51.100.10:53 -r 203.0.113.2:53 -m -w 1\n"
                        "-A -t 198.51.100.10:80 -s rr\n"
                        "-a -t 198.51.100.10:80 -r 203.0.113.3:8080 -m -w 1\n"));
    BOOST_TEST(contains(changes, "address add 198.51.100.10/32 dev kube-ipvs0\n"));
    BOOST_TEST(contains(changes, "net.ipv4.vs.conn_reuse_mode\n1\n"));
    BOOST_TEST(contains(changes, "net.ipv4.vs.expire_nodest_conn\n0\n"));
}

BOOST_AUTO_TEST_CASE(silent_endpoints_drop_and_rejected_ones_are_told_of) {
    const auto names = lab::nat_path_names("1a2b");
    BOOST_TEST(contains(rules_of(names, endpoint_rules(frame::Family::kIpv4), HostRole::kServer),
                        "-A INPUT -d 203.0.113.64/32 -j DROP\n"));
    BOOST_TEST(contains(rules_of(names, endpoint_rules(frame::Family::kIpv6)),
                        "-A FORWARD -d 2001:db8:113::60/128 -j REJECT"));
}

BOOST_AUTO_TEST_SUITE_END()
