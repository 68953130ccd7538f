#include "dataplane/traffic/responder.h"

#include <boost/test/unit_test.hpp>

#include "tests/traffic/frames.h"

BOOST_AUTO_TEST_SUITE(responder_room)

using namespace pathproof;
using namespace pathproof::traffic;
using namespace std::chrono_literals;

namespace {

constexpr std::uint16_t kA = frame::kDnsTypeA;
constexpr std::uint16_t kAaaa = frame::kDnsTypeAaaa;

Responder responder(std::vector<AnswerRule> rules, std::size_t pending = 64,
                    std::uint64_t seed = 1) {
    auto made = Responder::make({.rules = std::move(rules),
                                 .seed = seed,
                                 .tunnel_ports = {4789},
                                 .pending = pending,
                                 .numbered_queries = 100,
                                 .suffix = frame::DnsName::from_text("pathproof.test").value(),
                                 .keep_bad_frames = 4});
    BOOST_REQUIRE_MESSAGE(made, made.error().message);
    return std::move(*made);
}

// Takes off the answer that leaves next.
Frame next(Responder& responder) {
    BOOST_REQUIRE(responder.next_due());
    const frame::Bytes bytes = responder.next_answer();
    const Frame frame(bytes.begin(), bytes.end());
    responder.take_off(Responder::Outcome::kSent);
    return frame;
}

Frame answer_to(Responder& responder, const Frame& query) {
    responder.take(query, 0);
    return next(responder);
}

const AnswerRule kAddress{.addresses = {ip_of("192.0.2.53"), ip_of("2001:db8::53")}};

}  // namespace

BOOST_AUTO_TEST_CASE(an_answer_goes_back_the_way_the_query_came_with_right_checksums) {
    Responder server = responder({kAddress});
    for (const frame::Family family : {frame::Family::kIpv4, frame::Family::kIpv6}) {
        const frame::FrameSpec spec = plain_spec(family);
        const ReadFrame answer = read_frame(answer_to(server, query_frame(spec, kA, 7, 0xbeef)));
        BOOST_TEST((answer.view.outer.source_endpoint() == spec.packet.destination));
        BOOST_TEST((answer.view.outer.destination_endpoint() == spec.packet.source));
        BOOST_TEST(answer.header.id == 0xbeef);
        BOOST_TEST(answer.header.response);
        BOOST_TEST(*answer.sequence == 7u);
        BOOST_TEST((answer.addresses == std::vector{ip_of("192.0.2.53")}));
    }
}

BOOST_AUTO_TEST_CASE(ethernet_addresses_are_exchanged) {
    Responder server = responder({kAddress});
    const Frame query = query_frame(plain_spec(), kA);
    const Frame answer = answer_to(server, query);
    BOOST_TEST(std::equal(answer.begin(), answer.begin() + 6, query.begin() + 6));
    BOOST_TEST(std::equal(answer.begin() + 6, answer.begin() + 12, query.begin()));
}

BOOST_AUTO_TEST_CASE(the_type_of_the_question_chooses_the_addresses) {
    Responder server = responder({kAddress});
    const ReadFrame answer = read_frame(answer_to(server, query_frame(plain_spec(), kAaaa)));
    BOOST_TEST((answer.addresses == std::vector{ip_of("2001:db8::53")}));
}

// NODATA (RFC 2308 section 2.2).
BOOST_AUTO_TEST_CASE(a_type_without_data_gets_noerror_and_no_records_as_its_rule_is_read) {
    Responder server = responder({kAddress});
    const auto rules = expectations(std::vector{kAddress}).value();
    for (const std::uint16_t type :
         std::initializer_list<std::uint16_t>{2, 5, 15, 16, 33, 65, 255}) {
        const Frame frame = answer_to(server, query_frame(plain_spec(), type));
        const ReadFrame answer = read_frame(frame);
        BOOST_TEST(answer.header.rcode == 0u);
        BOOST_TEST(answer.records.empty(), "type " << type);
        frame::DnsReader reader(frame::Bytes(frame).subspan(message_offset(frame)));
        BOOST_TEST(judge::as_expected(reader, *reader.next_question(), &rules[0]), "type " << type);
    }
}

BOOST_AUTO_TEST_CASE(data_of_a_type_that_has_none_is_not_as_expected) {
    Frame frame = query_frame(plain_spec(), kAaaa);
    Responder server = responder({kAddress});
    frame = answer_to(server, frame);
    const auto rules = expectations(std::vector{kAddress}).value();
    const std::size_t at = message_offset(frame);
    // An MX question, answered with the 16 bytes of an address.
    const std::size_t name = at + frame::kDnsHeaderBytes;
    const std::size_t type = name + 10 + std::string("pathproof.test").size() + 1 + 1 + 1;
    BOOST_REQUIRE(frame[type] == kAaaa);
    for (const std::size_t where : {type, type + 6}) {
        frame[where] = 15;
    }
    frame::DnsReader reader(frame::Bytes(frame).subspan(at));
    const auto question = reader.next_question();
    BOOST_REQUIRE(question);
    BOOST_TEST(question->type == 15u);
    BOOST_TEST(!judge::as_expected(reader, *question, &rules[0]));
}

BOOST_AUTO_TEST_CASE(another_class_than_in_is_refused) {
    Responder server = responder({kAddress});
    Frame query = query_frame(plain_spec(), kA);
    for (const std::uint8_t query_class : std::initializer_list<std::uint8_t>{3, 4, 254, 255}) {
        query.back() = query_class;
        mend_checksums(query);
        const ReadFrame answer = read_frame(answer_to(server, query));
        BOOST_TEST(answer.header.rcode == 5u);
        BOOST_TEST(answer.records.empty());
    }
}

BOOST_AUTO_TEST_CASE(vlan_tags_are_kept) {
    Responder server = responder({kAddress});
    frame::FrameSpec spec = plain_spec();
    spec.packet.vlans = 2;
    spec.packet.vlan = {frame::VlanTag{0x88a8, 100}, frame::VlanTag{0x8100, 0x6007}};
    const ReadFrame answer = read_frame(answer_to(server, query_frame(spec, kA)));
    BOOST_TEST(answer.view.outer.vlans == 2);
    BOOST_TEST(answer.view.outer.vlan[0] == 100);
    BOOST_TEST(answer.view.outer.vlan[1] == 0x6007);
}

BOOST_AUTO_TEST_CASE(a_carried_query_is_answered_in_its_envelope_to_the_tunnel_port) {
    Responder server = responder({kAddress});
    const ReadFrame answer = read_frame(answer_to(server, query_frame(carried_spec(), kA)));
    BOOST_REQUIRE(answer.view.has_inner);
    BOOST_TEST(answer.view.vni == 42u);
    BOOST_TEST((answer.view.outer.source_endpoint() == endpoint("198.51.100.2:5000")));
    BOOST_TEST((answer.view.outer.destination_endpoint() == endpoint("198.51.100.1:4789")));
    BOOST_TEST((answer.view.inner.source_endpoint() == endpoint("203.0.113.2:53")));
}

BOOST_AUTO_TEST_CASE(an_outer_checksum_that_is_off_stays_off) {
    Responder server = responder({kAddress});
    frame::FrameSpec spec = carried_spec();
    spec.tunnel->outer.transport_checksum = frame::ChecksumMode::kZero;
    const Frame answer = answer_to(server, query_frame(spec, kA));
    const ReadFrame read = read_frame(answer);
    const std::size_t field = read.view.outer.transport_offset + 6;
    BOOST_TEST(answer[field] == 0);
    BOOST_TEST(answer[field + 1] == 0);
}

BOOST_AUTO_TEST_CASE(the_first_rule_that_fits_counts) {
    Responder server = responder({{.suffix = "q00000001.pathproof.test", .rcode = 3},
                                  {.suffix = "pathproof.test", .qtype = kAaaa},
                                  {.suffix = "PathProof.TEST", .addresses = {ip_of("192.0.2.1")}}});
    BOOST_TEST(read_frame(answer_to(server, query_frame(plain_spec(), kA, 1))).header.rcode == 3);
    const ReadFrame empty = read_frame(answer_to(server, query_frame(plain_spec(), kAaaa, 2)));
    BOOST_TEST(empty.header.rcode == 0);
    BOOST_TEST(empty.records.empty());
    const ReadFrame third = read_frame(answer_to(server, query_frame(plain_spec(), kA, 2)));
    BOOST_TEST((third.addresses == std::vector{ip_of("192.0.2.1")}));
}

BOOST_AUTO_TEST_CASE(a_query_without_a_rule_is_refused) {
    Responder server = responder({{.suffix = "example.org"}});
    BOOST_TEST(read_frame(answer_to(server, query_frame(plain_spec(), kA))).header.rcode == 5);
}

BOOST_AUTO_TEST_CASE(a_cname_stands_before_the_addresses) {
    Responder server = responder(
        {{.addresses = {ip_of("192.0.2.1"), ip_of("192.0.2.2")}, .cname = "www.example.org"}});
    const ReadFrame answer = read_frame(answer_to(server, query_frame(plain_spec(), kA)));
    BOOST_TEST(answer.cname.value_or("") == "www.example.org");
    BOOST_TEST(answer.addresses.size() == 2u);
    BOOST_TEST(answer.records.front().type == frame::kDnsTypeCname);
}

BOOST_AUTO_TEST_CASE(a_truncated_answer_has_no_records) {
    Responder server = responder({{.addresses = {ip_of("192.0.2.1")}, .truncated = true}});
    const ReadFrame answer = read_frame(answer_to(server, query_frame(plain_spec(), kA)));
    BOOST_TEST(answer.header.truncated);
    BOOST_TEST(answer.records.empty());
}

BOOST_AUTO_TEST_CASE(answers_leave_when_their_own_rule_says) {
    Responder server = responder({{.qtype = kA, .delay = 10s}, {.qtype = kAaaa, .delay = 1ms}});
    server.take(query_frame(plain_spec(), kA, 0), 0);
    server.take(query_frame(plain_spec(), kAaaa, 1), 500'000);
    server.take(query_frame(plain_spec(), kAaaa, 2), 500'000);
    BOOST_TEST(server.waiting() == 3u);
    BOOST_TEST(*server.next_due() == 1'500'000);
    BOOST_TEST(*read_frame(next(server)).sequence == 1u);
    BOOST_TEST(*read_frame(next(server)).sequence == 2u);
    BOOST_TEST(*server.next_due() == 10'000'000'000);
    BOOST_TEST(*read_frame(next(server)).sequence == 0u);
    BOOST_TEST(!server.next_due());
}

BOOST_AUTO_TEST_CASE(losses_come_from_the_seed_and_balance) {
    const auto lost = [](std::uint64_t seed) {
        Responder server = responder({{.loss = 0.25}}, 2000, seed);
        for (std::uint32_t n = 0; n < 2000; ++n) {
            server.take(query_frame(plain_spec(), kA, n), 0);
        }
        const ResponderCounts& counts = server.counts();
        BOOST_TEST(counts.queries == 2000u);
        BOOST_TEST(counts.lost_on_purpose + server.waiting() == 2000u);
        return counts.lost_on_purpose;
    };
    BOOST_TEST(lost(5) == lost(5));
    BOOST_TEST(lost(5) != lost(6));
    // Five standard deviations of a binomial with n = 2000, p = 0.25 are 97.
    BOOST_TEST(std::abs(static_cast<double>(lost(7)) - 500.0) < 97.0);
}

BOOST_AUTO_TEST_CASE(queries_beyond_its_memory_are_counted_and_memory_comes_back) {
    Responder server = responder({{.delay = 1s}}, 3);
    for (std::uint32_t n = 0; n < 5; ++n) {
        server.take(query_frame(plain_spec(), kA, n), 0);
    }
    BOOST_TEST(server.counts().no_room == 2u);
    next(server);
    server.take(query_frame(plain_spec(), kA, 9), 0);
    BOOST_TEST(server.waiting() == 3u);
    BOOST_TEST(server.counts().no_room == 2u);
}

BOOST_AUTO_TEST_CASE(it_notes_where_a_numbered_query_arrived_and_how_often) {
    Responder server = responder({kAddress});
    server.take(query_frame(plain_spec(), kA, 3), 0);
    server.take(query_frame(plain_spec(), kA, 3), 0);
    server.take(query_frame(plain_spec(), kA, 100), 0);  // beyond the numbered ones
    const Arrival& arrival = server.arrivals()[3];
    BOOST_TEST(arrival.copies == 2);
    BOOST_TEST((arrival.server == endpoint("203.0.113.2:53")));
    BOOST_TEST((arrival.client == endpoint("198.18.0.1:10000")));
    BOOST_TEST(server.arrivals()[4].copies == 0);
    BOOST_TEST(server.counts().queries == 3u);
}

BOOST_AUTO_TEST_CASE(a_query_with_a_wrong_checksum_is_kept_and_not_answered) {
    Responder server = responder({kAddress});
    frame::FrameSpec spec = plain_spec();
    spec.packet.transport_checksum = frame::ChecksumMode::kPlusOne;
    server.take(query_frame(spec, kA), 77);
    BOOST_TEST(!server.next_due());
    BOOST_TEST(server.intake().tally().bad_checksum == 1u);
    BOOST_TEST(server.intake().tally().balances());
    const auto kept = server.intake().take_bad_frames();
    BOOST_REQUIRE(kept.size() == 1u);
    BOOST_TEST(kept[0].time_ns == 77);
    BOOST_TEST((kept[0].finding.state == judge::ChecksumState::kBad));
}

BOOST_AUTO_TEST_CASE(what_is_no_query_is_counted_once_and_never_answered) {
    Responder server = responder({kAddress});
    const Frame query = query_frame(plain_spec(), kA);
    Frame response = query;
    response[message_offset(query) + 2] |= 0x80;
    mend_checksums(response);
    Frame update = query;
    update[message_offset(query) + 2] |= 5 << 3;  // opcode UPDATE
    mend_checksums(update);
    Frame arp(60, 0);
    arp[12] = 0x08;
    arp[13] = 0x06;
    for (const Frame& frame : {response, update, arp}) {
        server.take(frame, 0);
    }
    BOOST_TEST(!server.next_due());
    BOOST_TEST(server.intake().tally().other_traffic == 3u);
    BOOST_TEST(server.intake().tally().balances());
}

BOOST_AUTO_TEST_CASE(a_query_cut_anywhere_is_counted_and_does_no_harm) {
    Responder server = responder({kAddress}, 256);
    const Frame query = query_frame(carried_spec(), kA);
    for (std::size_t size = 0; size < query.size(); ++size) {
        // A block of its own for each length: a read beyond it is seen by the sanitizer.
        server.take(Frame(query.begin(), query.begin() + static_cast<std::ptrdiff_t>(size)), 0);
    }
    BOOST_TEST(server.intake().tally().received == query.size());
    BOOST_TEST(server.intake().tally().balances());
    BOOST_TEST(server.counts().queries == 0u);
}

BOOST_AUTO_TEST_CASE(an_answer_that_is_too_long_for_udp_says_so_with_tc) {
    std::vector<frame::IpAddress> many;
    for (std::uint32_t n = 0; n < 60; ++n) {
        many.push_back(ip_of("192.0.2.1").plus(n));
    }
    Responder server = responder({{.addresses = many}});
    const ReadFrame answer = read_frame(answer_to(server, query_frame(plain_spec(), kA)));
    BOOST_TEST(answer.header.truncated);
}

BOOST_AUTO_TEST_CASE(rules_out_of_range_are_refused_by_name) {
    const auto refused = [](const AnswerRule& rule, const std::string& word) {
        const auto made = expectations(std::vector{AnswerRule{}, rule});
        BOOST_REQUIRE(!made);
        BOOST_TEST(made.error().message.find("rule 2") != std::string::npos);
        BOOST_TEST(made.error().message.find(word) != std::string::npos, made.error().message);
    };
    refused({.rcode = 16}, "rcode");
    refused({.delay = 11s}, "delay");
    refused({.delay = -1ns}, "delay");
    refused({.loss = 1.5}, "loss");
    refused({.suffix = "a..b"}, "suffix");
    refused({.cname = std::string(64, 'x')}, "CNAME");
}

BOOST_AUTO_TEST_SUITE_END()
