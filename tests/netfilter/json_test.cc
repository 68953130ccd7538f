#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "tests/netfilter/message_builder.h"

using namespace pathproof;
using namespace pathproof::netfilter;
using nlohmann::json;

namespace {

Entry full_entry() {
    Entry entry = make_entry("[2001:db8::1]:40000", "[2001:db8::10]:53", "[2001:db8::2]:5353",
                             4'000'000'000, status::kConfirmed | status::kNatClash | 1u << 20);
    entry.timeout_s = 30;
    entry.mark = 0;
    entry.mark_reported = true;
    entry.zone = 9;
    entry.zone_direction = ZoneDirection::kReply;
    entry.protocol_state = "ESTABLISHED";
    entry.helper = "ftp";
    entry.labels = {1, 0, 255};
    entry.original_counters = Counters{1, 1ull << 60};
    entry.reply_counters = Counters{2, 3};
    entry.started_ns = 1'763'692'000'000'000'001;
    entry.stopped_ns = 1'763'692'000'000'000'002;
    entry.use = 1;
    entry.security_context = "unconfined";
    return entry;
}

template <typename T>
T through_text(const T& value) {
    return json::parse(json(value).dump()).get<T>();
}

}  // namespace

BOOST_AUTO_TEST_CASE(entries_read_back_as_they_were) {
    BOOST_TEST((through_text(full_entry()) == full_entry()));
    const Entry small = make_entry("198.18.0.1:1", "198.18.0.2:2", "198.18.0.3:3", 5);
    BOOST_TEST((through_text(small) == small));
    Entry echo = small;
    for (Tuple* tuple : {&echo.original, &echo.reply}) {
        tuple->source.port = tuple->destination.port = 0;
        tuple->protocol = IPPROTO_ICMP;
        tuple->icmp = Tuple::Icmp{8, 0, 77};
    }
    BOOST_TEST((through_text(echo) == echo));
}

BOOST_AUTO_TEST_CASE(status_is_given_as_number_and_names) {
    const json out = full_entry();
    BOOST_TEST(out["status"] == (0x1008 | 1 << 20));
    BOOST_TEST(out["status_names"] == json::array({"CONFIRMED", "NAT_CLASH", "BIT_20"}));
    BOOST_TEST(out["nat_clash"] == true);
    BOOST_TEST(out["original"]["src"] == "2001:db8::1");
    BOOST_TEST(out["protocol"] == "udp");
    BOOST_TEST(
        !json(make_entry("198.18.0.1:1", "198.18.0.2:2", "198.18.0.3:3", 5)).contains("nat_clash"));
}

BOOST_AUTO_TEST_CASE(events_read_back_as_they_were) {
    for (const EventKind kind : {EventKind::kNew, EventKind::kUpdate, EventKind::kDestroy}) {
        const Event event{kind, 1'763'692'000'000'000'000, full_entry(), 4711,
                          1'763'692'000'000'000'009};
        const Event back = through_text(event);
        BOOST_TEST((back.kind == kind));
        BOOST_TEST(back.time_ns == event.time_ns);
        BOOST_TEST((back.entry == event.entry));
        BOOST_TEST(back.cause_port == 4711U);
        BOOST_TEST((back.kernel_time_ns == event.kernel_time_ns));
        BOOST_TEST(json(event)["nat_clash"] == true);
    }
}

BOOST_AUTO_TEST_CASE(counters_read_back_by_name) {
    const CpuStats stats{3, {{"found", 1}, {"insert_failed", 0xffffffff}}};
    const CpuStats back = through_text(stats);
    BOOST_TEST(back.cpu == 3U);
    BOOST_TEST(back.value("insert_failed") == 0xffffffffU);
    BOOST_TEST(back.counters.size() == 2U);
}

BOOST_AUTO_TEST_CASE(json_that_is_no_entry_is_refused_by_a_json_exception) {
    json wrong = full_entry();
    wrong["original"]["src"] = "not an address";
    BOOST_CHECK_THROW((void)wrong.get<Entry>(), json::exception);
    wrong = full_entry();
    wrong.erase("reply");
    BOOST_CHECK_THROW((void)wrong.get<Entry>(), json::exception);
    wrong = full_entry();
    wrong["zone_direction"] = "up";
    BOOST_CHECK_THROW((void)wrong.get<Entry>(), json::exception);
    json event = Event{};
    event["event"] = "BORN";
    BOOST_CHECK_THROW((void)event.get<Event>(), json::exception);
}
