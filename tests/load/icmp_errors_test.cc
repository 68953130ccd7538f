// ICMP errors about frames of a run: by type and MTU, and what they quote.
#include "dataplane/load/icmp_errors.h"

#include <boost/test/unit_test.hpp>

#include "tests/contains.h"

BOOST_AUTO_TEST_SUITE(icmp_errors)

using namespace pathproof;
using namespace pathproof::load;
using frame::IpAddress;
using frame::Network;
using Message = std::vector<std::uint8_t>;

namespace {

const IpAddress kClient = IpAddress::v4(0xc6120002);   // 198.18.0.2
const IpAddress kService = IpAddress::v4(0xc6336414);  // 198.51.100.20
const IpAddress kPod = IpAddress::v4(0xcb007102);      // 203.0.113.2

SourcePlan plan() {
    SourcePlan made;
    made.spec.packet.source = {kClient, 10'000};
    made.spec.packet.destination = {kService, 53};
    made.flow = {.flows = 1000, .first_port = 10'000, .ports = 1000};
    made.background_port = 7;
    return made;
}

void put16(Message& message, std::size_t value) {
    message.push_back(static_cast<std::uint8_t>(value >> 8));
    message.push_back(static_cast<std::uint8_t>(value));
}

struct Quoted {
    IpAddress source = kClient;
    IpAddress destination = kService;
    std::uint16_t source_port = 10'123;
    std::uint16_t destination_port = 7;
};

// "Fragmentation needed" with an MTU of 1400, from the ICMP header on.
Message too_big(const Quoted& quoted) {
    Message message = {3, 4, 0, 0, 0, 0};
    put16(message, 1400);
    message.insert(message.end(), {0x45, 0});
    put16(message, 1500);
    message.insert(message.end(), {0, 1, 0x40, 0, 63, 17, 0, 0});
    for (const IpAddress& address : {quoted.source, quoted.destination}) {
        message.insert(message.end(), address.bytes.begin(), address.bytes.begin() + 4);
    }
    put16(message, quoted.source_port);
    put16(message, quoted.destination_port);
    put16(message, 1480);
    put16(message, 0);
    return message;
}

std::vector<IcmpErrorCount> counted(const std::vector<Message>& messages) {
    const auto judge = QuoteJudge::make(plan());
    BOOST_REQUIRE(judge.has_value());
    std::vector<IcmpErrorCount> counts;
    for (const Message& message : messages) {
        BOOST_TEST(
            count_icmp_error(message, Network::kIpv4, 0, message.size(), 1, &*judge, counts));
    }
    return counts;
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_error_that_quotes_what_was_sent_is_right) {
    const auto counts = counted({too_big({}), too_big({.source_port = 10'999})});
    BOOST_REQUIRE(counts.size() == 1u);
    BOOST_TEST(text(counts[0].kind) == "destination unreachable, fragmentation needed, MTU 1400");
    BOOST_TEST(counts[0].frames == 2u);
    BOOST_TEST(counts[0].ours == 2u);
    BOOST_TEST(counts[0].wrong_quotes == 0u);
}

BOOST_AUTO_TEST_CASE(a_quote_of_behind_the_nat_is_wrong_and_told_by_its_field) {
    struct Case {
        Quoted quoted;
        const char* example;
    };
    const Case cases[] = {
        {{.destination = kPod}, "destination 203.0.113.2 instead of 198.51.100.20"},
        {{.source = kPod}, "source 203.0.113.2 instead of 198.18.0.2"},
        {{.source_port = 40'000}, "source_port 40000 instead of 10000 to 10999"},
        {{.destination_port = 8080}, "destination_port 8080 instead of 53"},
    };
    for (const Case& each : cases) {
        const auto counts = counted({too_big(each.quoted)});
        BOOST_REQUIRE(counts.size() == 1u);
        BOOST_TEST(counts[0].wrong_quotes == 1u, each.example);
        BOOST_TEST(counts[0].example == each.example);
    }
}

BOOST_AUTO_TEST_CASE(an_error_about_other_traffic_is_counted_and_accuses_nobody) {
    const auto counts =
        counted({too_big({.source = kPod, .destination = kPod}),
                 too_big({.destination = kPod, .source_port = 40'000, .destination_port = 443})});
    BOOST_REQUIRE(counts.size() == 1u);
    BOOST_TEST(counts[0].frames == 2u);
    BOOST_TEST(counts[0].ours == 0u);
    BOOST_TEST(counts[0].wrong_quotes == 0u);
}

BOOST_AUTO_TEST_CASE(a_message_that_is_cut_short_quotes_nothing) {
    const Message whole = too_big({});
    for (std::size_t size = 8; size < whole.size(); ++size) {
        const Message cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
        const auto counts = counted({cut});
        BOOST_TEST(counts[0].wrong_quotes == 0u, size);
    }
    std::vector<IcmpErrorCount> none;
    const Message echo = {8, 0, 0, 0, 0, 0, 0, 0};
    BOOST_TEST(!count_icmp_error(echo, Network::kIpv4, 0, echo.size(), 0, nullptr, none));
    BOOST_TEST(none.empty());
}

BOOST_AUTO_TEST_SUITE_END()
