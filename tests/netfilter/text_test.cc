#include "harness/netfilter/text.h"

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <ctime>
#include <fstream>

#include "tests/netfilter/message_builder.h"

using namespace pathproof;
using namespace pathproof::netfilter;
using Column = TextOptions::Column;

namespace {

template <typename T>
std::string text(const T& value, const TextOptions& options = {}) {
    std::string line;
    append_text(line, value, options);
    return line;
}

Entry entry() {
    Entry made = make_entry("198.18.0.1:40000", "198.18.9.10:53", "203.0.113.2:5353", 99);
    made.timeout_s = 30;
    return made;
}

constexpr const char* kLine =
    "udp      17 30 src=198.18.0.1 dst=198.18.9.10 sport=40000 dport=53 [UNREPLIED] "
    "src=203.0.113.2 dst=198.18.0.1 sport=5353 dport=40000";

}  // namespace

BOOST_AUTO_TEST_CASE(an_entry_has_the_columns_of_conntrack) {
    BOOST_TEST(text(entry()) == kLine);
    Entry full = entry();
    full.status |= status::kSeenReply | status::kAssured;
    full.mark_reported = true;
    full.zone = 5;
    full.helper = "ftp";
    full.use = 2;
    full.security_context = "ctx";
    full.original_counters = Counters{1, 64};
    full.reply_counters = Counters{2, 128};
    BOOST_TEST(
        text(full) ==
        "udp      17 30 src=198.18.0.1 dst=198.18.9.10 sport=40000 dport=53 packets=1 bytes=64 "
        "src=203.0.113.2 dst=198.18.0.1 sport=5353 dport=40000 packets=2 bytes=128 [ASSURED] "
        "mark=0 secctx=ctx "
        "zone=5 helper=ftp use=2");
}

BOOST_AUTO_TEST_CASE(columns_are_shown_when_asked_for) {
    BOOST_TEST(text(entry(), {.id = Column::kShow, .layer3 = Column::kShow}) ==
               "ipv4     2 " + std::string(kLine) + " id=99");
}

BOOST_AUTO_TEST_CASE(offloaded_entries_say_so_instead_of_assured) {
    Entry made = entry();
    made.status |= status::kAssured | status::kOffload;
    BOOST_TEST(text(made).ends_with(" [OFFLOAD]"));
    made.status |= 1u << 15;
    BOOST_TEST(text(made).ends_with(" [HW_OFFLOAD]"));
}

BOOST_AUTO_TEST_CASE(times_are_local_and_as_ctime_has_them) {
    setenv("TZ", "UTC", 1);
    tzset();
    Entry made = entry();
    made.started_ns = 1'763'692'000'000'000'000;
    made.stopped_ns = 1'763'692'007'900'000'000;
    BOOST_TEST(text(made).ends_with(" delta-time=7"));
    BOOST_TEST(
        text(made, {.kernel_times = Column::kShow})
            .ends_with(
                " delta-time=7 [start=Fri Nov 21 02:26:40 2025] [stop=Fri Nov 21 02:26:47 2025]"));
}

BOOST_AUTO_TEST_CASE(an_event_begins_with_its_kind_in_nine_columns) {
    Event event{EventKind::kNew, 1'763'692'000'123'456'789, entry(), 0, {}};
    BOOST_TEST(text(event) == "    [NEW] " + std::string(kLine));
    event.kind = EventKind::kUpdate;
    BOOST_TEST(text(event) == " [UPDATE] " + std::string(kLine));
    event.kind = EventKind::kDestroy;
    event.cause_port = 7;
    BOOST_TEST(text(event, {.event_time = Column::kShow}) ==
               "[1763692000.123456]\t[DESTROY] " + std::string(kLine) + " [USERSPACE] portid=7");
}

BOOST_AUTO_TEST_CASE(the_hidden_entry_of_a_clash_is_marked_when_asked_for) {
    Entry made = entry();
    made.status |= status::kNatClash;
    BOOST_TEST(text(made) == kLine);
    BOOST_TEST(text(made, {.nat_clash = Column::kShow}) == std::string(kLine) + " [NAT_CLASH]");
    BOOST_TEST(text(entry(), {.nat_clash = Column::kShow}) == kLine);
    const Event event{EventKind::kDestroy, 0, made, 0, {}};
    BOOST_TEST(text(event, {.nat_clash = Column::kShow}) ==
               "[DESTROY] " + std::string(kLine) + " [NAT_CLASH]");
}

BOOST_AUTO_TEST_CASE(labels_are_shown_by_name) {
    const std::string path = "netfilter_test.connlabel";
    std::ofstream(path) << "0 first\n9 second\n";
    auto labels = LabelNames::load(path);
    std::remove(path.c_str());
    BOOST_REQUIRE_MESSAGE(labels, labels.error().message);
    Entry made = entry();
    made.labels = {0x01, 0x02};
    BOOST_TEST(text(made, {.labels = std::make_shared<LabelNames>(std::move(*labels))}) ==
               std::string(kLine) + " labels=first,second");
    const auto missing = LabelNames::load("no such file");
    BOOST_REQUIRE(!missing);
    BOOST_TEST(missing.error().message.find("no such file") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(counters_of_a_cpu_are_one_line) {
    std::string line;
    append_text(line, CpuStats{12, {{"found", 1}, {"drop", 2}}});
    BOOST_TEST(line == "cpu=12  \tfound=1 drop=2 ");
}
