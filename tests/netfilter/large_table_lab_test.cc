#include <fmt/ranges.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <sstream>

#include "harness/netfilter/dump.h"
#include "harness/netfilter/kernel_probe.h"
#include "harness/netfilter/stats.h"
#include "harness/netfilter/text.h"
#include "tests/netfilter/lab_namespace.h"
#include "tests/netfilter/table_batch.h"

using namespace pathproof;
using namespace pathproof::netfilter;
using Column = TextOptions::Column;

namespace {

constexpr std::uint32_t kBatch = 100'000;

// A hundred thousand entries of every kind that netlink can make, and some that packets made: with
// a helper, labels, a zone of one direction, and DNAT.
struct LargeTable {
    lab::Namespace space{"large"};
    LargeTable() {
        space.run(
            "sysctl -qw net.netfilter.nf_conntrack_acct=1 "
            "net.netfilter.nf_conntrack_udp_timeout=600");
        space.run("iptables -t raw -A OUTPUT -p udp --dport 69 -j CT --helper tftp");
        space.run("iptables -t raw -A OUTPUT -p udp --dport 70 -j CT --zone-orig 7");
        space.run("iptables -A OUTPUT -p udp --dport 71 -m connlabel --label 5 --set");
        space.run(
            "iptables -t nat -A OUTPUT -p udp --dport 72 -j DNAT --to-destination 127.0.0.5:99");
        lab::insert_mixed(space.name(), kBatch);
        space.load(lab::mixed_table());
        space.run({"bash", "-c", "for p in 69 70 71 72; do echo x > /dev/udp/127.0.0.1/$p; done"});
    }
};

const lab::Namespace& large_table() {
    static const LargeTable table;
    return table.space;
}

// The whole table, read once without a filter.
const std::vector<Entry>& all_entries() {
    static const std::vector<Entry> entries = [] {
        auto read = dump_all(large_table().name());
        BOOST_REQUIRE_MESSAGE(read, read.error().message);
        return std::move(*read);
    }();
    return entries;
}

// Lines in order, without what ticks: the time-out, which is the first number behind the
// protocol's.
std::vector<std::string> sorted(const std::string& text, int words_before) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        std::size_t at = 0;
        for (int word = 0; word < words_before; ++word) {
            at = line.find_first_not_of(' ', line.find(' ', at));
        }
        line.erase(at, line.find(' ', at) - at);
        lines.push_back(std::move(line));
    }
    std::sort(lines.begin(), lines.end());
    return lines;
}

std::string dumped(const Filter& filter, const TextOptions& options) {
    std::string text;
    const auto summary = dump(large_table().name(), filter, [&](const Entry& entry) {
        append_text(text, entry, options);
        text += '\n';
        return Next::kContinue;
    });
    BOOST_REQUIRE_MESSAGE(summary, summary.error().message);
    BOOST_TEST(summary->unreadable == 0U);
    BOOST_TEST(!summary->interrupted);
    return text;
}

void require_same(const std::vector<std::string>& ours, const std::vector<std::string>& theirs) {
    BOOST_TEST(ours.size() == theirs.size());
    const auto [mine, other] =
        std::mismatch(ours.begin(), ours.end(), theirs.begin(), theirs.end());
    BOOST_REQUIRE_MESSAGE(mine == ours.end() && other == theirs.end(),
                          "first difference:\n"
                              << (mine == ours.end() ? "(no more)" : *mine) << "\n"
                              << (other == theirs.end() ? "(no more)" : *other));
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_hundred_thousand_entries_of_all_kinds_read_as_conntrack_lists_them) {
    const std::string text = dumped({}, {.id = Column::kShow, .layer3 = Column::kShow});
    require_same(sorted(text, 4), sorted(large_table().run("conntrack -L -o id,extended"), 4));
    for (const char* word :
         {"\nipv4     2 tcp", "\nipv6     10 tcp", " icmpv6 ", " sctp ", " gre ", " udplite ",
          " unknown  50 ", " zone=", " zone-orig=", " zone-reply=", " helper=tftp ",
          " src=127.0.0.5 dst=127.0.0.1 sport=99 ", " srckey=0x", " TIME_WAIT ", " SHUTDOWN_SENT ",
          "[UNREPLIED]", "[ASSURED]", " packets="}) {
        BOOST_TEST(text.find(word) != std::string::npos, word);
    }
}

BOOST_AUTO_TEST_CASE(counts_equal_what_the_kernel_counts) {
    const auto counted = count_entries(large_table().name(), {});
    BOOST_REQUIRE_MESSAGE(counted, counted.error().message);
    BOOST_TEST(counted->entries == table_size(large_table().name())->entries);
    BOOST_TEST(counted->entries == std::stoull(large_table().run("conntrack -C")));
    BOOST_TEST(counted->entries == kBatch + lab::mixed_table().size() + 4);
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"ipv6", "tcp"}, {"zone=3"}, {"state=TIME_WAIT"}, {"label=9"}}) {
        const Filter filter = parse_filter(words).value();
        const auto visited = static_cast<std::uint64_t>(
            std::count_if(all_entries().begin(), all_entries().end(),
                          [&](const Entry& entry) { return matches(filter, entry); }));
        BOOST_TEST(visited > 0U);
        BOOST_TEST(count_entries(large_table().name(), filter)->entries == visited);
    }
}

BOOST_AUTO_TEST_CASE(labels_are_those_that_were_set) {
    const auto by_packet =
        dump_all(large_table().name(), parse_filter({"udp", "dport=71", "label=5"}).value());
    BOOST_REQUIRE_MESSAGE(by_packet, by_packet.error().message);
    BOOST_TEST(std::any_of(by_packet->begin(), by_packet->end(), [](const Entry& entry) {
        return frame::to_string(entry.original.source.address) == "127.0.0.1" &&
               entry.labels.size() == 16 && entry.labels[0] == 0x20;
    }));
    const auto labelled = count_entries(large_table().name(), parse_filter({"mark=60"}).value());
    BOOST_TEST(labelled->entries > 0U);
}

BOOST_AUTO_TEST_CASE(every_way_of_filtering_gives_what_filtering_here_gives) {
    for (const std::vector<std::string>& words : {std::vector<std::string>{"src=2001:db8::103"},
                                                  {"dst=2001:db8::1:86a3", "ipv6"},
                                                  {"reply-dst=2001:db8::103"},
                                                  {"ipv4", "icmp", "icmp-id=5"},
                                                  {"icmpv6", "ipv6", "icmp-type=128"},
                                                  {"ipv4", "icmp", "icmp-type=77"},
                                                  {"ipv4", "icmp", "reply-icmp-type=0"},
                                                  {"ipv6", "udp", "sport=1100"},
                                                  {"mark=0x10/0xf0", "zone=4"},
                                                  {"status=assured,seen_reply"},
                                                  {"status=!seen_reply", "ipv6"},
                                                  {"orig-zone=2"},
                                                  {"reply-zone=2"},
                                                  {"dst-nat"},
                                                  {"src-nat=203.0.113.0/24"},
                                                  {"helper=tftp"}}) {
        BOOST_TEST_CONTEXT(fmt::format("{}", fmt::join(words, " "))) {
            const Filter filter = parse_filter(words).value();
            std::vector<std::uint32_t> here;
            for (const Entry& entry : all_entries()) {
                if (matches(filter, entry)) {
                    here.push_back(entry.id);
                }
            }
            std::vector<std::uint32_t> filtered;
            const auto summary = dump(large_table().name(), filter, [&](const Entry& entry) {
                filtered.push_back(entry.id);
                return Next::kContinue;
            });
            BOOST_REQUIRE_MESSAGE(summary, summary.error().message);
            BOOST_TEST((words.back() == "icmp-type=77" || !here.empty()));
            std::sort(here.begin(), here.end());
            std::sort(filtered.begin(), filtered.end());
            BOOST_TEST((filtered == here));
        }
    }
}

BOOST_AUTO_TEST_CASE(the_kernel_was_tried_and_does_what_it_was_found_to_do) {
    const KernelFilterSupport support = probe_kernel_filter(Clauses().set());
    const std::pair<Clause, std::vector<std::string>> asked[] = {
        {Clause::kMark, {"mark=60"}},
        {Clause::kStatus, {"status=assured"}},
        {Clause::kZone, {"zone=3"}},
        {Clause::kIpv4Address, {"src=198.18.0.5"}},
        {Clause::kIpv6Address, {"src=2001:db8::103"}},
        {Clause::kProtocol, {"ipv4", "gre"}},
        {Clause::kPorts, {"ipv4", "tcp", "sport=1100"}},
        {Clause::kIcmp, {"ipv4", "icmp", "icmp-id=5"}},
        {Clause::kIcmpv6, {"ipv6", "icmpv6", "icmp-type=128"}},
    };
    for (const auto& [clause, words] : asked) {
        BOOST_TEST_CONTEXT(name(clause) << ": " << name(support.of(clause))) {
            BOOST_TEST((support.of(clause) != Behaviour::kNotTried));
            const auto summary = dump(large_table().name(), parse_filter(words).value(),
                                      [](const Entry&) { return Next::kContinue; });
            BOOST_REQUIRE_MESSAGE(summary, summary.error().message);
            BOOST_TEST(summary->entries > 0U);
            BOOST_TEST((summary->received == summary->entries) ==
                       (support.of(clause) == Behaviour::kSelects));
        }
    }
}
