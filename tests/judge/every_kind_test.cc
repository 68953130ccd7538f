// Every kind of frame, healthy and damaged: the fast judge, the oracle and tshark say one thing.
#include "tests/judge/every_kind.h"

#include <boost/test/unit_test.hpp>
#include <map>
#include <optional>

#include "dataplane/judge/verifier.h"
#include "tests/how_many.h"
#include "tests/judge/judged.h"

BOOST_AUTO_TEST_SUITE(every_kind)

using namespace pathproof;
using namespace pathproof::judge;
using namespace pathproof::judged;

namespace {

constexpr frame::TunnelPorts kTunnels = frame::TunnelPorts::well_known();

FrameVerdict both(const Octets& bytes) {
    const FrameVerdict fast = verify(bytes, kTunnels);
    BOOST_REQUIRE_EQUAL(judged::text(fast), judged::text(verify_slowly(bytes, kTunnels)));
    return fast;
}

bool healthy(const FrameVerdict& verdict) {
    for (const ChecksumFinding& finding : verdict.all()) {
        if (finding.state != ChecksumState::kGood && finding.state != ChecksumState::kDisabled) {
            return false;
        }
    }
    return verdict.malformed == Malformed::kNone && verdict.count > 0;
}

}  // namespace

BOOST_AUTO_TEST_CASE(healthy_frames_of_every_kind_raise_no_alarm_with_either_judge) {
    raw::Random random(41);
    std::map<std::size_t, int> layers;
    // Enough frames for each layer to be among them.
    const std::size_t frames = std::max<std::size_t>(12'000, test::how_many(12'000));
    for (std::size_t i = 0; i < frames; ++i) {
        const Kind kind = any_kind(random);
        const Octets frame = frame_of(kind, random);
        const FrameVerdict verdict = both(frame);
        BOOST_REQUIRE_MESSAGE(healthy(verdict), judged::text(kind)
                                                    << ": " << judged::text(verdict));
        for (const ChecksumFinding& finding : verdict.all()) {
            ++layers[index_of(finding.layer)];
        }
    }
    // Each layer was judged: none is green because nothing looked at it.
    for (const char* layer :
         {"plain.ipv4", "plain.udp", "plain.tcp", "plain.icmp", "plain.icmpv6", "plain.sctp",
          "plain.udplite", "outer.ipv4", "outer.udp", "outer.gre", "inner.ipv4", "inner.udp",
          "inner.tcp", "inner.icmp", "inner.icmpv6", "inner.sctp", "inner.udplite"}) {
        bool seen = false;
        for (const auto& [index, count] : layers) {
            seen = seen || (word(layer_at(index)) == std::string(layer) && count > 20);
        }
        BOOST_TEST(seen, layer);
    }
}

BOOST_AUTO_TEST_CASE(payloads_of_zeros_and_of_ones_raise_no_alarm) {
    raw::Random random(42);
    for (int i = 0; i < 3'000; ++i) {
        const Kind kind = any_kind(random);
        const Octets payload(kind.payload, i % 2 == 0 ? 0x00 : 0xff);
        const FrameVerdict verdict = both(frame_of(kind, random, payload));
        BOOST_REQUIRE_MESSAGE(healthy(verdict), judged::text(kind));
    }
}

BOOST_AUTO_TEST_CASE(one_flipped_bit_of_what_a_checksum_covers_is_bad) {
    raw::Random random(43);
    std::map<std::size_t, int> caught;
    for (int i = 0; i < 6'000; ++i) {
        Octets frame = frame_of(any_kind(random), random);
        const FrameVerdict before = both(frame);
        const ChecksumFinding& target = before.findings[random.below(before.count)];
        if (target.state != ChecksumState::kGood) {
            continue;
        }
        frame[target.field_offset + random.below(field_size(target.layer.protocol))] ^=
            static_cast<std::uint8_t>(1u << random.below(8));
        const FrameVerdict after = both(frame);
        for (const ChecksumFinding& finding : after.all()) {
            const bool switched_off = finding.state == ChecksumState::kDisabled;
            if (finding.layer == target.layer && !switched_off) {
                BOOST_REQUIRE_MESSAGE(finding.state == ChecksumState::kBad, judged::text(after));
                BOOST_REQUIRE_EQUAL(finding.right % 0xffff, target.layer.protocol == Protocol::kSctp
                                                                ? finding.right % 0xffff
                                                                : target.right % 0xffff);
                ++caught[index_of(finding.layer)];
            }
        }
    }
    BOOST_TEST(caught.size() >= 15u);
}

BOOST_AUTO_TEST_CASE(damaged_and_cut_frames_are_read_alike_by_both_judges) {
    raw::Random random(44);
    for (std::size_t i = 0; i < test::how_many(20'000); ++i) {
        Octets frame = frame_of(any_kind(random), random);
        const std::size_t reach = std::min<std::size_t>(frame.size(), 160);
        for (unsigned n = random.below(4); n > 0; --n) {
            frame[random.below(reach)] = random.octet();
        }
        if (random.below(3) == 0) {
            frame.resize(random.below(frame.size()));
        }
        both(frame);
    }
}

BOOST_AUTO_TEST_CASE(a_wrong_checksum_put_right_by_write_right_is_good) {
    raw::Random random(45);
    for (int i = 0; i < 1'000; ++i) {
        Octets frame = frame_of(any_kind(random), random);
        const FrameVerdict before = both(frame);
        const ChecksumFinding& target = before.findings[before.count - 1u];
        if (target.state != ChecksumState::kGood) {
            continue;
        }
        const Octets whole = frame;
        frame[target.field_offset] ^= 0x5a;
        const FrameVerdict spoiled = both(frame);
        write_right(frame, spoiled.findings[spoiled.count - 1u]);
        // 0 and 0xffff are both right but under UDP and in IPv4 headers.
        BOOST_TEST((frame == whole || healthy(both(frame))));
    }
}

// The first 32 bytes of a plain IPv4 packet's data as a fragment: healthy, and not to be verified.
static std::optional<Octets> first_fragment(Octets frame) {
    const frame::FrameView view = frame::parse_frame(frame, kTunnels);
    const frame::PacketView& packet = view.outer;
    const std::size_t length = packet.network_length + 32u;
    if (packet.network != frame::Network::kIpv4 || view.to_tunnel ||
        packet.network_end <= packet.network_offset + length) {
        return std::nullopt;
    }
    frame.resize(packet.network_offset + length);
    frame[packet.network_offset + 2u] = 0;
    frame[packet.network_offset + 3u] = static_cast<std::uint8_t>(length);
    frame[packet.network_offset + 6u] |= 0x20;
    write_right(frame, verify_slowly(frame, kTunnels).findings[0]);
    return frame;
}

// Each mistake must be convicted by frames that a right judge passes.
BOOST_AUTO_TEST_CASE(every_mistake_of_a_judge_turns_healthy_frames_red) {
    for (std::size_t m = 1; m < kOracleMistakes; ++m) {
        const auto mistake = static_cast<OracleMistake>(m);
        raw::Random random(46);
        int red = 0;
        for (int i = 0; i < 3'000; ++i) {
            const Kind kind = any_kind(random);
            std::optional<Octets> frame = i % 3 == 0
                                              ? frame_of(kind, random, Octets(kind.payload, 0xff))
                                              : frame_of(kind, random);
            if (i % 2 == 0) {
                const auto fragment = first_fragment(*frame);
                frame = fragment ? fragment : frame;
            }
            BOOST_REQUIRE(!verify_slowly(*frame, kTunnels).any_bad());
            red += verify_slowly(*frame, kTunnels, mistake).any_bad() ? 1 : 0;
        }
        BOOST_TEST(red > 10, name(mistake) << ": " << red << " red");
    }
}

BOOST_AUTO_TEST_SUITE_END()
