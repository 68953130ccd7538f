#include <boost/test/unit_test.hpp>
#include <sstream>

#include "harness/netfilter/planted.h"
#include "harness/netfilter/stats.h"
#include "harness/netfilter/text.h"
#include "tests/netfilter/lab_namespace.h"

using namespace pathproof;
using namespace pathproof::netfilter;

BOOST_AUTO_TEST_CASE(counters_read_as_conntrack_prints_them) {
    const lab::Namespace space("stats");
    space.load(lab::mixed_table());
    const auto stats = cpu_stats(space.name());
    BOOST_REQUIRE_MESSAGE(stats, stats.error().message);
    std::string text;
    for (const CpuStats& cpu : *stats) {
        append_text(text, cpu);
        text += '\n';
    }
    BOOST_TEST(text == space.run("conntrack -S"));
    BOOST_TEST(total(*stats, "insert") == lab::mixed_table().size());
}

BOOST_AUTO_TEST_CASE(deltas_show_what_happened_between) {
    const lab::Namespace space("delta");
    space.load({"-A -t 600 -p udp -s 198.18.0.1 -d 198.18.0.2 --sport 1 --dport 53"});
    const auto before = cpu_stats(space.name());
    space.load({"-A -t 600 -p udp -s 198.18.0.1 -d 198.18.0.2 --sport 2 --dport 53",
                "-A -t 600 -p udp -s 198.18.0.1 -d 198.18.0.2 --sport 3 --dport 53"});
    const auto after = cpu_stats(space.name());
    BOOST_REQUIRE(before && after);
    BOOST_TEST(total(delta(*before, *after), "insert") == 2U);
    BOOST_TEST(total(delta(*before, *after), "drop") == 0U);
}

BOOST_AUTO_TEST_CASE(the_table_size_is_what_conntrack_counts) {
    const lab::Namespace space("size");
    space.load(lab::mixed_table());
    const auto size = table_size(space.name());
    BOOST_REQUIRE_MESSAGE(size, size.error().message);
    BOOST_TEST(std::to_string(size->entries) + "\n" == space.run("conntrack -C"));
    BOOST_TEST(std::to_string(size->maximum) + "\n" ==
               space.run("sysctl -n net.netfilter.nf_conntrack_max"));
}

// The kernel that runs the tests is one of those whose counters were read.
BOOST_AUTO_TEST_CASE(packets_are_planted_beside_the_namespace_that_asks) {
    const lab::Namespace space("plant");
    const auto before = cpu_stats(space.name());
    const auto planted = plant_packets();
    BOOST_REQUIRE_MESSAGE(planted, planted.error().message);
    BOOST_TEST(planted->refused.value("insert_failed") == 1U);
    BOOST_TEST(planted->refused.value("drop") == 1U);
    BOOST_TEST(planted->invalid.value("invalid") == 1U);
    BOOST_TEST(counts_as_known(*planted));
    const auto after = cpu_stats(space.name());
    BOOST_REQUIRE(before && after);
    for (const char* counter : {"insert_failed", "drop", "invalid", "clash_resolve"}) {
        BOOST_TEST(total(delta(*before, *after), counter) == 0U, counter);
    }
}
