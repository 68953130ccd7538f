#include <fmt/ranges.h>

#include <boost/test/unit_test.hpp>
#include <set>

#include "harness/netfilter/dump.h"
#include "harness/netfilter/stats.h"
#include "harness/netfilter/text.h"
#include "tests/netfilter/lab_namespace.h"

using namespace pathproof;
using namespace pathproof::netfilter;
using Column = TextOptions::Column;

namespace {

// One table for all cases: it takes a second to make.
struct Table {
    lab::Namespace space{"dump"};
    Table() {
        space.load(lab::mixed_table());
        space.run(
            "sysctl -qw net.netfilter.nf_conntrack_acct=1 net.netfilter.nf_conntrack_timestamp=1");
        // These have counters and time stamps.
        std::vector<std::string> counted;
        for (unsigned i = 0; i < 100; ++i) {
            counted.push_back(fmt::format(
                "-A -t 600 -p udp -s 198.18.8.1 -d 198.18.8.2 --sport {} --dport 53", 3000 + i));
        }
        space.load(counted);
    }
};

const lab::Namespace& space() {
    static const Table table;
    return table.space;
}

std::vector<std::string> ours(const std::vector<std::string>& words, const TextOptions& options) {
    const auto filter = parse_filter(words);
    BOOST_REQUIRE_MESSAGE(filter, filter.error().message);
    std::string text;
    const auto summary = dump(space().name(), *filter, [&](const Entry& entry) {
        append_text(text, entry, options);
        text += '\n';
        return Next::kContinue;
    });
    BOOST_REQUIRE_MESSAGE(summary, summary.error().message);
    BOOST_TEST(summary->unreadable == 0U);
    return lab::comparable(text);
}

void same_lines(const std::vector<std::string>& mine, const std::vector<std::string>& theirs) {
    BOOST_TEST(!theirs.empty());
    BOOST_TEST(mine == theirs, boost::test_tools::per_element());
}

void same_set(const std::vector<std::string>& words, const std::string& arguments) {
    BOOST_TEST_CONTEXT("filter " << fmt::format("{}", fmt::join(words, " "))
                                 << " against conntrack -L " << arguments) {
        same_lines(ours(words, {.id = Column::kShow}),
                   lab::comparable(space().run("conntrack -L -o id " + arguments)));
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_table_reads_as_conntrack_lists_it) {
    same_lines(ours({}, {}), lab::comparable(space().run("conntrack -L")));
    BOOST_TEST(ours({}, {}).size() == lab::mixed_table().size() + 100);
}

BOOST_AUTO_TEST_CASE(ids_layer_three_and_times_read_as_conntrack_lists_them) {
    same_lines(
        ours({}, {.id = Column::kShow, .layer3 = Column::kShow, .kernel_times = Column::kShow}),
        lab::comparable(space().run("conntrack -L -o id,extended,ktimestamp")));
}

BOOST_AUTO_TEST_CASE(filters_give_the_sets_that_conntrack_gives) {
    same_set({"udp"}, "-p udp");
    same_set({"ipv6"}, "-f ipv6");
    same_set({"family=ipv4", "tcp"}, "-f ipv4 -p tcp");
    same_set({"proto=50"}, "-p 50");
    same_set({"src=198.18.0.7"}, "-s 198.18.0.7");
    same_set({"src=198.18.0.0/25"}, "-s 198.18.0.0/25");
    same_set({"dst=198.18.1.2", "udp", "dport=54"}, "-d 198.18.1.2 -p udp --dport 54");
    same_set({"tcp", "sport=1030", "ipv4"}, "-p tcp --sport 1030 -f ipv4");
    same_set({"src=2001:db8::5"}, "-f ipv6 -s 2001:db8::5");
    same_set({"reply-src=203.0.113.2"}, "-r 203.0.113.2");
    same_set({"reply-dst=203.0.113.77"}, "-q 203.0.113.77");
    same_set({"tcp", "reply-dport=1040", "ipv4"}, "-p tcp --reply-port-dst 1040 -f ipv4");
    same_set({"zone=3", "status=confirmed", "dst=198.18.1.2"}, "-w 3 -d 198.18.1.2");
    same_set({"mark=17"}, "-m 17");
    same_set({"mark=0x10/0xf0"}, "-m 0x10/0xf0");
    same_set({"status=assured"}, "-u ASSURED");
    same_set({"status=seen_reply,!assured"}, "-u SEEN_REPLY -p tcp -f ipv6");
}

BOOST_AUTO_TEST_CASE(words_that_conntrack_lacks_select_by_the_same_lines) {
    // Each has one address or port of its own in the table.
    std::set<std::string> with_address;
    for (const std::string& line : ours({}, {})) {
        if (line.find("=203.0.113.2 ") != std::string::npos) {
            with_address.insert(line);
        }
    }
    const auto selected = ours({"addr=203.0.113.2"}, {});
    BOOST_TEST(!selected.empty());
    BOOST_TEST((std::set<std::string>(selected.begin(), selected.end()) == with_address));
    for (const std::string& line : ours({"port=2010"}, {})) {
        BOOST_TEST(line.find("port=2010 ") != std::string::npos);
    }
    // Sctp, udplite and the two udp with zones of a direction.
    BOOST_TEST(ours({"port=2010"}, {}).size() == 4U);
    BOOST_TEST(ours({"zone=2"}, {}).size() == ours({"zone=2", "dst=198.18.1.2"}, {}).size() + 20);
}

BOOST_AUTO_TEST_CASE(the_kernel_filters_what_it_can) {
    const auto received = [](const std::vector<std::string>& words) {
        const auto summary = dump(space().name(), *parse_filter(words),
                                  [](const Entry&) { return Next::kContinue; });
        BOOST_REQUIRE_MESSAGE(summary, summary.error().message);
        return std::pair(summary->received, summary->entries);
    };
    for (const std::vector<std::string>& words : {std::vector<std::string>{"mark=17"},
                                                  {"ipv6"},
                                                  {"status=assured"},
                                                  {"zone=3"},
                                                  {"src=198.18.0.7"},
                                                  {"ipv4", "udp", "dport=54"},
                                                  {"reply-src=203.0.113.2"}}) {
        BOOST_TEST_CONTEXT(fmt::format("{}", fmt::join(words, " "))) {
            const auto [sent, matched] = received(words);
            BOOST_TEST(matched > 0U);
            BOOST_TEST(sent == matched);
        }
    }
    // Prefixes are filtered here.
    BOOST_TEST(received({"src=198.18.0.0/25"}).first > received({"src=198.18.0.0/25"}).second);
}

BOOST_AUTO_TEST_CASE(a_visitor_can_end_the_dump) {
    unsigned seen = 0;
    const auto summary = dump(space().name(), {}, [&](const Entry&) {
        return ++seen < 3 ? Next::kContinue : Next::kStop;
    });
    BOOST_REQUIRE(summary);
    BOOST_TEST(seen == 3U);
}

BOOST_AUTO_TEST_CASE(flush_empties_the_table_of_its_namespace_only) {
    const lab::Namespace mine("flush");
    const lab::Namespace other("other");
    const std::vector<std::string> line{
        "-A -t 600 -p udp -s 198.18.0.1 -d 198.18.0.2 --sport 1 --dport 2"};
    mine.load(line);
    other.load(line);
    BOOST_TEST(dump_all(mine.name())->size() == 1U);
    const auto flushed = flush(mine.name());
    BOOST_REQUIRE_MESSAGE(flushed, flushed.error().message);
    BOOST_TEST(dump_all(mine.name())->empty());
    BOOST_TEST(dump_all(other.name())->size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_namespace_that_does_not_exist_is_named) {
    const auto summary = dump_all("pp-nf-none");
    BOOST_REQUIRE(!summary);
    BOOST_TEST((summary.error().code == ErrorCode::kNotFound));
    BOOST_TEST(summary.error().message.find("pp-nf-none") != std::string::npos);
}
