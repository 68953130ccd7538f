#include "harness/netfilter/kernel_filter.h"

#include <fmt/ranges.h>

#include <boost/test/unit_test.hpp>

#include "tests/netfilter/message_builder.h"

using namespace pathproof;
using namespace pathproof::netfilter;

namespace {

using Words = std::vector<std::string>;

KernelFilterSupport perfect() {
    return KernelFilterSupport(Behaviour::kSelects);
}

FilterShares shares(const Words& words, const KernelFilterSupport& support = perfect()) {
    return filter_shares(parse_filter(words).value(), support);
}

// Bytes of what is asked of the kernel.
std::size_t asked(const Words& words, const KernelFilterSupport& support) {
    MessageBuilder request;
    const std::size_t empty = request.message().nlmsg_len;
    add_dump_filter(request.message(), parse_filter(words).value(), support);
    return request.message().nlmsg_len - empty;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_kernel_is_given_all_that_it_can_do) {
    for (const Words& words : {Words{"mark=0x1/0xff"},
                               {"status=assured"},
                               {"zone=3"},
                               {"src=198.18.0.1"},
                               {"reply-dst=2001:db8::1"},
                               {"ipv4", "proto=17", "sport=1", "reply-dport=9"},
                               {"ipv4", "icmp", "icmp-type=8", "icmp-code=0", "icmp-id=1"},
                               {"ipv6", "icmpv6", "reply-icmp-type=129"}}) {
        BOOST_TEST_CONTEXT(fmt::format("{}", fmt::join(words, " "))) {
            BOOST_TEST(shares(words).here.empty());
            BOOST_TEST(shares(words).kernel.size() == words.size());
            BOOST_TEST(asked(words, perfect()) > 0U);
        }
    }
}

BOOST_AUTO_TEST_CASE(the_rest_is_done_here) {
    for (const char* word : {"src=198.18.0.0/15", "addr=198.18.0.1", "port=53", "state=ESTABLISHED",
                             "helper=ftp", "label=3", "src-nat", "dst-nat=203.0.113.0/24",
                             "orig-zone=3", "reply-zone=3", "id=5", "secctx=x", "sport=53"}) {
        BOOST_TEST_CONTEXT(word) {
            BOOST_TEST(shares({word}).kernel.empty());
            BOOST_TEST(shares({word}).here.size() == 1U);
            BOOST_TEST(asked({word}, perfect()) == 0U);
        }
    }
    // Ports of a protocol whose ports the kernel does not compare, and a protocol without a family.
    BOOST_TEST(shares({"ipv4", "sctp", "sport=1"}).here == Words{"sport=1"},
               boost::test_tools::per_element());
    BOOST_TEST(shares({"tcp"}).here.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_clause_that_a_kernel_gets_wrong_is_not_asked_of_it) {
    const Words v6{"src=2001:db8::1"};
    for (const Behaviour behaviour :
         {Behaviour::kIgnores, Behaviour::kRefuses, Behaviour::kInverts, Behaviour::kNotTried}) {
        KernelFilterSupport support = perfect();
        support.of(Clause::kIpv6Address) = behaviour;
        BOOST_TEST(asked(v6, support) == 0U, name(behaviour));
        BOOST_TEST(shares(v6, support).here == v6, boost::test_tools::per_element());
        BOOST_TEST(asked({"src=198.18.0.1"}, support) > 0U);
    }
    // An untried clause is asked of the kernel, but does not count as applied there.
    BOOST_TEST(asked({"mark=1"}, KernelFilterSupport(Behaviour::kNotTried)) > 0U);
    BOOST_TEST(shares({"mark=1"}, KernelFilterSupport(Behaviour::kNotTried)).kernel.empty());
}

BOOST_AUTO_TEST_CASE(only_the_clauses_of_a_filter_need_a_probe) {
    const auto clauses = [](const Words& words) {
        std::string names;
        const Clauses found = clauses_of(parse_filter(words).value());
        for (std::size_t i = 0; i < kClauses; ++i) {
            names += found.test(i) ? fmt::format("{};", name(static_cast<Clause>(i))) : "";
        }
        return names;
    };
    BOOST_TEST(clauses({}) == "");
    BOOST_TEST(clauses({"ipv4"}) == "");
    BOOST_TEST(clauses({"tcp", "sport=1"}) == "");
    BOOST_TEST(clauses({"tcp", "ipv4", "sport=1"}) == "protocol;ports;");
    BOOST_TEST(clauses({"zone=0", "mark=0", "status=!assured"}) == "mark;status;zone;");
    BOOST_TEST(clauses({"src=2001:db8::1"}) == "IPv6 address;");
    BOOST_TEST(clauses({"reply-dst=198.18.0.1", "icmp", "icmp-id=0"}) ==
               "IPv4 address;protocol;ICMP;");
    BOOST_TEST(clauses({"ipv6", "icmpv6", "icmp-type=128"}) == "protocol;ICMPv6;");
}
