#include "dataplane/judge/ledger.h"

#include <array>
#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(ledgers)

using namespace pathproof;
using namespace pathproof::judge;

namespace {

frame::IpAddress ip(const char* text) {
    return frame::parse_ip(text).value();
}

const frame::Endpoint kService = frame::parse_endpoint("203.0.113.2:53").value();
const frame::Endpoint kElsewhere = frame::parse_endpoint("203.0.113.9:53").value();
const frame::IpAddress kAddress = ip("192.0.2.53");

// Query n: id 1000 + n, type A, from 198.18.0.1, port 10000 + n.
class TenQueries : public QueryBook {
  public:
    std::uint64_t queries() const noexcept override { return 10; }
    QueryFacts query(std::uint64_t number) const noexcept override {
        const auto n = static_cast<std::uint16_t>(number);
        return {.client = {client_, static_cast<std::uint16_t>(10'000 + n)},
                .id = static_cast<std::uint16_t>(1000 + n),
                .qtype = frame::kDnsTypeA};
    }
    const frame::DnsName& suffix() const noexcept override { return suffix_; }

  private:
    frame::IpAddress client_ = ip("198.18.0.1");
    frame::DnsName suffix_ = frame::DnsName::from_text("pathproof.test").value();
};

struct Said {
    std::uint32_t number = 0;
    std::uint16_t id_offset = 1000;
    std::uint16_t type = frame::kDnsTypeA;
    std::string suffix = "pathproof.test";
    frame::DnsAnswer content{.addresses = {&kAddress, 1}};
    frame::Endpoint source = kService;
    std::uint16_t port_offset = 10'000;
};

class Message {
  public:
    explicit Message(const Said& said) : said_(said) {
        const auto n = static_cast<std::uint16_t>(said.number);
        std::array<std::uint8_t, 512> query;
        const std::size_t size = frame::write_query(
            query, {.id = static_cast<std::uint16_t>(said.id_offset + n),
                    .name = frame::sequence_name(said.number, said.suffix).value(),
                    .type = said.type});
        size_ = frame::write_answer(bytes_, std::span(query).first(size), said.content);
        BOOST_REQUIRE(size_ > 0);
    }
    Datagram datagram() const {
        return {.source = said_.source,
                .destination = {ip("198.18.0.1"),
                                static_cast<std::uint16_t>(said_.port_offset + said_.number)},
                .payload = std::span(bytes_).first(size_)};
    }
    std::span<std::uint8_t> bytes() { return std::span(bytes_).first(size_); }

  private:
    Said said_;
    std::array<std::uint8_t, 512> bytes_{};
    std::size_t size_ = 0;
};

struct Bench {
    TenQueries book;
    Ledger ledger{book, kService, {{{.addresses = {kAddress, ip("2001:db8::1")}}}}};

    AnswerKind take(const Said& said, std::int64_t now_ns = 100) {
        return ledger.take(Message(said).datagram(), now_ns);
    }
    QueryRecord record(std::uint64_t number, std::int64_t timeout_ns = 1000) const {
        QueryRecord record;
        ledger.fill(record, number, 0, timeout_ns);
        return record;
    }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(ledger)

BOOST_AUTO_TEST_CASE(an_answer_with_all_right_settles_its_query_and_no_other) {
    Bench bench;
    BOOST_TEST((bench.take({.number = 4}) == AnswerKind::kRight));
    BOOST_TEST((bench.record(4).state == QueryState::kAnswered));
    BOOST_TEST((bench.record(4).answer_source == kService));
    BOOST_TEST(bench.record(4).answered_ns == 100);
    BOOST_TEST((bench.record(3).state == QueryState::kNever));
    BOOST_TEST(bench.ledger.settled() == 1u);
}

BOOST_AUTO_TEST_CASE(each_thing_that_can_be_wrong_is_wrong) {
    const frame::IpAddress other = ip("192.0.2.54");
    const std::array<frame::IpAddress, 2> twice{kAddress, kAddress};
    const frame::DnsName cname = frame::DnsName::from_text("www.example.org").value();
    const std::vector<Said> all = {
        {.number = 1, .id_offset = 1001},
        {.number = 1, .type = frame::kDnsTypeAaaa},
        {.number = 1, .port_offset = 10'001},
        {.number = 1, .content = {.rcode = frame::Rcode::kNxDomain}},
        {.number = 1, .content = {.truncated = true}},
        {.number = 1, .content = {}},
        {.number = 1, .content = {.addresses = {&other, 1}}},
        {.number = 1, .content = {.addresses = twice}},
        {.number = 1, .content = {.cname = &cname, .addresses = {&kAddress, 1}}},
    };
    for (std::size_t n = 0; n < all.size(); ++n) {
        Bench bench;
        BOOST_TEST((bench.take(all[n]) == AnswerKind::kWrong), "case " << n);
        BOOST_TEST((bench.record(1).state == QueryState::kWrong), "case " << n);
    }
}

BOOST_AUTO_TEST_CASE(what_is_no_answer_to_one_of_our_queries_is_not_ours) {
    Bench bench;
    BOOST_TEST((bench.take({.number = 10}) == AnswerKind::kNotOurs));
    BOOST_TEST((bench.take({.number = 1, .suffix = "example.org"}) == AnswerKind::kNotOurs));
    Message query({.number = 1});
    query.bytes()[2] &= 0x7f;
    BOOST_TEST((bench.ledger.take(query.datagram(), 0) == AnswerKind::kNotOurs));
    BOOST_TEST((bench.ledger.take({.source = kService}, 0) == AnswerKind::kNotOurs));
}

BOOST_AUTO_TEST_CASE(a_right_answer_from_elsewhere_is_misdelivered_until_the_right_one_comes) {
    Bench bench;
    BOOST_TEST((bench.take({.number = 2, .source = kElsewhere}) == AnswerKind::kWrongSource));
    BOOST_TEST((bench.record(2).state == QueryState::kWrongSource));
    BOOST_TEST((bench.record(2).answer_source == kElsewhere));
    BOOST_TEST((bench.take({.number = 2}, 200) == AnswerKind::kRight));
    BOOST_TEST((bench.record(2).state == QueryState::kAnswered));
    BOOST_TEST(bench.record(2).answered_ns == 200);
    BOOST_TEST(bench.record(2).duplicates == 1);
    BOOST_TEST((bench.take({.number = 2, .source = kElsewhere}, 300) == AnswerKind::kFurther));
    BOOST_TEST((bench.record(2).answer_source == kService));
    BOOST_TEST(bench.record(2).duplicates == 2);
}

BOOST_AUTO_TEST_CASE(answers_beyond_the_timeout_are_late) {
    Bench bench;
    bench.take({.number = 0}, 1000);
    bench.take({.number = 1}, 1001);
    BOOST_TEST((bench.record(0).state == QueryState::kAnswered));
    BOOST_TEST((bench.record(1).state == QueryState::kLate));
}

BOOST_AUTO_TEST_CASE(without_rules_any_content_is_right) {
    TenQueries book;
    Ledger ledger(book, kService, std::nullopt);
    const Message message({.number = 1, .content = {.rcode = frame::Rcode::kServFail}});
    BOOST_TEST((ledger.take(message.datagram(), 0) == AnswerKind::kRight));
}

BOOST_AUTO_TEST_CASE(a_question_without_a_rule_expects_refused) {
    TenQueries book;
    Ledger ledger(book, kService, std::vector<Expectation>());
    const Message refused({.number = 1, .content = {.rcode = frame::Rcode::kRefused}});
    const Message answered({.number = 2});
    BOOST_TEST((ledger.take(refused.datagram(), 0) == AnswerKind::kRight));
    BOOST_TEST((ledger.take(answered.datagram(), 0) == AnswerKind::kWrong));
}

BOOST_AUTO_TEST_CASE(an_expected_cname_must_be_there_and_lead_where_it_should) {
    const frame::DnsName wanted = frame::DnsName::from_text("www.example.org").value();
    const frame::DnsName other = frame::DnsName::from_text("www.example.com").value();
    TenQueries book;
    Ledger ledger(book, kService, {{{.cname = wanted, .addresses = {kAddress}}}});
    const auto take = [&](std::uint32_t number, const frame::DnsName* cname) {
        const Message message(
            {.number = number, .content = {.cname = cname, .addresses = {&kAddress, 1}}});
        return ledger.take(message.datagram(), 0);
    };
    BOOST_TEST((take(1, &wanted) == AnswerKind::kRight));
    BOOST_TEST((take(2, &other) == AnswerKind::kWrong));
    BOOST_TEST((take(3, nullptr) == AnswerKind::kWrong));
}

BOOST_AUTO_TEST_CASE(records_count_every_query_once_and_every_answer_once) {
    Bench bench;
    bench.take({.number = 0}, 50);
    bench.take({.number = 0}, 60);
    bench.take({.number = 1}, 5000);
    bench.take({.number = 2, .source = kElsewhere});
    bench.take({.number = 3, .id_offset = 7});
    std::array<std::uint64_t, kQueryStates> states{};
    unsigned further = 0;
    for (std::uint64_t number = 0; number < 10; ++number) {
        QueryRecord record;
        bench.ledger.fill(record, number, 0, 1000);
        ++states[static_cast<std::size_t>(record.state)];
        further += record.duplicates;
    }
    const std::array<std::uint64_t, kQueryStates> expected{1, 1, 1, 1, 6};
    BOOST_TEST(states == expected, boost::test_tools::per_element());
    BOOST_TEST(further == 1u);
}

BOOST_AUTO_TEST_CASE(a_cut_answer_does_no_harm) {
    Bench bench;
    Message whole({.number = 1});
    for (std::size_t size = 0; size < whole.bytes().size(); ++size) {
        // A block of its own for each length: a read beyond it is seen by the sanitizer.
        const std::vector<std::uint8_t> cut(whole.bytes().begin(),
                                            whole.bytes().begin() + static_cast<long>(size));
        const Datagram datagram{whole.datagram().source, whole.datagram().destination, cut};
        BOOST_TEST((bench.ledger.take(datagram, 0) != AnswerKind::kRight));
    }
    BOOST_TEST(bench.ledger.settled() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(audit)

namespace {

// A run of two pairs: three answers, one of them twice, one query never answered.
PairReport sound_report() {
    PairReport report;
    for (std::uint32_t n = 0; n < 4; ++n) {
        QueryRecord record{.pair = n / 2, .member = static_cast<std::uint8_t>(n % 2)};
        record.sent_ns = 10 * n;
        if (n != 3) {
            record.state = QueryState::kAnswered;
            record.answered_ns = 10 * n + 5;
            record.server_saw = 1;
        }
        report.records.push_back(record);
    }
    report.records[1].duplicates = 1;
    report.departures.sent = 4;
    report.client = {.received = 6, .answers = 4, .bad_checksum = 1, .other_traffic = 1};
    report.server = {.received = 3, .answers = 3};
    constexpr auto kBad = static_cast<std::size_t>(ChecksumState::kBad);
    report.checksums[0][kBad] = 1;
    return report;
}

template <typename Change>
void spoiled(Change change, const std::string& word) {
    PairReport report = sound_report();
    change(report);
    const auto findings = pathproof::judge::audit(report);
    BOOST_REQUIRE_MESSAGE(!findings.empty(), "not noticed: " << word);
    BOOST_TEST(findings.front().find(word) != std::string::npos, findings.front());
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_sound_report_has_no_finding) {
    const auto findings = pathproof::judge::audit(sound_report());
    BOOST_TEST(findings.empty(), (findings.empty() ? "" : findings.front()));
}

BOOST_AUTO_TEST_CASE(every_total_that_does_not_agree_is_noticed) {
    spoiled([](PairReport& r) { r.records[2].member = 1; }, "speaks of");
    spoiled([](PairReport& r) { std::swap(r.records[0], r.records[1]); }, "speaks of");
    spoiled([](PairReport& r) { r.records[0].answered_ns = -1; }, "contradict");
    spoiled([](PairReport& r) { r.records[1].answered_ns = 9; }, "contradict");
    spoiled([](PairReport& r) { r.records[3].answered_ns = 99; }, "contradict");
    spoiled([](PairReport& r) { r.records[0].sent_ns = -1; }, "contradict");
    spoiled([](PairReport& r) { r.departures.sent = 5; }, "departures");
    spoiled([](PairReport& r) { r.departures.refused = 1; }, "refused");
    spoiled([](PairReport& r) { r.records[1].duplicates = 0; }, "4");
    spoiled([](PairReport& r) { r.records[0].server_saw = 2; }, "responder saw 4");
    spoiled([](PairReport& r) { ++r.client.received; }, "client frames");
    spoiled([](PairReport& r) { ++r.server.malformed; }, "server frames");
    spoiled([](PairReport& r) { r.client.icmp_errors = 2; }, "ICMP");
    spoiled([](PairReport& r) { r.checksums = {}; }, "wrong checksums");
}

BOOST_AUTO_TEST_CASE(a_saturated_record_is_no_imbalance) {
    PairReport report = sound_report();
    report.records[1].duplicates = 255;
    report.client.answers += 1000;
    report.client.received += 1000;
    BOOST_TEST(pathproof::judge::audit(report).empty());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
