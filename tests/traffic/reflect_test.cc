#include "dataplane/traffic/reflect.h"

#include <boost/test/unit_test.hpp>

#include "dataplane/frame/stamp.h"
#include "dataplane/traffic/responder.h"
#include "tests/traffic/frames.h"

BOOST_AUTO_TEST_SUITE(reflection)

using namespace pathproof;
using namespace pathproof::traffic;

namespace {

constexpr std::uint16_t kTunnelPorts[] = {4789};

// Magic, stream 3, 0, sequence, sent_ns, and an odd number of bytes behind.
const std::vector<std::uint8_t> kStamp = {0x70, 0x70, 3, 0, 0x89, 0xab, 0xcd, 0xef, 0,  0,
                                          0x12, 0x34, 5, 6, 7,    8,    'p',  'a',  'd'};

Frame rendered(const frame::FrameSpec& spec) {
    const auto made = frame::FrameTemplate::make(spec);
    BOOST_REQUIRE_MESSAGE(made, made.error().message);
    return made->render();
}

enum class Around { kNothing, kVxlan };

frame::FrameSpec spec_of(frame::Transport transport, frame::Family family, Around around) {
    frame::FrameSpec spec = plain_spec(family);
    if (around == Around::kVxlan) {
        spec.tunnel = carried_spec().tunnel;
    }
    spec.packet.transport = transport;
    spec.payload = kStamp;
    return spec;
}

// A SYN whose sequence number says stream 5, number 0x1234567, with timestamps.
frame::FrameSpec syn_spec(frame::Family family, Around around) {
    frame::FrameSpec spec = spec_of(frame::Transport::kTcp, family, around);
    spec.packet.destination.port = 80;
    spec.packet.tcp_sequence = 0x51234567;
    spec.packet.tcp_acknowledgement = 0;
    spec.packet.tcp_flags = 0x02;
    spec.packet.tcp_option_bytes = 12;
    return spec;
}

frame::FrameView view_of(const Frame& frame) {
    return frame::parse_frame(frame, kTunnelPorts);
}

bool turned(Frame& frame) {
    return reflect(frame, view_of(frame));
}

void check_ends(const Frame& before, const Frame& after) {
    BOOST_TEST(is_right(after));
    BOOST_TEST(before.size() == after.size());
    const frame::FrameView one = view_of(before);
    const frame::FrameView other = view_of(after);
    BOOST_TEST((one.innermost().source == other.innermost().destination));
    BOOST_TEST((one.innermost().destination == other.innermost().source));
    BOOST_TEST((one.outer.source == other.outer.destination));
    BOOST_TEST(std::equal(before.begin(), before.begin() + 6, after.begin() + 6));
    BOOST_TEST(std::equal(before.begin() + 6, before.begin() + 12, after.begin()));
    BOOST_TEST(one.has_inner == other.has_inner);
    BOOST_TEST(one.vni == other.vni);
    if (one.has_inner) {
        BOOST_TEST(other.outer.destination_port == 4789);
        BOOST_TEST(other.outer.source_port == one.outer.source_port);
    }
}

template <typename Check>
void in_all_envelopes(Check check) {
    for (const frame::Family family : {frame::Family::kIpv4, frame::Family::kIpv6}) {
        for (const Around around : {Around::kNothing, Around::kVxlan}) {
            check(family, around);
        }
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_syn_comes_back_as_the_syn_ack_to_it) {
    in_all_envelopes([](frame::Family family, Around around) {
        const Frame syn = rendered(syn_spec(family, around));
        const auto asked = frame::read_syn_stamp(
            frame::Bytes(syn).subspan(view_of(syn).innermost().transport_offset));
        BOOST_REQUIRE(asked);
        Frame answer = syn;
        BOOST_REQUIRE(turned(answer));
        check_ends(syn, answer);
        const frame::PacketView packet = view_of(answer).innermost();
        BOOST_TEST(packet.source_port == 80);
        BOOST_TEST(packet.destination_port == 10'000);
        BOOST_TEST(answer[packet.transport_offset + 13u] == 0x12);  // SYN, ACK
        const auto read =
            frame::read_syn_answer(frame::Bytes(answer).subspan(packet.transport_offset));
        BOOST_REQUIRE(read);
        BOOST_TEST(read->stream == 5);
        BOOST_TEST(read->sequence == 0x1234567u);
        BOOST_TEST(read->sent_ns.value_or(1) == asked->sent_ns);
    });
}

BOOST_AUTO_TEST_CASE(an_echo_request_comes_back_as_its_reply) {
    in_all_envelopes([](frame::Family family, Around around) {
        const bool v4 = family == frame::Family::kIpv4;
        const Frame request = rendered(
            spec_of(v4 ? frame::Transport::kIcmp : frame::Transport::kIcmpv6, family, around));
        Frame reply = request;
        BOOST_REQUIRE(turned(reply));
        check_ends(request, reply);
        const frame::PacketView packet = view_of(reply).innermost();
        BOOST_TEST(reply[packet.transport_offset] == (v4 ? 0 : 129));
        BOOST_TEST(
            (frame::read_binary_stamp(packet.payload(reply)) == frame::read_binary_stamp(kStamp)));
        BOOST_TEST(packet.source_port == view_of(request).innermost().source_port);  // identifier
        BOOST_TEST(!turned(reply));  // a reply is not answered
    });
}

BOOST_AUTO_TEST_CASE(a_datagram_goes_back_as_it_came) {
    in_all_envelopes([](frame::Family family, Around around) {
        const Frame there = rendered(spec_of(frame::Transport::kUdp, family, around));
        Frame back = there;
        BOOST_REQUIRE(turned(back));
        check_ends(there, back);
        const frame::PacketView packet = view_of(back).innermost();
        BOOST_TEST(packet.source_port == 53);
        BOOST_TEST(packet.destination_port == 10'000);
        BOOST_REQUIRE(turned(back));
        BOOST_TEST(back == there);
    });
}

BOOST_AUTO_TEST_CASE(frames_without_a_stamp_stay_as_they_are) {
    const auto stays = [](frame::FrameSpec spec) {
        const Frame before = rendered(spec);
        Frame after = before;
        return !turned(after) && after == before;
    };
    constexpr auto kV4 = frame::Family::kIpv4;
    frame::FrameSpec plain = spec_of(frame::Transport::kUdp, kV4, Around::kNothing);
    plain.payload[1] = 0x71;
    BOOST_TEST(stays(plain));
    frame::FrameSpec ping = spec_of(frame::Transport::kIcmp, kV4, Around::kNothing);
    ping.payload.resize(15);
    BOOST_TEST(stays(ping));
    frame::FrameSpec data = syn_spec(kV4, Around::kNothing);
    data.packet.tcp_flags = 0x18;
    BOOST_TEST(stays(data));
    frame::FrameSpec without_time = syn_spec(kV4, Around::kNothing);
    without_time.packet.tcp_option_bytes = 4;
    BOOST_TEST(stays(without_time));
}

BOOST_AUTO_TEST_CASE(a_responder_reflects_only_when_it_is_told_to) {
    const Frame datagram =
        rendered(spec_of(frame::Transport::kUdp, frame::Family::kIpv4, Around::kNothing));
    for (const Reflect reflect : {Reflect::kNothing, Reflect::kStamped}) {
        auto made = Responder::make({.tunnel_ports = {4789}, .reflect = reflect});
        BOOST_REQUIRE(made);
        Frame buffer = datagram;
        const Turned result = made->take_in_place(buffer, buffer.size(), 0);
        const bool back = result.kind == Turned::Kind::kReflection;
        BOOST_TEST(back == (reflect == Reflect::kStamped));
        BOOST_TEST(result.bytes == (back ? datagram.size() : 0u));
        BOOST_TEST(made->intake().tally().other_traffic == 1u);
        BOOST_TEST(made->intake().tally().balances());
    }
}

BOOST_AUTO_TEST_CASE(a_query_whose_id_is_the_magic_number_is_answered_and_not_reflected) {
    auto made = Responder::make({.rules = {{.addresses = {ip_of("192.0.2.53")}}},
                                 .tunnel_ports = {4789},
                                 .reflect = Reflect::kStamped});
    BOOST_REQUIRE(made);
    Frame buffer = query_frame(plain_spec(), frame::kDnsTypeA, 1, frame::kStampMagic);
    const std::size_t size = buffer.size();
    buffer.resize(2048);
    BOOST_TEST((made->take_in_place(buffer, size, 0).kind == Turned::Kind::kAnswer));
}

BOOST_AUTO_TEST_SUITE_END()
