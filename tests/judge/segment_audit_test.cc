#include "dataplane/judge/segment_audit.h"

#include <boost/test/unit_test.hpp>
#include <functional>

#include "tests/judge/every_kind.h"
#include "tests/judge/judged.h"

BOOST_AUTO_TEST_SUITE(segment_audit)

using namespace pathproof;
using namespace pathproof::judge;
using namespace pathproof::judged;

namespace {

constexpr frame::TunnelPorts kTunnels = frame::TunnelPorts::well_known();
using Segments = std::vector<Octets>;

// A TCP super-frame with FIN, PSH, CWR and ACK set, or a UDP one; DF is set.
Octets super_frame(raw::Random& random, Kind kind, std::size_t payload) {
    kind.payload = payload;
    Octets frame;
    do {
        frame = frame_of(kind, random);
    } while (verify_slowly(frame, kTunnels).findings[1].state == ChecksumState::kDisabled);
    const frame::FrameView view = frame::parse_frame(frame, kTunnels);
    for (const frame::PacketView* packet : {&view.outer, &view.inner}) {
        if (packet->network == frame::Network::kIpv4) {
            put(frame, packet->network_offset + 6u, 0x4000);
        }
    }
    if (kind.upper == Upper::kTcp) {
        frame[view.innermost().transport_offset + 13u] = 0x99;
    }
    mend(frame);
    return frame;
}

SuperFrame described(const Octets& frame, IpIdRule rule = IpIdRule::kAdvance) {
    return {.bytes = frame, .mss = 100, .ip_id = rule, .tunnels = kTunnels};
}

Segments perfect(const Octets& frame) {
    auto segments = perfect_segments(described(frame));
    BOOST_REQUIRE_MESSAGE(segments, segments.error().message);
    return *segments;
}

SegmentAudit audit(const Octets& frame, const Segments& segments,
                   IpIdRule rule = IpIdRule::kAdvance) {
    std::vector<std::span<const std::uint8_t>> seen(segments.begin(), segments.end());
    auto audited = audit_segments(described(frame, rule), seen);
    BOOST_REQUIRE_MESSAGE(audited, audited.error().message);
    return *audited;
}

std::string titles(const SegmentAudit& audited) {
    std::string out;
    for (const SegmentFinding& finding : audited.findings) {
        out += (out.empty() ? "" : " ") + std::to_string(finding.segment) + ":" + title(finding);
    }
    return out;
}

// A header field of one segment changed, and checksums made right for it: only the field is wrong.
Segments with(Segments segments, std::size_t index,
              const std::function<void(Octets&, const frame::FrameView&)>& change) {
    Octets& frame = segments[index];
    change(frame, frame::parse_frame(frame, kTunnels));
    mend(frame);
    return segments;
}

constexpr Kind kTcp{.upper = Upper::kTcp};
constexpr Kind kTunnelled{.envelope = Envelope::kVxlan, .upper = Upper::kTcp};
constexpr Kind kUdp{.upper = Upper::kUdp};

}  // namespace

BOOST_AUTO_TEST_CASE(perfect_segments_are_clean_in_every_envelope_and_length) {
    raw::Random random(61);
    for (std::size_t e = 0; e < kEnvelopes; ++e) {
        for (const Upper upper : {Upper::kTcp, Upper::kUdp}) {
            for (const std::size_t payload : {200u, 300u, 301u, 399u, 250u}) {
                const Kind kind{.envelope = static_cast<Envelope>(e),
                                .upper = upper,
                                .net = static_cast<Net>(random.below(kNets))};
                const Octets frame = super_frame(random, kind, payload);
                const Segments segments = perfect(frame);
                BOOST_TEST(segments.size() == (payload + 99) / 100);
                for (const Octets& segment : segments) {
                    BOOST_TEST(!verify_slowly(segment, kTunnels).any_bad());
                }
                BOOST_TEST(titles(audit(frame, segments)) == "", judged::text(kind));
            }
        }
    }
}

// Bytes counted by hand: the perfect segments are not taken from the code that holds others to
// them.
BOOST_AUTO_TEST_CASE(a_plain_tcp_super_frame_is_cut_as_the_rfcs_say) {
    raw::Random random(62);
    const Octets frame = super_frame(random, kTcp, 250);
    const Segments segments = perfect(frame);
    const std::size_t header = frame::parse_frame(frame, kTunnels).outer.payload_offset;
    BOOST_REQUIRE(segments.size() == 3u);
    const std::uint8_t flags[] = {0x90, 0x10, 0x19};  // CWR first, PSH and FIN last
    const std::size_t payload[] = {100, 100, 50};
    for (std::size_t i = 0; i < 3; ++i) {
        const Octets& segment = segments[i];
        BOOST_TEST(segment.size() == header + payload[i]);
        BOOST_TEST(get(segment, 16) == segment.size() - 14);
        BOOST_TEST(get(segment, 18) == get(frame, 18) + i);
        BOOST_TEST(get(segment, 40) == get(frame, 40) + 100 * i);
        BOOST_TEST(segment[47] == flags[i]);
        BOOST_TEST(std::equal(segment.begin() + static_cast<std::ptrdiff_t>(header), segment.end(),
                              frame.begin() + static_cast<std::ptrdiff_t>(header + 100 * i)));
    }
}

BOOST_AUTO_TEST_CASE(every_wrong_header_field_of_a_segment_is_found_in_its_segment) {
    raw::Random random(63);
    const Octets frame = super_frame(random, kTunnelled, 350);
    const Segments good = perfect(frame);
    struct Case {
        const char* title;
        std::function<void(Octets&, const frame::FrameView&)> change;
    };
    const auto inner = [](std::size_t offset, std::uint8_t bits) {
        return [=](Octets& f, const frame::FrameView& view) {
            f[view.inner.transport_offset + offset] ^= bits;
        };
    };
    const Case cases[] = {
        {"1:SEG_HDR(inner.tcp.sequence)", inner(7, 1)},
        {"1:SEG_HDR(inner.tcp.flags)", inner(13, 0x08)},  // PSH
        {"1:SEG_HDR(inner.tcp.flags)", inner(13, 0x01)},  // FIN
        {"1:SEG_HDR(inner.tcp.flags)", inner(13, 0x80)},  // CWR
        {"1:SEG_HDR(inner.ip.id)",
         [](Octets& f, const frame::FrameView& view) {
             put(f, view.inner.network_offset + 4u,
                 static_cast<std::uint16_t>(get(f, view.inner.network_offset + 4u) - 1));
         }},
        {"1:SEG_HDR(outer.ip.id)",
         [](Octets& f, const frame::FrameView& view) {
             put(f, view.outer.network_offset + 4u,
                 static_cast<std::uint16_t>(get(f, view.outer.network_offset + 4u) - 1));
         }},
    };
    for (const Case& each : cases) {
        BOOST_TEST(titles(audit(frame, with(good, 1, each.change))) == each.title);
    }
    // Lengths: the frame cannot be read past them, so that nothing is sealed anew.
    Segments lengths = good;
    const frame::FrameView view = frame::parse_frame(good[2], kTunnels);
    put(lengths[2], view.outer.transport_offset + 4u, get(frame, view.outer.transport_offset + 4u));
    BOOST_TEST(titles(audit(frame, lengths)).find("2:SEG_HDR(outer.udp.length)") !=
               std::string::npos);
    lengths = good;
    put(lengths[2], view.inner.network_offset + 2u, get(frame, view.inner.network_offset + 2u));
    BOOST_TEST(titles(audit(frame, lengths)).find("2:SEG_HDR(inner.ip.total_length)") !=
               std::string::npos);
}

// B20, RFC 6864: with DF set the identification may stand still, if that was agreed.
BOOST_AUTO_TEST_CASE(an_identification_may_stand_still_only_with_df_and_mangleid) {
    raw::Random random(64);
    for (const bool df : {true, false}) {
        Octets frame = super_frame(random, kTcp, 250);
        if (!df) {
            put(frame, 20, 0);
        }
        Segments stuck = perfect(frame);
        for (std::size_t i = 0; i < stuck.size(); ++i) {
            stuck = with(stuck, i,
                         [&](Octets& f, const frame::FrameView&) { put(f, 18, get(frame, 18)); });
        }
        BOOST_TEST(titles(audit(frame, stuck)) == "1:SEG_HDR(ip.id) 2:SEG_HDR(ip.id)");
        BOOST_TEST(audit(frame, stuck, IpIdRule::kMangleId).clean() == df);
    }
}

BOOST_AUTO_TEST_CASE(the_super_frames_checksum_on_every_segment_is_superpkt) {
    raw::Random random(65);
    const Octets frame = super_frame(random, kTcp, 300);
    Segments segments = perfect(frame);
    for (Octets& segment : segments) {
        put(segment, 50, get(frame, 50));
    }
    BOOST_TEST(titles(audit(frame, segments)) ==
               "0:SUPERPKT(tcp.checksum) 1:SUPERPKT(tcp.checksum) 2:SUPERPKT(tcp.checksum)");
    segments = perfect(frame);
    put(segments[1], 50, static_cast<std::uint16_t>(get(segments[1], 50) + 77));
    const SegmentAudit audited = audit(frame, segments);
    BOOST_TEST(titles(audited) == "1:UNKNOWN(tcp.checksum)");
    BOOST_TEST(audited.findings[0].wire != audited.findings[0].right);
}

BOOST_AUTO_TEST_CASE(an_outer_checksum_that_got_lost_is_told_from_a_tunnel_without_one) {
    raw::Random random(66);
    const Octets frame = super_frame(random, kTunnelled, 250);
    Segments segments = perfect(frame);
    put(segments[1], frame::parse_frame(frame, kTunnels).outer.transport_offset + 6u, 0);
    BOOST_TEST(titles(audit(frame, segments)) == "1:DISABLED(outer.udp.checksum)");
    Octets without = frame;
    put(without, frame::parse_frame(frame, kTunnels).outer.transport_offset + 6u, 0);
    BOOST_TEST(titles(audit(without, perfect(without))) == "");
}

BOOST_AUTO_TEST_CASE(missing_doubled_misordered_and_foreign_segments_are_found) {
    raw::Random random(67);
    for (const Kind& kind : {kTcp, kUdp}) {
        const Octets frame = super_frame(random, kind, 400);
        const Segments good = perfect(frame);
        Segments missing = good;
        missing.erase(missing.begin() + 1);
        BOOST_TEST(titles(audit(frame, missing)) == "1:MISSING");
        Segments doubled = good;
        doubled.push_back(good[2]);
        BOOST_TEST(titles(audit(frame, doubled)) == "4:DUPLICATE");
        const Segments instead{good[0], good[1], good[1], good[3]};
        BOOST_TEST(titles(audit(frame, instead)) == "2:DUPLICATE 2:MISSING");
        const Segments misordered{good[0], good[2], good[1], good[3]};
        BOOST_TEST(titles(audit(frame, misordered)) == "2:MISORDERED");
        Segments foreign = good;
        foreign.push_back(frame_of(kind, random));
        BOOST_TEST(titles(audit(frame, foreign)) == "4:FOREIGN");
    }
}

BOOST_AUTO_TEST_CASE(payload_and_size_are_held_to_the_super_frame) {
    raw::Random random(68);
    const Octets frame = super_frame(random, kTcp, 250);
    Segments damaged = with(perfect(frame), 1, [](Octets& f, const frame::FrameView& view) {
        f[view.outer.payload_offset + 9u] ^= 1;
    });
    BOOST_TEST(titles(audit(frame, damaged)) == "1:PAYLOAD(payload)");
    Segments longer = perfect(frame);
    longer[2].resize(longer[2].size() + 9);
    BOOST_TEST(titles(audit(frame, longer)) == "2:SIZE(payload)");
    Octets tiny = super_frame(random, kUdp, 101);
    Segments filled = perfect(tiny);
    filled[1].resize(60);  // a MAC fills up
    BOOST_TEST(titles(audit(tiny, filled)) == "");
}

BOOST_AUTO_TEST_CASE(a_payload_of_zeros_is_put_in_order_by_sequence_numbers) {
    raw::Random random(69);
    Octets frame = frame_of(kTcp, random, Octets(400));
    const Segments good = perfect(frame);
    BOOST_TEST(titles(audit(frame, good)) == "");
    const Segments missing{good[0], good[2], good[3]};
    BOOST_TEST(titles(audit(frame, missing)) == "1:MISSING");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_cut_is_refused_with_the_reason) {
    raw::Random random(70);
    const Octets icmp = frame_of({.upper = Upper::kIcmp, .payload = 300}, random);
    auto refused = perfect_segments(described(icmp));
    BOOST_REQUIRE(!refused);
    BOOST_TEST(refused.error().message == "the super-frame is neither TCP nor UDP");
    Octets cut = super_frame(random, kTcp, 300);
    cut.resize(200);
    BOOST_TEST(!perfect_segments(described(cut)));
    SuperFrame no_mss = described(icmp);
    no_mss.mss = 0;
    BOOST_TEST(!perfect_segments(no_mss));
}

BOOST_AUTO_TEST_SUITE_END()
