#include "dataplane/judge/frame_difference.h"

#include <rte_ip.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <functional>

#include "tests/judge/every_kind.h"
#include "tests/judge/judged.h"

BOOST_AUTO_TEST_SUITE(frame_difference)

using namespace pathproof;
using namespace pathproof::judge;
using namespace pathproof::judged;

namespace {

constexpr frame::TunnelPorts kTunnels = frame::TunnelPorts::well_known();

frame::FrameView view_of(const Octets& frame) {
    return frame::parse_frame(frame, kTunnels);
}

// The checksum of the bytes from `start` to `end`, what is there being part of it.
std::uint16_t checksum(const Octets& frame, std::size_t start, std::size_t end) {
    const std::uint16_t raw = rte_raw_cksum(frame.data() + start, end - start);
    return static_cast<std::uint16_t>(~__builtin_bswap16(raw));
}

// The frame as a driver hands it over: the innermost UDP field holds the pseudo-header's sum.
Octets handed_over(const Octets& intended) {
    Octets frame = intended;
    const frame::FrameView view = view_of(frame);
    const frame::PacketView& packet = view.innermost();
    Octets pseudo(packet.source.bytes.begin(), packet.source.bytes.begin() + packet.source.size());
    raw::append(pseudo, {packet.final_destination.bytes.begin(),
                         packet.final_destination.bytes.begin() + packet.source.size()});
    raw::put32(pseudo, packet.transport_length);
    raw::put32(pseudo, packet.protocol);
    put(frame, packet.transport_offset + 6u,
        static_cast<std::uint16_t>(~checksum(pseudo, 0, pseudo.size())));
    return frame;
}

bool is_explained(const FrameDifference& difference, Misplaced misplaced) {
    return std::ranges::any_of(difference.fields, [&](const FieldDifference& field) {
        return field.misplaced_as == std::vector{misplaced};
    });
}

FrameDifference compare(const Octets& intended, const Octets& observed) {
    return compare_frames(intended, observed, kTunnels);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_frame_is_like_itself_and_like_itself_filled_up_to_60_bytes) {
    raw::Random random(51);
    for (int i = 0; i < 300; ++i) {
        const Octets frame = frame_of(any_kind(random), random);
        BOOST_TEST(compare(frame, frame).none());
    }
    Octets small = frame_of({.payload = 1}, random);
    Octets filled = small;
    filled.resize(60);
    BOOST_TEST(compare(small, filled).none());
    filled.resize(61);
    BOOST_TEST(text(compare(small, filled)) ==
               "LENGTH frame at 43: 0x000000000000003d instead of 0x000000000000002b (bytes of the "
               "frame)\n");
}

BOOST_AUTO_TEST_CASE(every_changed_header_field_is_named_by_layer) {
    raw::Random random(52);
    const Octets frame =
        frame_of({.envelope = Envelope::kVxlan, .upper = Upper::kTcp, .payload = 30}, random);
    const frame::FrameView view = view_of(frame);
    struct Case {
        std::size_t offset;
        const char* field;
    };
    const Case cases[] = {
        {view.outer.network_offset + 3u, "outer.ip.total_length"},
        {view.outer.network_offset + 8u, "outer.ip.ttl"},
        {view.outer.transport_offset + 1u, "outer.udp.source_port"},
        {view.outer.transport_offset + 5u, "outer.udp.length"},
        {view.tunnel_offset + 5u, "tunnel.vni"},
        {view.inner.ethernet_offset + 3u, "inner.eth.destination"},
        {view.inner.network_offset + 3u, "inner.ip.total_length"},
        {view.inner.network_offset + 5u, "inner.ip.id"},
        {view.inner.transport_offset + 6u, "inner.tcp.sequence"},
        {view.inner.transport_offset + 13u, "inner.tcp.flags"},
    };
    for (const Case& each : cases) {
        Octets changed = frame;
        changed[each.offset] ^= 0x10;
        const FrameDifference difference = compare(frame, changed);
        BOOST_REQUIRE_MESSAGE(difference.fields.size() == 1u, text(difference));
        BOOST_TEST(difference.fields[0].field == each.field);
        BOOST_TEST((difference.fields[0].kind == DifferenceKind::kField));
    }
    Octets plain = frame_of({.upper = Upper::kTcp, .payload = 30}, random);
    Octets changed = plain;
    changed[34 + 13] ^= 1;
    BOOST_TEST(compare(plain, changed).fields[0].field == "tcp.flags");
}

BOOST_AUTO_TEST_CASE(a_length_that_counts_the_padding_is_explained) {
    raw::Random random(53);
    Octets frame = frame_of({.envelope = Envelope::kVlan, .payload = 4}, random);
    frame.resize(frame.size() + 10);
    Octets changed = frame;
    changed[18 + 3] = static_cast<std::uint8_t>(changed[18 + 3] + 10);
    const FrameDifference difference = compare(frame, changed);
    BOOST_REQUIRE(difference.fields.size() == 1u);
    BOOST_TEST(difference.fields[0].field == "ip.total_length");
    BOOST_TEST(difference.fields[0].explanation == "the 10 bytes of padding were added");
}

BOOST_AUTO_TEST_CASE(damaged_payload_is_told_from_damage_that_was_sealed) {
    raw::Random random(54);
    const Octets frame = frame_of({.payload = 40}, random);
    Octets damaged = frame;
    damaged[60] ^= 4;
    FrameDifference difference = compare(frame, damaged);
    BOOST_REQUIRE(difference.fields.size() == 1u);
    BOOST_TEST((difference.fields[0].kind == DifferenceKind::kPayload));
    BOOST_TEST(difference.fields[0].offset == 60u);
    BOOST_TEST(difference.fields[0].length == 1u);
    mend(damaged);
    difference = compare(frame, damaged);
    BOOST_REQUIRE(difference.fields.size() == 2u);
    BOOST_TEST((difference.fields[0].kind == DifferenceKind::kChecksum));
    BOOST_TEST((difference.fields[1].kind == DifferenceKind::kHealed));
}

// Each sender looks for the transport header in a place of its own, sums from there, and writes.
BOOST_AUTO_TEST_CASE(a_checksum_in_the_wrong_place_is_explained_by_the_start_that_led_there) {
    struct Case {
        Misplaced misplaced;
        Kind kind;
        std::function<std::size_t(const frame::FrameView&)> start;
        std::size_t field = 6;
    };
    const Case cases[] = {
        {Misplaced::kExthdrStart,
         {.net = Net::kIpv6Extensions, .payload = 40},
         [](const frame::FrameView& view) { return view.outer.network_offset + 40u; }},
        {Misplaced::kOptionsStart,
         {.net = Net::kIpv4Options, .payload = 40},
         [](const frame::FrameView& view) { return view.outer.network_offset + 20u; }},
        {Misplaced::kVlanStart,
         {.envelope = Envelope::kVlan, .payload = 40},
         [](const frame::FrameView& view) { return view.outer.transport_offset - 4u; }},
        {Misplaced::kVlanStart,
         {.envelope = Envelope::kVlan, .payload = 40},
         [](const frame::FrameView& view) { return view.outer.transport_offset + 4u; }},
        {Misplaced::kNoOuterLengths,
         {.envelope = Envelope::kVxlan, .payload = 40},
         [](const frame::FrameView& view) {
             return view.inner.transport_offset - view.outer.transport_offset;
         }},
        {Misplaced::kOtherProtocol,
         {.payload = 40},
         [](const frame::FrameView& view) { return view.outer.transport_offset + 0u; },
         16},
    };
    for (const Case& each : cases) {
        raw::Random random(55);
        int explained = 0;
        for (int i = 0; i < 10; ++i) {
            const Octets intended = frame_of(each.kind, random);
            const Octets handed = handed_over(intended);
            const frame::FrameView view = view_of(intended);
            const frame::PacketView& packet = view.innermost();
            const std::size_t start = each.start(view);
            Octets observed = handed;
            put(observed, start + each.field,
                checksum(handed, start, packet.transport_offset + packet.transport_length));
            for (const bool with_handed : {true, false}) {
                const FrameDifference difference =
                    compare_frames(intended, observed, kTunnels,
                                   with_handed ? frame::Bytes(handed) : frame::Bytes());
                explained += is_explained(difference, each.misplaced) ? 1 : 0;
            }
        }
        // Options of 4 bytes and a tag have one length; chance may do the same.
        BOOST_TEST(explained >= 16, name(each.misplaced) << ": " << explained);
    }
}

BOOST_AUTO_TEST_CASE(plain_udp_taken_for_a_tunnel_is_explained) {
    raw::Random random(56);
    const Octets inner = frame_of({.payload = 40}, random);
    Octets ip = raw::ipv4({}, raw::udp(1000, 5555, raw::vxlan(7, inner)));
    Octets intended = raw::ethernet(0x0800, ip);
    put(intended, 50 + 14 + 26, 0x4444);  // not a checksum at all to who sent it
    mend(intended);
    Octets observed = intended;
    const frame::TunnelPorts as_tunnel = [] {
        frame::TunnelPorts tunnels(frame::IpTunnels::kIgnored);
        tunnels.add(5555, frame::Tunnel::kVxlan);
        return tunnels;
    }();
    write_right(observed, verify_slowly(observed, as_tunnel).findings[3]);
    const FrameDifference difference = compare(intended, observed);
    BOOST_TEST(is_explained(difference, Misplaced::kPlainAsTunnel), text(difference));
}

BOOST_AUTO_TEST_CASE(a_value_that_no_wrong_start_gives_is_not_explained) {
    raw::Random random(57);
    int explained = 0;
    for (int i = 0; i < 200; ++i) {
        const Octets intended = frame_of({.net = Net::kIpv6Extensions, .payload = 40}, random);
        Octets observed = intended;
        observed[intended.size() - 30] ^= 0x40;
        const FrameDifference difference = compare(intended, observed);
        explained += std::ranges::any_of(difference.fields, [](const FieldDifference& field) {
            return !field.misplaced_as.empty();
        });
    }
    BOOST_TEST(explained <= 2);
}

BOOST_AUTO_TEST_CASE(fields_cover_every_byte_of_every_frame_once) {
    raw::Random random(58);
    for (int i = 0; i < 2'000; ++i) {
        Octets frame = frame_of(any_kind(random), random);
        if (i % 2 == 0) {
            frame[random.below(frame.size())] = random.octet();
        }
        if (i % 5 == 0) {
            frame.resize(random.below(frame.size()) + 1);
        }
        std::size_t at = 0;
        for (const Field& field : fields_of(frame, view_of(frame))) {
            BOOST_REQUIRE_EQUAL(field.offset, at);
            at += field.length;
        }
        BOOST_REQUIRE_EQUAL(at, frame.size());
    }
}

BOOST_AUTO_TEST_SUITE_END()
