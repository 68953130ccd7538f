// The story of one flow: which packets and events are of it, and in which order they are told.
#include "harness/scenario/service_path/flow_timeline.h"

#include <netinet/in.h>

#include <boost/test/unit_test.hpp>

#include "dataplane/frame/frame_spec.h"

BOOST_AUTO_TEST_SUITE(flow_timelines)

using namespace pathproof;
using namespace pathproof::scenario;

namespace {

frame::Endpoint at(const char* address, std::uint16_t port) {
    return {*frame::parse_ip(address), port};
}

const frame::Endpoint kTold = at("198.18.0.2", 40'000);
const frame::Endpoint kOtherClient = at("198.18.0.2", 40'001);
const frame::Endpoint kServerOfBoth = at("203.0.113.2", 8000);
const frame::Endpoint kDrawn = at("203.0.113.1", 30'009);  // after NAT

agent::CapturedFrame framed(const frame::FrameSpec& spec, std::int64_t time_ns) {
    const frame::FrameLayout layout = frame::layout_of(spec);
    agent::CapturedFrame frame{
        .bytes = std::vector<std::uint8_t>(layout.end), .length = layout.end, .time_ns = time_ns};
    frame::write_without_checksums(frame.bytes, spec, layout);
    return frame;
}

agent::CapturedFrame tcp(const frame::Endpoint& from, const frame::Endpoint& to, std::uint8_t flags,
                         std::int64_t time_ns) {
    frame::FrameSpec spec;
    spec.packet.source = from;
    spec.packet.destination = to;
    spec.packet.transport = frame::Transport::kTcp;
    spec.packet.tcp_flags = flags;
    spec.packet.tcp_sequence = 77;
    return framed(spec, time_ns);
}

netfilter::Entry entry(const frame::Endpoint& client, const frame::Endpoint& drawn) {
    netfilter::Entry made;
    made.original = {.source = client, .destination = kServerOfBoth, .protocol = IPPROTO_TCP};
    made.reply = {.source = kServerOfBoth, .destination = drawn, .protocol = IPPROTO_TCP};
    return made;
}

netfilter::Event event(netfilter::EventKind kind, const netfilter::Entry& of,
                       std::uint64_t kernel_time_ns) {
    netfilter::Event made;
    made.kind = kind;
    made.entry = of;
    made.time_ns = 1'000'000'000;  // as read: much later
    made.kernel_time_ns = kernel_time_ns;
    return made;
}

constexpr std::uint8_t kSyn = 0x02, kRst = 0x04;

// A connection that gets a port, is reset, and whose port another one draws then.
FlowRecord reset_and_drawn_again() {
    FlowRecord record;
    record.client_wire = {tcp(kTold, kServerOfBoth, kSyn, 1'000'000),
                          tcp(kOtherClient, kServerOfBoth, kSyn, 8'000'000),
                          tcp(kServerOfBoth, kTold, kRst, 5'000'000)};
    record.server_wire = {tcp(kDrawn, kServerOfBoth, kSyn, 3'000'000),
                          tcp(kServerOfBoth, kDrawn, kRst, 4'000'000),
                          tcp(kDrawn, kServerOfBoth, kSyn, 9'000'000)};
    record.events = {
        event(netfilter::EventKind::kNew, entry(kTold, kDrawn), 2'000'000),
        event(netfilter::EventKind::kDestroy, entry(kTold, kDrawn), 6'000'000),
        event(netfilter::EventKind::kNew, entry(kOtherClient, kDrawn), 8'500'000),
    };
    return record;
}

const FlowOfClient kToldFlow{.protocol = IPPROTO_TCP, .client = kTold};

}  // namespace

BOOST_AUTO_TEST_CASE(a_story_has_the_flow_on_both_wires_and_its_entry_in_order_of_time) {
    const auto told = flow_timeline("cell: one", reset_and_drawn_again(), kToldFlow);
    BOOST_REQUIRE(told);
    BOOST_TEST(told->title == "cell: one");
    BOOST_REQUIRE(told->rows.size() == 6U);
    const std::vector<std::pair<std::string, std::string>> expected = {
        {"0.000", "198.18.0.2:40000 > 203.0.113.2:8000 TCP SYN seq 77, 0 bytes"},
        {"1.000", "[NEW] tcp"},
        {"2.000", "203.0.113.1:30009 > 203.0.113.2:8000 TCP SYN seq 77, 0 bytes"},
        {"3.000", "203.0.113.2:8000 > 203.0.113.1:30009 TCP RST seq 77, 0 bytes"},
        {"4.000", "203.0.113.2:8000 > 198.18.0.2:40000 TCP RST seq 77, 0 bytes"},
        {"5.000", "[DESTROY] tcp"},
    };
    const std::vector<std::size_t> columns = {1, 3, 2, 2, 1, 3};
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const std::vector<std::string>& row = told->rows[i];
        BOOST_REQUIRE(row.size() == told->columns.size());
        BOOST_TEST(row[0] == expected[i].first);
        BOOST_TEST(row[columns[i]].starts_with(expected[i].second), row[columns[i]]);
        for (std::size_t column = 1; column < row.size(); ++column) {
            BOOST_TEST((row[column].empty() == (column != columns[i])));
        }
    }
    BOOST_TEST(told->conclusion == "2 packets before NAT, 2 after it, 2 lines of conntrack.");
}

BOOST_AUTO_TEST_CASE(what_lies_outside_of_the_time_asked_for_is_left_out) {
    FlowOfClient late = kToldFlow;
    late.from_ns = 3'500'000;
    late.until_ns = 5'500'000;
    const auto told = flow_timeline("cell", reset_and_drawn_again(), late);
    BOOST_REQUIRE(told);
    BOOST_TEST(told->conclusion == "1 packets before NAT, 1 after it, 0 lines of conntrack.");
}

BOOST_AUTO_TEST_CASE(an_entry_that_was_there_translates_and_is_told_at_both_ends) {
    FlowRecord record;
    record.began_ns = 500'000;
    record.ended_ns = 9'500'000;
    record.before = {entry(kTold, kDrawn), entry(kOtherClient, kOtherClient)};
    record.after = record.before;
    record.server_wire = {tcp(kDrawn, kServerOfBoth, kSyn, 3'000'000),
                          tcp(kTold, kServerOfBoth, kSyn, 3'500'000)};
    record.missing = 3;
    const auto told = flow_timeline("cell", record, kToldFlow);
    BOOST_REQUIRE(told);
    BOOST_REQUIRE(told->rows.size() == 3U);
    BOOST_TEST(told->rows.front()[3].starts_with("there at the start: tcp"));
    BOOST_TEST(told->rows.back()[3].starts_with("there at the end: tcp"));
    BOOST_TEST(
        told->conclusion ==
        "0 packets before NAT, 1 after it, 2 lines of conntrack; the listeners lost 3 packets "
        "or events.");
}

BOOST_AUTO_TEST_CASE(of_many_packets_the_first_and_the_last_are_told_and_the_rest_is_counted) {
    FlowRecord record;
    for (int i = 0; i < 100; ++i) {
        record.client_wire.push_back(tcp(kTold, kServerOfBoth, kSyn, i * 1'000'000));
    }
    const auto told = flow_timeline("cell", record, kToldFlow);
    BOOST_REQUIRE(told);
    BOOST_TEST(told->rows.size() == 41U);
    BOOST_TEST(told->rows[29][0] == "29.000");
    BOOST_TEST(told->rows[30][1] == "60 more are left out");
    BOOST_TEST(told->rows[31][0] == "90.000");
    BOOST_TEST(told->rows.back()[0] == "99.000");
}

BOOST_AUTO_TEST_CASE(in_a_tunnel_the_flow_is_that_of_the_inner_port_and_its_outer_fragments) {
    const auto in_vxlan = [](const frame::Endpoint& outer_from, const frame::Endpoint& outer_to,
                             const frame::Endpoint& from, const frame::Endpoint& to,
                             std::int64_t time_ns) {
        frame::FrameSpec spec;
        spec.packet.source = from;
        spec.packet.destination = to;
        spec.packet.transport = frame::Transport::kTcp;
        spec.tunnel.emplace();
        spec.tunnel->outer.source = outer_from;
        spec.tunnel->outer.destination = outer_to;
        return framed(spec, time_ns);
    };
    const frame::Endpoint inside = at("198.19.0.1", 50'000), asked = at("198.19.0.2", 7000);
    const frame::Endpoint bystander = at("198.19.0.2", 7001);
    frame::FrameSpec piece;
    piece.packet.source = at("198.18.0.2", 0);
    piece.packet.destination = at("203.0.113.2", 0);
    piece.packet.transport = frame::Transport::kOther;
    piece.packet.protocol = IPPROTO_UDP;
    piece.packet.fragment = frame::FragmentSpec{.offset = 1376};
    piece.payload.resize(64);
    FlowRecord record;
    record.client_wire = {
        in_vxlan(at("198.18.0.2", 33'000), at("203.0.113.2", 4789), inside, asked, 1'000'000),
        in_vxlan(at("203.0.113.2", 44'000), at("198.18.0.2", 4789), asked, inside, 2'000'000),
        in_vxlan(at("198.18.0.2", 33'001), at("203.0.113.2", 4789), inside, bystander, 3'000'000)};
    record.server_wire = {framed(piece, 4'000'000)};
    const auto told = flow_timeline(
        "cell", record,
        {.protocol = IPPROTO_UDP, .client = at("198.18.0.2", 0), .port_in_tunnel = 7000});
    BOOST_REQUIRE(told);
    BOOST_REQUIRE(told->rows.size() == 3U);
    BOOST_TEST(told->rows[0][1].starts_with("in VXLAN: 198.19.0.1:50000 > 198.19.0.2:7000 TCP"));
    BOOST_TEST(told->rows[1][1].starts_with("in VXLAN: 198.19.0.2:7000 > 198.19.0.1:50000 TCP"));
    BOOST_TEST(told->rows[2][2] == "198.18.0.2 > 203.0.113.2 later fragment of an IP packet");
}

BOOST_AUTO_TEST_CASE(without_a_record_or_without_the_flow_there_is_no_story) {
    BOOST_TEST(!flow_timeline("cell", std::nullopt, kToldFlow));
    BOOST_TEST(!flow_timeline("cell", reset_and_drawn_again(),
                              {.protocol = IPPROTO_UDP, .client = kTold}));
}

BOOST_AUTO_TEST_SUITE_END()
