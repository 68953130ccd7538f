// The chains' names are those of kube-proxy's own tests (pkg/proxy/iptables/proxier_test.go and
// pkg/proxy/nftables/proxier_test.go), and of nodes that it wrote.
#include "harness/lab/kube_proxy.h"

#include <boost/test/unit_test.hpp>
#include <sstream>

#include "tests/contains.h"

BOOST_AUTO_TEST_SUITE(kube_proxy)

using namespace pathproof;
using namespace pathproof::lab;

namespace {

KubeService service(const char* endpoint = "10.180.0.1") {
    return {.name = "svc1",
            .port = "p80",
            .protocol = "tcp",
            .address = {*frame::parse_ip("172.30.0.41"), 80},
            .endpoints = {*frame::parse_ip(endpoint)},
            .endpoint_port = 80,
            .name_space = "ns1",
            .pods = "10.0.0.0/8"};
}

using pathproof::test::contains;

}  // namespace

BOOST_AUTO_TEST_CASE(chains_have_the_names_that_kube_proxy_gives_them) {
    KubeService dns{.name = "kube-dns",
                    .port = "dns",
                    .protocol = "udp",
                    .address = {},
                    .endpoints = {},
                    .name_space = "kube-system",
                    .pods = ""};
    BOOST_TEST(kube_service_chain(dns) == "KUBE-SVC-TCOU7JCQXEZGVUNU");
    dns.port = "dns-tcp";
    dns.protocol = "tcp";
    BOOST_TEST(kube_service_chain(dns) == "KUBE-SVC-ERIFXISQEP7F7OF4");
    BOOST_TEST(kube_service_chain(service()) == "KUBE-SVC-XPGD46QRK7WJZT7O");
    BOOST_TEST(kube_endpoint_chain(service(), service().endpoints[0]) ==
               "KUBE-SEP-SXIVWICOYRO3J4NJ");
}

BOOST_AUTO_TEST_CASE(the_iptables_mode_is_laid_as_kube_proxy_lays_it) {
    const std::string rules = kube_service_rules(service());
    for (const char* line :
         {"-A KUBE-SERVICES -m comment --comment \"ns1/svc1:p80 cluster IP\" -d 172.30.0.41/32 -p "
          "tcp -m tcp --dport 80 -j KUBE-SVC-XPGD46QRK7WJZT7O\n",
          "-A KUBE-SVC-XPGD46QRK7WJZT7O -m comment --comment \"ns1/svc1:p80 cluster IP\" -d "
          "172.30.0.41/32 -p tcp -m tcp --dport 80 ! -s 10.0.0.0/8 -j KUBE-MARK-MASQ\n",
          "-A KUBE-SVC-XPGD46QRK7WJZT7O -m comment --comment \"ns1/svc1:p80 -> 10.180.0.1:80\" -j "
          "KUBE-SEP-SXIVWICOYRO3J4NJ\n",
          "-A KUBE-SEP-SXIVWICOYRO3J4NJ -m comment --comment \"ns1/svc1:p80\" -s 10.180.0.1/32 -j "
          "KUBE-MARK-MASQ\n",
          "-A KUBE-SEP-SXIVWICOYRO3J4NJ -m comment --comment \"ns1/svc1:p80\" -p tcp -m tcp -j "
          "DNAT --to-destination 10.180.0.1:80\n"}) {
        BOOST_TEST(contains(rules, line), line);
    }
    KubeService two = service("2001:db8::1");
    two.endpoints.push_back(*frame::parse_ip("2001:db8::2"));
    const std::string of_two = kube_service_rules(two);
    BOOST_TEST(contains(
        of_two, "--probability 0.5000000000 -j " + kube_endpoint_chain(two, two.endpoints[0])));
    BOOST_TEST(contains(of_two, "--to-destination [2001:db8::2]:80\n"));
    BOOST_TEST(contains(of_two, "-s 2001:db8::2/128 "));
}

BOOST_AUTO_TEST_CASE(the_nftables_mode_is_laid_as_kube_proxy_lays_it) {
    KubeService two = service();
    two.endpoints.push_back(*frame::parse_ip("10.180.0.2"));
    const std::string table = kube_nft_table(two);
    for (const char* part :
         {"delete table ip kube-proxy\ntable ip kube-proxy {\n",
          "chain endpoint-5OJB2KTY-ns1/svc1/tcp/p80__10.180.0.1/80 {\n"
          "ip saddr 10.180.0.1 jump mark-for-masquerade;\n"
          "meta l4proto tcp counter dnat to 10.180.0.1:80;\n}\n",
          "chain service-ULMVA6XW-ns1/svc1/tcp/p80 {\n"
          "ip daddr 172.30.0.41 ip saddr != 10.0.0.0/8 jump mark-for-masquerade;\n"
          "numgen random mod 2 vmap { 0 : goto endpoint-5OJB2KTY-ns1/svc1/tcp/p80__10.180.0.1/80, "
          "1 : goto endpoint-",
          "elements = { 172.30.0.41 . tcp . 80 : goto service-ULMVA6XW-ns1/svc1/tcp/p80 };"}) {
        BOOST_TEST(contains(table, part), part);
    }
    KubeService six = service("fd00::5");
    six.address.address = *frame::parse_ip("fd00:1::1");
    six.pods = "";
    const std::string table6 = kube_nft_table(six);
    BOOST_TEST(contains(table6, "table ip6 kube-proxy {\n"));
    BOOST_TEST(contains(table6, "__fd00..5/80 {\nip6 saddr fd00::5 jump"));
    BOOST_TEST(contains(table6, "dnat to [fd00::5]:80;\n"));
    BOOST_TEST(contains(table6, "type ipv6_addr . inet_proto . inet_service : verdict;"));
    BOOST_TEST(!contains(table6, "!="));
}

BOOST_AUTO_TEST_CASE(a_name_is_never_longer_than_nftables_allows) {
    KubeService long_one = service();
    long_one.name = std::string(250, 'n');
    std::istringstream lines(kube_nft_table(long_one));
    bool shortened = false;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("chain service-")) {
            shortened = line.find("... {") != std::string::npos;
            BOOST_TEST(line.size() < 6 + 256);
        }
    }
    BOOST_TEST(shortened);
}

BOOST_AUTO_TEST_SUITE_END()
