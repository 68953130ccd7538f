#include "harness/netfilter/csv.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "tests/netfilter/message_builder.h"

using namespace pathproof;
using namespace pathproof::netfilter;
using Rows = CsvFormat::Rows;

namespace {

CsvFormat format(Rows rows, const std::vector<std::string>& names = {}) {
    auto made = CsvFormat::make(rows, names);
    BOOST_REQUIRE_MESSAGE(made, made.error().message);
    return *made;
}

Entry listed_entry() {
    Entry made = make_entry("198.18.0.1:40000", "198.18.9.10:53", "203.0.113.2:5353", 99);
    made.timeout_s = 30;
    made.labels = {0x01, 0xa0};
    return made;
}

template <typename Value>
std::string row(const CsvFormat& csv, const Value& value) {
    std::string line;
    csv.append_row(line, value);
    return line;
}

std::size_t fields(const std::string& line) {
    return 1 + static_cast<std::size_t>(std::count(line.begin(), line.end(), ','));
}

}  // namespace

BOOST_AUTO_TEST_CASE(chosen_columns_come_in_their_order) {
    const CsvFormat csv = format(Rows::kEntries, {"id", "src", "sport", "reply_src", "labels",
                                                  "status_names", "state", "zone_direction"});
    std::string header;
    csv.append_header(header);
    BOOST_TEST(header == "id,src,sport,reply_src,labels,status_names,state,zone_direction");
    BOOST_TEST(row(csv, listed_entry()) ==
               "99,198.18.0.1,40000,203.0.113.2,01a0,CONFIRMED|DST_NAT,,both");
}

BOOST_AUTO_TEST_CASE(all_columns_are_filled_from_their_fields) {
    const CsvFormat entries = format(Rows::kEntries);
    std::string header;
    entries.append_header(header);
    BOOST_TEST(fields(header) == fields(row(entries, listed_entry())));
    BOOST_TEST(row(entries, listed_entry()) ==
               "ipv4,udp,17,30,,198.18.0.1,198.18.9.10,40000,53,,,,,,203.0.113.2,198.18.0.1,5353,"
               "40000,,,,,,0x28,CONFIRMED|DST_NAT,0,0,both,,01a0,,,,,99");
    Event event;
    event.kind = EventKind::kDestroy;
    event.time_ns = 5;
    event.entry = listed_entry();
    event.missed = true;
    event.cause_port = 3;
    BOOST_TEST(row(format(Rows::kEvents), event) ==
               "DESTROY,5,1,3," + row(entries, listed_entry()));
}

BOOST_AUTO_TEST_CASE(icmp_and_counters_have_columns_of_their_own) {
    Entry icmp = listed_entry();
    icmp.original.icmp = Tuple::Icmp{8, 1, 7};
    icmp.reply.icmp = Tuple::Icmp{0, 1, 7};
    icmp.original_counters = Counters{2, 168};
    icmp.started_ns = 12;
    BOOST_TEST(row(format(Rows::kEntries, {"icmp_type", "icmp_code", "icmp_id", "reply_icmp_type",
                                           "sport", "packets", "bytes", "reply_bytes", "start_ns"}),
                   icmp) == "8,1,7,0,,2,168,,12");
}

BOOST_AUTO_TEST_CASE(text_that_would_break_a_row_is_quoted) {
    Entry odd = listed_entry();
    odd.helper = "a,\"b\"\r\nc";
    BOOST_TEST(row(format(Rows::kEntries, {"helper", "id"}), odd) == "\"a,\"\"b\"\"\r\nc\",99");
}

BOOST_AUTO_TEST_CASE(a_mark_has_as_many_fields_as_a_row) {
    const CsvFormat csv = format(Rows::kEvents);
    std::string mark;
    csv.append_mark(mark, "GAP", 17);
    std::string header;
    csv.append_header(header);
    BOOST_TEST(fields(mark) == fields(header));
    BOOST_TEST(mark.starts_with("GAP,17,,"));
}

BOOST_AUTO_TEST_CASE(an_unknown_column_is_named_with_those_allowed) {
    const auto refused = CsvFormat::make(Rows::kEntries, {"id", "colour"});
    BOOST_REQUIRE(!refused);
    BOOST_TEST(refused.error().message.find(
                   "'colour': the columns of --csv are family, protocol") != std::string::npos);
    BOOST_TEST(!CsvFormat::make(Rows::kEntries, {"event"}));  // a table has no events
}
