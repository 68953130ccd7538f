#include "harness/netfilter/filter.h"

#include <boost/test/unit_test.hpp>

#include "tests/netfilter/message_builder.h"

using namespace pathproof;
using namespace pathproof::netfilter;

namespace {

bool selects(const std::vector<std::string>& words, const Entry& entry) {
    const auto filter = parse_filter(words);
    BOOST_REQUIRE_MESSAGE(filter, filter.error().message);
    return matches(*filter, entry);
}

std::string refusal(const std::vector<std::string>& words) {
    const auto filter = parse_filter(words);
    BOOST_REQUIRE(!filter);
    BOOST_TEST((filter.error().code == ErrorCode::kBadInput));
    return filter.error().message;
}

Entry entry() {
    Entry made = make_entry("198.18.0.1:40000", "198.18.9.10:53", "203.0.113.2:5353", 1);
    made.zone = 4;
    made.mark = 0x1234;
    made.status |= status::kSeenReply;
    made.protocol_state = "ESTABLISHED";
    made.helper = "ftp";
    made.labels = {0, 2};
    made.security_context = "ctx";
    return made;
}

}  // namespace

BOOST_AUTO_TEST_CASE(no_words_select_everything) {
    BOOST_TEST(selects({}, entry()));
}

BOOST_AUTO_TEST_CASE(each_word_selects_by_its_field) {
    const std::pair<const char*, const char*> cases[] = {
        {"udp", "tcp"},
        {"proto=17", "proto=gre"},
        {"ipv4", "family=ipv6"},
        {"src=198.18.0.1", "src=198.18.0.2"},
        {"src=198.18.0.0/24", "src=198.18.1.0/24"},
        {"dst=198.18.9.10", "dst=203.0.113.2"},
        {"sport=40000", "sport=53"},
        {"dport=53", "dport=5353"},
        {"reply-src=203.0.113.2", "reply-src=198.18.9.10"},
        {"reply-dst=198.18.0.1", "reply-dst=203.0.113.2"},
        {"reply-sport=5353", "reply-sport=53"},
        {"reply-dport=40000", "reply-dport=53"},
        {"addr=203.0.113.0/28", "addr=203.0.113.16/28"},
        {"port=5353", "port=5354"},
        {"zone=4", "zone=0"},
        {"mark=4660", "mark=1"},
        {"mark=0x1200/0xff00", "mark=0x1300/0xff00"},
        {"status=seen_reply,dst_nat", "status=seen_reply,assured"},
        {"status=!assured", "status=unreplied"},
        {"dst-nat", "src-nat"},
        {"any-nat", "src-nat=203.0.113.2"},
        {"dst-nat=203.0.113.0/30", "dst-nat=203.0.113.4/30"},
        {"orig-zone=4", "orig-zone=5"},
        {"reply-zone=4", "reply-zone=0"},
        {"id=1", "id=2"},
        {"state=established", "state=SYN_SENT"},
        {"helper=ftp", "helper=sip"},
        {"label=9", "label=8"},
        {"secctx=ctx", "secctx=ct"},
    };
    for (const auto& [right, wrong] : cases) {
        BOOST_TEST(selects({right}, entry()), right);
        BOOST_TEST(!selects({wrong}, entry()), wrong);
        BOOST_TEST(!selects({right, wrong}, entry()), wrong);
    }
}

BOOST_AUTO_TEST_CASE(icmp_words_select_by_each_direction) {
    Entry ping = entry();
    ping.original.icmp = Tuple::Icmp{8, 1, 7};
    ping.reply.icmp = Tuple::Icmp{0, 2, 9};
    for (const char* right : {"icmp-type=8", "icmp-code=1", "icmp-id=7", "reply-icmp-type=0",
                              "reply-icmp-code=2", "reply-icmp-id=9"}) {
        BOOST_TEST(selects({right}, ping), right);
        BOOST_TEST(!selects({right}, entry()), right);
    }
    for (const char* wrong : {"icmp-type=0", "icmp-code=2", "icmp-id=9", "reply-icmp-type=8",
                              "reply-icmp-code=1", "reply-icmp-id=7"}) {
        BOOST_TEST(!selects({wrong}, ping), wrong);
    }
}

BOOST_AUTO_TEST_CASE(a_zone_of_one_direction_holds_for_that_one_only) {
    Entry made = entry();
    made.zone_direction = ZoneDirection::kReply;
    BOOST_TEST(selects({"zone=4", "reply-zone=4"}, made));
    BOOST_TEST(!selects({"orig-zone=4"}, made));
}

BOOST_AUTO_TEST_CASE(the_stable_part_lets_through_whatever_a_flow_becomes) {
    const Filter filter = parse_filter({"udp", "src=198.18.0.0/24", "mark=9", "status=assured",
                                        "state=SYN_SENT", "helper=sip", "label=1", "secctx=x"})
                              .value();
    BOOST_TEST(!matches(filter, entry()));
    BOOST_TEST(matches(stable_part(filter), entry()));
    BOOST_TEST(!matches(stable_part(parse_filter({"tcp", "mark=9"}).value()), entry()));
}

BOOST_AUTO_TEST_CASE(prefixes_of_any_length_match_bit_by_bit) {
    Entry made = entry();
    made.original.source.address = frame::parse_ip("198.18.0.129").value();
    BOOST_TEST(selects({"src=198.18.0.128/25"}, made));
    BOOST_TEST(!selects({"src=198.18.0.0/25"}, made));
    made.original.source.address = frame::parse_ip("198.18.0.193").value();
    BOOST_TEST(selects({"src=198.18.0.128/25"}, made));
    BOOST_TEST(!selects({"src=198.18.0.128/26"}, made));
    BOOST_TEST(selects({"src=0.0.0.0/0"}, made));
    BOOST_TEST(!selects({"src=::/0"}, made));
    made.original.source.address = frame::parse_ip("2001:db8::1").value();
    BOOST_TEST(selects({"src=2001:db8::/33"}, made));
    BOOST_TEST(!selects({"src=2001:db8:8000::/33"}, made));
    BOOST_TEST(selects({"src=2001:db8::1/128"}, made));
}

BOOST_AUTO_TEST_CASE(unknown_words_are_named_with_those_allowed) {
    BOOST_TEST(refusal({"udp", "dprt=53"}).find("'dprt=53'; allowed are family=, proto=") !=
               std::string::npos);
    BOOST_TEST(refusal({"quic"}).find("unknown filter word 'quic'") != std::string::npos);
    BOOST_TEST(refusal({"proto=quic"}).find("allowed are tcp, udp") != std::string::npos);
    BOOST_TEST(refusal({"status=sleepy"}).find("allowed are expected, seen_reply") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(values_that_cannot_be_are_refused) {
    for (const char* word : {"sport=65536",
                             "dport=",
                             "port=-1",
                             "port=1x",
                             "zone=70000",
                             "src=198.18.0",
                             "src=",
                             "src=198.18.0.0/33",
                             "src=198.18.0.0/",
                             "src=2001:db8::/129",
                             "mark=",
                             "mark=1/",
                             "mark=0x100000000",
                             "mark=0x11/0x10",
                             "status=",
                             "status=assured,",
                             "family=ipx",
                             "proto=",
                             "status=assured,!assured",
                             "icmp-type=256",
                             "icmp-id=65536",
                             "orig-zone=",
                             "dst-nat=",
                             "src-nat=198.18.0",
                             "id=4294967296",
                             "state=",
                             "state=sleepy",
                             "helper=",
                             "label=128",
                             "label=",
                             ""}) {
        BOOST_TEST(refusal({word}).find(fmt::format("'{}'", word)) != std::string::npos, word);
    }
    BOOST_TEST(!refusal({"status=assured", "status=!assured"}).empty());
}

BOOST_AUTO_TEST_CASE(help_has_a_line_for_each_word) {
    const std::string help = filter_help();
    for (const char* word : {"src=", "reply-sport=", "mark=", "status="}) {
        BOOST_TEST(help.find(word) != std::string::npos);
    }
}
