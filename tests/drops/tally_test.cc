#include "harness/drops/tally.h"

#include <linux/netfilter/nf_conntrack_common.h>

#include <boost/test/unit_test.hpp>

using namespace pathproof::drops;

namespace {

const DropEvent kEvent{.reasons = {{2, "NOT_SPECIFIED"}, {3, "NO_SOCKET"}, {12, "NETFILTER_DROP"}},
                       .not_specified = 2};
constexpr std::uint64_t kLocation = 0xffffffff81000010;

PacketFacts dropped(std::uint32_t reason) {
    return {.location = kLocation,
            .reason = reason,
            .ethertype = 0x0800,
            .ip_protocol = 17,
            .netns_inode = 4026532001,
            .looked_at = true,
            .conntrack_status = std::nullopt};
}

DropSummary summary(const Tally& tally) {
    KernelSymbols symbols("/nonexistent");
    return tally.summary(symbols);
}

}  // namespace

BOOST_AUTO_TEST_CASE(drops_add_up_by_reason_place_and_protocol) {
    Tally tally(kEvent, Scope::kNamespace);
    for (int i = 0; i < 3; ++i) {
        tally.add(dropped(12), i);
    }
    tally.add(dropped(3), 3);
    PacketFacts tcp = dropped(12);
    tcp.ip_protocol = 6;
    tally.add(tcp, 4);
    const DropSummary counted = summary(tally);
    BOOST_TEST(counted.drops == 5U);
    BOOST_REQUIRE_EQUAL(counted.counts.size(), 3U);
    const DropCount expected{.reason = "NETFILTER_DROP",
                             .location = "0xffffffff81000010",
                             .protocol = "ip/udp",
                             .flow = FlowState::kNone,
                             .packets = 3};
    BOOST_TEST((counted.counts[0] == expected));
    const auto reasons = by_reason(counted.counts);
    BOOST_REQUIRE_EQUAL(reasons.size(), 2U);
    BOOST_TEST(reasons[0].packets == 4U);
    BOOST_TEST(reasons[1].reason == "NO_SOCKET");
    BOOST_REQUIRE_EQUAL(counted.last.size(), 5U);
    BOOST_TEST(counted.last[0].protocol == "ip/tcp");
    BOOST_TEST(counted.last[0].time_ns == 4);
    BOOST_TEST(counted.last[4].time_ns == 0);
}

BOOST_AUTO_TEST_CASE(frees_without_a_reason_and_consumed_packets_are_no_drops) {
    Tally tally(kEvent, Scope::kNamespace);
    for (const std::uint32_t reason : {0U, 1U, 2U, 2U}) {
        tally.add(dropped(reason), 0);
    }
    const DropSummary counted = summary(tally);
    BOOST_TEST(counted.drops == 0U);
    BOOST_TEST(counted.counts.empty());
    BOOST_TEST(counted.last.empty());
    BOOST_TEST(counted.unspecified == 2U);
}

BOOST_AUTO_TEST_CASE(a_packet_that_tells_no_namespace_counts_for_the_machine_only) {
    PacketFacts nowhere = dropped(12);
    nowhere.netns_inode.reset();
    Tally one(kEvent, Scope::kNamespace);
    Tally machine(kEvent, Scope::kMachine);
    for (Tally* tally : {&one, &machine}) {
        tally->add(nowhere, 0);
        tally->add(dropped(12), 0);
    }
    BOOST_TEST(summary(one).drops == 1U);
    BOOST_TEST(summary(one).nowhere == 1U);
    BOOST_TEST(summary(machine).drops == 2U);
    BOOST_TEST(summary(machine).nowhere == 0U);
}

BOOST_AUTO_TEST_CASE(the_flow_is_what_its_conntrack_entry_says) {
    PacketFacts facts = dropped(12);
    BOOST_TEST((flow_state(facts) == FlowState::kNone));
    facts.conntrack_status = 0;
    BOOST_TEST((flow_state(facts) == FlowState::kNew));
    facts.conntrack_status = IPS_SRC_NAT_DONE | IPS_DST_NAT_DONE;
    BOOST_TEST((flow_state(facts) == FlowState::kNewPastNat));
    facts.conntrack_status = IPS_CONFIRMED | IPS_SRC_NAT_DONE;
    BOOST_TEST((flow_state(facts) == FlowState::kKnown));
    facts.conntrack_status = IPS_TEMPLATE | IPS_CONFIRMED;
    BOOST_TEST((flow_state(facts) == FlowState::kNone));
    facts.looked_at = false;
    BOOST_TEST((flow_state(facts) == FlowState::kUntold));
}

BOOST_AUTO_TEST_CASE(the_flow_is_told_for_drops_by_netfilter_only) {
    Tally tally(kEvent, Scope::kNamespace);
    tally.add(dropped(3), 0);
    BOOST_TEST((summary(tally).counts[0].flow == FlowState::kUntold));
}

BOOST_AUTO_TEST_CASE(what_is_kept_does_not_grow_with_the_number_of_drops) {
    Tally tally(kEvent, Scope::kNamespace);
    PacketFacts facts = dropped(12);
    for (int i = 0; i < 5000; ++i) {
        facts.location = kLocation + static_cast<std::uint64_t>(i);
        tally.add(facts, i);
    }
    const DropSummary counted = summary(tally);
    BOOST_TEST(counted.drops == 5000U);
    BOOST_TEST(counted.counts.size() == 4096U);
    BOOST_TEST(counted.other_kinds == 5000U - 4096U);
    BOOST_TEST(counted.last.size() == 32U);
    BOOST_TEST(counted.last[0].time_ns == 4999);
}

BOOST_AUTO_TEST_CASE(protocols_have_the_words_of_conntrack) {
    BOOST_TEST(protocol_word(0x0800, 6) == "ip/tcp");
    BOOST_TEST(protocol_word(0x86dd, 58) == "ip6/icmpv6");
    BOOST_TEST(protocol_word(0x0800, std::nullopt) == "ip");
    BOOST_TEST(protocol_word(0x0800, 253) == "ip/253");
    BOOST_TEST(protocol_word(0x0806, std::nullopt) == "arp");
    BOOST_TEST(protocol_word(0x88cc, std::nullopt) == "ethertype 0x88cc");
    BOOST_TEST(protocol_word(0, std::nullopt) == "none");
}

BOOST_AUTO_TEST_CASE(growth_is_what_came_after) {
    const DropCount a{.reason = "A", .location = "x", .protocol = "ip", .packets = 5};
    const DropCount b{.reason = "B", .location = "x", .protocol = "ip", .packets = 7};
    DropCount more = a;
    more.packets = 14;
    const auto grown = growth({a, b}, {b, more});
    BOOST_REQUIRE_EQUAL(grown.size(), 1U);
    BOOST_TEST(grown[0].reason == "A");
    BOOST_TEST(grown[0].packets == 9U);
    BOOST_TEST(growth({}, {b, a}).size() == 2U);
    BOOST_TEST(growth({}, {a, b})[0].reason == "B");
}
