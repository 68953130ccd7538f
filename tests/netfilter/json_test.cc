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

// JSON that full_entry() is printed as.
const json kFull = json::parse(R"({
    "id": 4000000000, "family": "ipv6", "protocol": "udp",
    "original": {"protocol": 17, "src": "2001:db8::1", "dst": "2001:db8::10",
                 "sport": 40000, "dport": 53},
    "reply": {"protocol": 17, "src": "2001:db8::2", "dst": "2001:db8::1",
              "sport": 5353, "dport": 40000},
    "status": 1052680, "status_names": ["CONFIRMED", "NAT_CLASH", "BIT_20"], "nat_clash": true,
    "timeout": 30, "mark": 0, "zone": 9, "zone_direction": "reply", "state": "ESTABLISHED",
    "helper": "ftp", "labels": [1, 0, 255],
    "original_counters": {"packets": 1, "bytes": 1152921504606846976},
    "reply_counters": {"packets": 2, "bytes": 3},
    "started_ns": 1763692000000000001, "stopped_ns": 1763692000000000002, "use": 1,
    "secctx": "unconfined"})");

}  // namespace

BOOST_AUTO_TEST_CASE(entries_have_all_that_the_kernel_reported_and_nothing_else) {
    BOOST_TEST(json(full_entry()) == kFull);
    Entry small = make_entry("198.18.0.1:1", "198.18.0.2:2", "198.18.0.3:3", 5, 0);
    json printed = json::parse(R"({
        "id": 5, "family": "ipv4", "protocol": "udp",
        "original": {"protocol": 17, "src": "198.18.0.1", "dst": "198.18.0.2", "sport": 1,
                     "dport": 2},
        "reply": {"protocol": 17, "src": "198.18.0.3", "dst": "198.18.0.1", "sport": 3, "dport": 1},
        "status": 0, "status_names": [], "zone": 0})");
    BOOST_TEST(json(small) == printed);
    for (Tuple* tuple : {&small.original, &small.reply}) {
        tuple->source.port = tuple->destination.port = 0;
        tuple->protocol = IPPROTO_ICMP;
        tuple->icmp = Tuple::Icmp{8, 0, 77};
    }
    printed["protocol"] = "icmp";
    for (const char* way : {"original", "reply"}) {
        printed[way]["protocol"] = 1;
        printed[way]["icmp"] = {{"type", 8}, {"code", 0}, {"id", 77}};
        printed[way].erase("sport");
        printed[way].erase("dport");
    }
    BOOST_TEST(json(small) == printed);
}

BOOST_AUTO_TEST_CASE(events_have_their_entry_and_what_caused_them) {
    for (const EventKind kind : {EventKind::kNew, EventKind::kUpdate, EventKind::kDestroy}) {
        Event event{kind, 1'763'692'000'000'000'000, full_entry(), 4711, 1'763'692'000'000'000'009};
        json printed{{"event", name(kind)}, {"time_ns", 1'763'692'000'000'000'000},
                     {"entry", kFull},      {"nat_clash", true},
                     {"cause_port", 4711},  {"kernel_time_ns", 1'763'692'000'000'000'009}};
        BOOST_TEST(json(event) == printed);
        event.missed = printed["missed"] = true;
        BOOST_TEST(json(event) == printed);
    }
    BOOST_TEST(json(Event{})["event"] == "NEW");
    BOOST_TEST(!json(Event{}).contains("cause_port"));
}

BOOST_AUTO_TEST_CASE(counters_read_back_by_name) {
    const CpuStats stats{3, {{"found", 1}, {"insert_failed", 0xffffffff}}};
    const auto back = json::parse(json(stats).dump()).get<CpuStats>();
    BOOST_TEST(back.cpu == 3U);
    BOOST_TEST(back.value("insert_failed") == 0xffffffffU);
    BOOST_TEST(back.counters.size() == 2U);
}
