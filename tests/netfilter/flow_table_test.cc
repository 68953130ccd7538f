#include "harness/netfilter/flow_table.h"

#include <boost/test/unit_test.hpp>
#include <map>
#include <random>

#include "tests/netfilter/message_builder.h"

using namespace pathproof;
using namespace pathproof::netfilter;

namespace {

Entry flow(unsigned number, std::uint32_t id) {
    const bool ipv6 = number % 3 == 0;
    Entry made = ipv6 ? make_entry(fmt::format("[2001:db8::{:x}]:1000", number + 1),
                                   "[2001:db8:1::1]:53", "[2001:db8:2::1]:53", id)
                      : make_entry(fmt::format("198.18.{}.{}:1000", number / 250, number % 250),
                                   "198.18.9.10:53", "203.0.113.2:53", id);
    made.mark = number;
    made.mark_reported = number != 0;
    return made;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_kept_entry_reads_back) {
    FlowTable table;
    Entry entry = flow(3, 7);
    entry.zone = 9;
    entry.zone_direction = ZoneDirection::kReply;
    entry.protocol_state = "ESTABLISHED";
    entry.helper = "ftp";
    entry.labels = {0, 5};
    BOOST_TEST((table.entry(table.insert(entry)) == entry));
    Entry icmp = flow(4, 8);
    icmp.original.source.port = icmp.original.destination.port = 0;
    icmp.reply.source.port = icmp.reply.destination.port = 0;
    icmp.original.protocol = icmp.reply.protocol = IPPROTO_ICMP;
    icmp.original.icmp = Tuple::Icmp{8, 1, 77};
    icmp.reply.icmp = Tuple::Icmp{0, 1, 77};
    BOOST_TEST((table.entry(table.insert(icmp)) == icmp));
}

BOOST_AUTO_TEST_CASE(an_event_keeps_what_it_does_not_say) {
    FlowTable table;
    Entry entry = flow(1, 7);
    entry.protocol_state = "ESTABLISHED";
    entry.labels = {4};
    Flow& kept = table.insert(entry);
    Entry news = flow(1, 7);
    news.mark = 99;
    BOOST_TEST(table.differs(kept, news));
    table.update(kept, news);
    BOOST_TEST(!table.differs(kept, news));
    BOOST_TEST(table.entry(kept).mark == 99U);
    BOOST_TEST(table.entry(kept).protocol_state == "ESTABLISHED");
    BOOST_TEST((table.entry(kept).labels == std::vector<std::uint8_t>{4}));
}

BOOST_AUTO_TEST_CASE(offload_bits_change_without_events_and_are_no_difference) {
    FlowTable table;
    Flow& kept = table.insert(flow(1, 7));
    Entry offloaded = flow(1, 7);
    offloaded.status |= status::kOffload;
    BOOST_TEST(!table.differs(kept, offloaded));
    offloaded.status |= status::kAssured;
    BOOST_TEST(table.differs(kept, offloaded));
}

BOOST_AUTO_TEST_CASE(any_order_of_inserting_and_erasing_keeps_the_others_findable) {
    std::mt19937 random(1);
    FlowTable table;
    std::map<unsigned, Entry> model;
    for (unsigned step = 0; step < 40000; ++step) {
        const auto number = static_cast<unsigned>(random() % 3000);
        // Few ids, so that many flows share one and runs of cells are long.
        const Entry entry = flow(number, number * 0x10001 % 97);
        Flow* found = table.find(entry);
        BOOST_REQUIRE_EQUAL(found != nullptr, model.contains(number));
        if (found == nullptr) {
            table.insert(entry);
            model[number] = entry;
        } else {
            BOOST_REQUIRE((table.entry(*found) == model[number]));
            table.erase(*found);
            model.erase(number);
        }
        BOOST_REQUIRE_EQUAL(table.size(), model.size());
    }
    std::size_t visited = 0;
    table.each([&](Flow& kept) {
        ++visited;
        BOOST_REQUIRE(model.contains(kept.mark));
        table.erase(kept);
    });
    BOOST_TEST(visited == model.size());
    BOOST_TEST(table.size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_hundred_thousand_flows_take_less_than_sixty_four_bytes_each) {
    FlowTable table;
    for (unsigned i = 0; i < 100'000; ++i) {
        Entry entry = flow(1, i * 2654435761U);
        entry.original.source.port = static_cast<std::uint16_t>(i);
        table.insert(entry);
    }
    BOOST_TEST(table.size() == 100'000U);
    BOOST_TEST(table.memory_bytes() < 64U * 100'000U);
}
