#include "harness/monitor/dns_ledger.h"

#include <array>
#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(dns_ledger)

using namespace pathproof;
using namespace pathproof::monitor;

namespace {

constexpr std::int64_t kMs = 1'000'000;

const frame::Endpoint kClient{frame::IpAddress::v4(0x0a010005), 4000};
const frame::Endpoint kOtherPort{frame::IpAddress::v4(0x0a010005), 4001};
const frame::Endpoint kResolver{frame::IpAddress::v4(0x0a60000a), 53};
const frame::Endpoint kOther{frame::IpAddress::v4(0x0a60000b), 53};

struct Traffic {
    DnsLedger ledger;

    void ask(std::int64_t ms, std::uint16_t id, const char* name,
             const frame::Endpoint& client = kClient, const frame::Endpoint& resolver = kResolver) {
        ledger.take(ms * kMs, client, resolver, query(id, name));
    }
    void answer(std::int64_t ms, std::uint16_t id, const char* name,
                frame::Rcode rcode = frame::Rcode::kNoError,
                const frame::Endpoint& client = kClient,
                const frame::Endpoint& resolver = kResolver) {
        const frame::Bytes asked = query(id, name);
        const std::vector<std::uint8_t> copy(asked.begin(), asked.end());
        const std::size_t length = frame::write_answer(buffer_, copy, {.rcode = rcode});
        ledger.take(ms * kMs, resolver, client, {buffer_.data(), length});
    }

  private:
    frame::Bytes query(std::uint16_t id, const char* name) {
        const std::size_t length =
            frame::write_query(buffer_, {.id = id, .name = *frame::DnsName::from_text(name)});
        return {buffer_.data(), length};
    }
    std::array<std::uint8_t, 512> buffer_{};
};

}  // namespace

BOOST_AUTO_TEST_CASE(an_answer_is_joined_to_its_query) {
    Traffic traffic;
    traffic.ask(0, 1, "www.example.com");
    traffic.answer(4, 1, "WWW.example.com");
    traffic.ask(10, 2, "slow.example.com");
    traffic.answer(70, 2, "slow.example.com", frame::Rcode::kNxDomain);
    traffic.ask(80, 3, "fast.example.com");
    traffic.answer(82, 3, "fast.example.com", frame::Rcode::kServFail);
    const auto all = traffic.ledger.finish(5000 * kMs);
    BOOST_REQUIRE(all.size() == 1U);
    const ResolverSeen& seen = all[0];
    BOOST_TEST((seen.resolver == kResolver));
    BOOST_TEST(seen.queries == 3U);
    BOOST_TEST(seen.answered == 3U);
    BOOST_TEST(seen.retries == 0U);
    BOOST_TEST(seen.unanswered == 0U);
    BOOST_TEST(seen.median_ms == 4.0, boost::test_tools::tolerance(0.01));
    BOOST_TEST(seen.longest_ms == 60.0, boost::test_tools::tolerance(0.01));
    BOOST_TEST(seen.slowest.name == "slow.example.com");
    // A name that is not there is an answer.
    BOOST_TEST(seen.failed() == 1U);
    BOOST_REQUIRE(seen.failures.size() == 1U);
    BOOST_TEST(seen.failures[0].outcome == "SERVFAIL");
    BOOST_TEST(seen.failures[0].name == "fast.example.com");
}

BOOST_AUTO_TEST_CASE(a_packet_on_several_devices_counts_once) {
    Traffic traffic;
    for (int device = 0; device < 3; ++device) {
        traffic.ask(device, 1, "www.example.com");
    }
    for (int device = 0; device < 3; ++device) {
        traffic.answer(10 + device, 1, "www.example.com");
    }
    const auto all = traffic.ledger.finish(5000 * kMs);
    BOOST_REQUIRE(all.size() == 1U);
    BOOST_TEST(all[0].queries == 1U);
    BOOST_TEST(all[0].answered == 1U);
    BOOST_TEST(all[0].retries == 0U);
    BOOST_TEST(all[0].longest_ms == 10.0, boost::test_tools::tolerance(0.01));
}

BOOST_AUTO_TEST_CASE(who_asks_again_retries_whatever_the_socket_and_the_resolver) {
    Traffic traffic;
    traffic.ask(0, 1, "www.example.com");
    traffic.ask(5000, 1, "www.example.com");                // glibc: the same socket and id
    traffic.ask(10'000, 9, "www.example.com", kOtherPort);  // others: a new one
    traffic.ask(15'000, 7, "www.example.com", kOtherPort, kOther);
    traffic.answer(15'003, 7, "www.example.com", frame::Rcode::kNoError, kOtherPort, kOther);
    // Answered: who asks for it now begins anew.
    traffic.ask(20'000, 8, "www.example.com", kOtherPort, kOther);
    traffic.answer(20'001, 8, "www.example.com", frame::Rcode::kNoError, kOtherPort, kOther);
    const auto all = traffic.ledger.finish(30'000 * kMs);
    BOOST_REQUIRE(all.size() == 2U);
    BOOST_TEST(all[0].queries == 2U);
    BOOST_TEST(all[0].retries == 2U);
    BOOST_TEST(all[0].unanswered == 2U);
    BOOST_TEST(all[0].failures.front().outcome == "no answer");
    BOOST_TEST(all[1].queries == 2U);
    BOOST_TEST(all[1].retries == 1U);
    BOOST_TEST(all[1].answered == 2U);
    BOOST_TEST(all[1].failed() == 0U);
}

BOOST_AUTO_TEST_CASE(what_was_asked_just_now_may_still_be_answered) {
    Traffic traffic;
    traffic.ask(0, 1, "www.example.com");
    BOOST_TEST(traffic.ledger.finish(500 * kMs)[0].unanswered == 0U);
    BOOST_TEST(traffic.ledger.finish(1500 * kMs)[0].unanswered == 1U);
    // An answer that nobody asked for, and what is no DNS message, are passed over.
    traffic.answer(600, 2, "www.example.com");
    const std::array<std::uint8_t, 5> rubbish{1, 2, 3, 4, 5};
    traffic.ledger.take(700 * kMs, kClient, kOther, rubbish);
    const auto all = traffic.ledger.finish(1500 * kMs);
    BOOST_REQUIRE(all.size() == 1U);
    BOOST_TEST(all[0].answered == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
