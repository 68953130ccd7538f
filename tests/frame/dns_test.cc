#include "dataplane/frame/dns.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <memory>

#include "tests/frame/raw.h"

BOOST_AUTO_TEST_SUITE(dns_messages)

using namespace pathproof;
using namespace pathproof::frame;
using raw::Octets;

namespace {

DnsName name_of(const char* text) {
    const auto name = DnsName::from_text(text);
    BOOST_REQUIRE_MESSAGE(name, name.error().message);
    return *name;
}

// Labels with their lengths, not ended.
Octets labels(std::initializer_list<const char*> parts) {
    Octets out;
    for (const std::string part : parts) {
        out.push_back(static_cast<std::uint8_t>(part.size()));
        raw::append(out, raw::text(part));
    }
    return out;
}

Octets header(std::uint16_t flags, std::uint16_t questions, std::uint16_t answers) {
    Octets out;
    for (const std::uint16_t word :
         {std::uint16_t{0x1234}, flags, questions, answers, std::uint16_t{0}, std::uint16_t{0}}) {
        raw::put16(out, word);
    }
    return out;
}

Octets query_for(const char* text, std::uint16_t type, std::uint16_t id = 0x1234) {
    Octets out(512);
    out.resize(write_query(out, {.id = id, .name = name_of(text), .type = type}));
    BOOST_REQUIRE(!out.empty());
    return out;
}

Octets answer_to(const Octets& query, const DnsAnswer& answer, std::size_t room = 512) {
    Octets out(room);
    out.resize(write_answer(out, query, answer));
    return out;
}

DnsDefect defect_of(const Octets& message) {
    DnsReader reader(message);
    while (reader.next_record()) {
    }
    return reader.defect();
}

const IpAddress kAddress = IpAddress::v4(0xcb007101);  // 203.0.113.1

}  // namespace

BOOST_AUTO_TEST_CASE(names_survive_text_and_wire) {
    for (const char* text : {".", "a", "www.example.test", "_dns.tcp-1.example",
                             "back\\092slash.sp\\032ace", "dot\\046inside.test", "\\000\\255.x"}) {
        BOOST_TEST(name_of(text).to_text() == text);
    }
    BOOST_TEST(name_of("www.example.test.").to_text() == "www.example.test");
    BOOST_TEST(name_of("a\\.b").to_text() == "a\\046b");
    const Octets wire = raw::joined({labels({"www", "test"}), {0}});
    BOOST_TEST(std::ranges::equal(name_of("www.test").wire(), wire));
}

BOOST_AUTO_TEST_CASE(names_over_the_limits_are_refused) {
    const std::string label(63, 'a');
    BOOST_TEST(DnsName::from_text(label).has_value());
    BOOST_TEST(!DnsName::from_text(label + "a"));
    const std::string three = label + "." + label + "." + label + ".";
    BOOST_TEST(name_of((three + std::string(61, 'b')).c_str()).wire().size() == 255u);
    BOOST_TEST(!DnsName::from_text(three + std::string(62, 'b')));
    for (const char* text : {"a..b", ".a", "..", "a\\", "a\\25", "a\\256", "a\\1x3"}) {
        BOOST_TEST(!DnsName::from_text(text), text);
    }
}

BOOST_AUTO_TEST_CASE(case_does_not_count_in_names_but_bytes_do) {
    BOOST_TEST((name_of("WWW.Example.test") == name_of("www.eXAMPLE.TEST")));
    BOOST_TEST((name_of("www.example.test") != name_of("www.example.tesu")));
    BOOST_TEST((name_of("ab.c") != name_of("a.bc")));
    BOOST_TEST(
        (name_of("\\193.test") != name_of("\\225.test")));  // 0xc1 and 0xe1: no ASCII letters
    BOOST_TEST((name_of("@") != name_of("`")));             // 0x40 and 0x60 differ by 32 too
}

BOOST_AUTO_TEST_CASE(a_name_is_under_its_suffixes_by_labels) {
    const DnsName name = name_of("q1.Pathproof.test");
    for (const char* suffix : {".", "test", "pathproof.test", "q1.pathproof.TEST"}) {
        BOOST_TEST(name.is_under(name_of(suffix)), suffix);
    }
    for (const char* suffix : {"proof.test", "pathproof", "a.q1.pathproof.test", "tes"}) {
        BOOST_TEST(!name.is_under(name_of(suffix)), suffix);
    }
}

BOOST_AUTO_TEST_CASE(a_query_is_the_bytes_of_rfc_1035) {
    const Octets expected =
        raw::joined({header(0x0100, 1, 0), labels({"www", "example", "test"}), {0, 0, 28, 0, 1}});
    BOOST_TEST(query_for("www.example.test", kDnsTypeAaaa) == expected,
               boost::test_tools::per_element());
    Octets small(expected.size() - 1);
    BOOST_TEST(write_query(small, {.name = name_of("www.example.test")}) == 0u);
    Octets out(64);
    out.resize(write_query(out, {.name = name_of("a"), .recursion_desired = false}));
    BOOST_TEST(!DnsReader(out).header().recursion_desired);
}

BOOST_AUTO_TEST_CASE(an_answer_repeats_the_question_and_holds_the_addresses_of_its_family) {
    const Octets query = query_for("WwW.example.test", kDnsTypeA, 0xbeef);
    const IpAddress addresses[] = {kAddress, *parse_ip("2001:db8::1"), kAddress.plus(1)};
    const Octets message = answer_to(query, {.ttl = 77, .addresses = addresses});
    DnsReader reader(message);
    BOOST_TEST(reader.header().id == 0xbeef);
    BOOST_TEST(reader.header().response);
    BOOST_TEST(reader.header().recursion_desired);
    BOOST_TEST(reader.header().recursion_available);
    BOOST_TEST(reader.header().authoritative);
    BOOST_TEST(!reader.header().truncated);
    const auto question = reader.next_question();
    BOOST_REQUIRE(question);
    BOOST_TEST(question->name.to_text() == "WwW.example.test");
    BOOST_TEST(question->type == kDnsTypeA);
    for (const IpAddress& expected : {kAddress, kAddress.plus(1)}) {
        const auto record = reader.next_record();
        BOOST_REQUIRE(record);
        BOOST_TEST((record->name == question->name));
        BOOST_TEST(record->ttl == 77u);
        BOOST_REQUIRE(record->address());
        BOOST_TEST((*record->address() == expected));
    }
    BOOST_TEST(!reader.next_record());
    BOOST_TEST((reader.defect() == DnsDefect::kNone));
    BOOST_TEST(reader.offset() == message.size());
}

BOOST_AUTO_TEST_CASE(a_type_without_data_gets_noerror_and_no_records) {
    const IpAddress addresses[] = {kAddress, *parse_ip("2001:db8::1")};
    for (const std::uint16_t type : std::initializer_list<std::uint16_t>{2, 15, 16, 33, 65, 255}) {
        const Octets message =
            answer_to(query_for("www.example.test", type), {.addresses = addresses});
        DnsReader reader(message);
        BOOST_TEST(reader.header().rcode == 0u);
        BOOST_TEST(reader.header().answers == 0u, "type " << type);
        BOOST_TEST(!reader.header().truncated);
        BOOST_TEST(!reader.next_record());
        BOOST_TEST((reader.defect() == DnsDefect::kNone));
    }
}

BOOST_AUTO_TEST_CASE(another_class_than_in_gets_no_records) {
    const DnsName target = name_of("real.example.test");
    const IpAddress addresses[] = {kAddress};
    Octets query = query_for("www.example.test", kDnsTypeA);
    for (const std::uint8_t query_class : std::initializer_list<std::uint8_t>{3, 4, 254, 255}) {
        query.back() = query_class;
        const Octets message = answer_to(query, {.cname = &target, .addresses = addresses});
        BOOST_TEST(DnsReader(message).header().answers == 0u);
        BOOST_TEST(message.size() == query.size());
    }
}

BOOST_AUTO_TEST_CASE(a_cname_comes_first_and_owns_the_addresses) {
    const DnsName target = name_of("real.example.test");
    const IpAddress address = *parse_ip("2001:db8::53");
    const Octets message = answer_to(query_for("alias.test", kDnsTypeAaaa),
                                     {.cname = &target, .addresses = {&address, 1}});
    DnsReader reader(message);
    const auto alias = reader.next_record();
    BOOST_REQUIRE(alias);
    BOOST_TEST(alias->type == kDnsTypeCname);
    BOOST_TEST(alias->name.to_text() == "alias.test");
    BOOST_TEST((reader.name_at(alias->data_offset) == target));
    const auto record = reader.next_record();
    BOOST_REQUIRE(record);
    BOOST_TEST((record->name == target));
    BOOST_TEST((record->address() == address));
    BOOST_TEST(reader.header().answers == 2);
}

BOOST_AUTO_TEST_CASE(response_codes_and_truncation_are_told) {
    const Octets query = query_for("a.test", kDnsTypeA);
    for (const Rcode rcode : {Rcode::kServFail, Rcode::kNxDomain, Rcode::kRefused}) {
        const DnsHeader got = DnsReader(answer_to(query, {.rcode = rcode})).header();
        BOOST_TEST(got.rcode == static_cast<int>(rcode));
        BOOST_TEST(got.answers == 0);
    }
    const Octets cut = answer_to(query, {.truncated = true, .addresses = {&kAddress, 1}});
    BOOST_TEST(DnsReader(cut).header().truncated);
    BOOST_TEST(DnsReader(cut).header().answers == 0);
}

BOOST_AUTO_TEST_CASE(records_that_do_not_fit_are_left_out_and_tc_says_so) {
    const Octets query = query_for("a.test", kDnsTypeA);
    const IpAddress addresses[] = {kAddress, kAddress, kAddress};
    const DnsAnswer answer{.addresses = addresses};
    const std::size_t whole = answer_to(query, answer).size();
    BOOST_TEST(whole == query.size() + 3 * 16);
    const Octets two = answer_to(query, answer, whole - 1);
    BOOST_TEST(DnsReader(two).header().answers == 2);
    BOOST_TEST(DnsReader(two).header().truncated);
    BOOST_TEST(two.size() == query.size() + 32);
    BOOST_TEST((defect_of(two) == DnsDefect::kNone));
    BOOST_TEST(answer_to(query, answer, query.size() - 1).empty());
    BOOST_TEST(answer_to(Octets(12), answer).empty());
    BOOST_TEST(answer_to(Octets(5), answer).empty());
}

BOOST_AUTO_TEST_CASE(compressed_names_are_read) {
    // RFC 1035 section 4.1.4's example: F.ISI.ARPA, then FOO pointing at it.
    Octets message = raw::joined({header(0x8000, 2, 0),
                                  labels({"F", "ISI", "ARPA"}),
                                  {0, 0, 1, 0, 1},
                                  labels({"FOO"}),
                                  {0xc0, 12, 0, 1, 0, 1}});
    DnsReader reader(message);
    BOOST_TEST(reader.next_question()->name.to_text() == "F.ISI.ARPA");
    BOOST_TEST(reader.next_question()->name.to_text() == "FOO.F.ISI.ARPA");
    BOOST_TEST(!reader.next_question());
    BOOST_TEST((reader.defect() == DnsDefect::kNone));
    BOOST_TEST(reader.offset() == message.size());
}

BOOST_AUTO_TEST_CASE(pointers_that_do_not_lead_backwards_are_refused) {
    const auto with_name = [](const Octets& name) {
        return defect_of(raw::joined({header(0, 1, 0), name, {0, 1, 0, 1}}));
    };
    BOOST_TEST((with_name({0xc0, 12}) == DnsDefect::kBadPointer));          // itself
    BOOST_TEST((with_name({0xc0, 14, 0}) == DnsDefect::kBadPointer));       // forwards
    BOOST_TEST((with_name({0xc0, 2}) == DnsDefect::kBadPointer));           // the header
    BOOST_TEST((with_name({1, 'a', 0xc0, 12}) == DnsDefect::kBadPointer));  // its own start: a loop
    BOOST_TEST((with_name({0x40, 1, 0}) == DnsDefect::kBadLabel));
    BOOST_TEST((with_name({0x80, 1, 0}) == DnsDefect::kBadLabel));
    // Two names that point at each other.
    BOOST_TEST((defect_of(raw::joined(
                    {header(0, 2, 0), {1, 'a', 0, 0, 1, 0, 1}, {1, 'b', 0xc0, 19, 0, 1, 0, 1}})) ==
                DnsDefect::kBadPointer));
}

BOOST_AUTO_TEST_CASE(a_name_grown_by_pointers_over_255_bytes_is_refused) {
    const std::string label(63, 'x');
    const Octets long_part = labels({label.c_str(), label.c_str(), label.c_str()});
    const auto read = [&](std::size_t rest) {
        const std::string tail(rest, 'y');
        return defect_of(raw::joined({header(0, 2, 0),
                                      long_part,
                                      {0, 0, 1, 0, 1},
                                      labels({tail.c_str()}),
                                      {0xc0, 12, 0, 1, 0, 1}}));
    };
    BOOST_TEST((read(61) == DnsDefect::kNone));
    BOOST_TEST((read(62) == DnsDefect::kLongName));
}

BOOST_AUTO_TEST_CASE(every_truncation_is_noticed) {
    const DnsName target = name_of("real.example.test");
    const IpAddress addresses[] = {kAddress, kAddress.plus(1)};
    const Octets message =
        answer_to(query_for("alias.test", kDnsTypeA), {.cname = &target, .addresses = addresses});
    for (std::size_t length = 0; length < message.size(); ++length) {
        const auto block = std::make_unique<std::uint8_t[]>(length);
        std::copy_n(message.begin(), length, block.get());
        DnsReader reader({block.get(), length});
        while (reader.next_record()) {
        }
        BOOST_TEST((reader.defect() == DnsDefect::kShort), "cut to " << length);
    }
}

BOOST_AUTO_TEST_CASE(records_of_all_sections_and_unknown_types_are_read) {
    Octets message = header(0x8403, 0, 1);
    message[9] = 1;   // authority
    message[11] = 1;  // additional
    for (const std::uint8_t type : Octets{1, 6, 41}) {
        raw::append(message, {0, 0, type, 0, 1, 0, 0, 0, 9, 0, 3, 7, 8, 9});
    }
    DnsReader reader(message);
    BOOST_TEST(reader.header().rcode == 3);
    for (const DnsSection section :
         {DnsSection::kAnswer, DnsSection::kAuthority, DnsSection::kAdditional}) {
        const auto record = reader.next_record();
        BOOST_REQUIRE(record);
        BOOST_TEST((record->section == section));
        BOOST_TEST(record->data.size() == 3u);
        BOOST_TEST(!record->address());  // three bytes are no address
    }
    BOOST_TEST(!reader.next_record());
}

BOOST_AUTO_TEST_CASE(a_sequence_is_read_back_from_its_name_in_any_case) {
    const auto name = sequence_name(0x00c0ffee, "pathproof.test");
    BOOST_REQUIRE(name);
    BOOST_TEST(name->to_text() == "q00c0ffee.pathproof.test");
    BOOST_TEST(*sequence_of(*name) == 0x00c0ffeeu);
    BOOST_TEST(*sequence_of(name_of("Q00C0FFEE.x")) == 0x00c0ffeeu);
    for (const char* text : {"q00c0ffe.x", "q00c0ffeg.x", "x00c0ffee.x", "q000c0ffee.x", "."}) {
        BOOST_TEST(!sequence_of(name_of(text)), text);
    }
    BOOST_TEST(sequence_name(1, "")->to_text() == "q00000001");
    BOOST_TEST(!sequence_name(1, "a..b"));
}

BOOST_AUTO_TEST_SUITE_END()
