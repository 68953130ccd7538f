#include "dataplane/judge/quick_verifier.h"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <memory>

#include "dataplane/frame/checksum.h"
#include "tests/how_many.h"
#include "tests/judge/every_kind.h"
#include "tests/judge/judged.h"

using namespace pathproof;
using namespace pathproof::judge;
using namespace pathproof::judged;

namespace {

const QuickVerifier kQuick{kTunnelPorts};

// A block of the frame's own length: a read beyond it is seen by the sanitizer.
struct Block {
    explicit Block(const Octets& frame)
        : bytes(std::make_unique<std::uint8_t[]>(frame.size())), size(frame.size()) {
        std::copy(frame.begin(), frame.end(), bytes.get());
    }
    frame::Bytes span() const { return {bytes.get(), size}; }
    std::unique_ptr<std::uint8_t[]> bytes;
    std::size_t size;
};

// False: not the quick verifier's. Fails the test where it says something else than the other two.
bool agrees(const Octets& octets) {
    const Block block(octets);
    QuickFrame quick;
    if (!kQuick.judge(block.span(), quick)) {
        return false;
    }
    const FrameVerdict fast = verify(block.span(), kTunnelPorts);
    const FrameVerdict slow = verify_slowly(block.span(), kTunnelPorts);
    const QuickLayers layers = layers_of(quick.code);
    BOOST_REQUIRE_EQUAL(layers.count, fast.count);
    BOOST_REQUIRE_EQUAL(layers.count, slow.count);
    BOOST_REQUIRE(fast.malformed == Malformed::kNone && slow.malformed == Malformed::kNone);
    for (std::size_t i = 0; i < layers.count; ++i) {
        BOOST_REQUIRE_EQUAL(word(layers.layers[i].layer), word(fast.findings[i].layer));
        const bool same = layers.layers[i].state == fast.findings[i].state &&
                          layers.layers[i].state == slow.findings[i].state;
        BOOST_REQUIRE_MESSAGE(same, text(fast));
    }
    BOOST_REQUIRE_EQUAL(fast.any_bad(), quick.code.bad() != 0);
    const frame::FrameView view = frame::parse_frame(block.span(), kTunnelPorts);
    BOOST_REQUIRE_EQUAL(quick.network, view.innermost().network_offset);
    BOOST_REQUIRE_EQUAL(quick.transport, view.innermost().transport_offset);
    BOOST_REQUIRE_EQUAL(quick.end, view.innermost().network_end);
    return true;
}

// Draws any octet or, more often, 0 or 0xff.
std::uint8_t often_extreme(raw::Random& random) {
    if (random() % 4 == 0) {
        return random.octet();
    }
    return random() % 2 == 0 ? 0 : 0xff;
}

Octets transport_around(std::uint8_t protocol, const Octets& data) {
    switch (protocol) {
        case 1: return raw::icmp(8, 1, data);
        case 6: return raw::tcp(7, 8, data);
        default: return raw::udp(7, 8, data);
    }
}

bool is_common(const Kind& kind) {
    const bool envelope =
        kind.envelope == judged::Envelope::kNone || kind.envelope == judged::Envelope::kVxlan ||
        kind.envelope == judged::Envelope::kVxlanOverIpv6 ||
        kind.envelope == judged::Envelope::kVlan || kind.envelope == judged::Envelope::kQinq;
    const bool upper = kind.upper != Upper::kSctp && kind.upper != Upper::kUdpLite;
    return envelope && upper && (kind.net == Net::kIpv4 || kind.net == Net::kIpv6) &&
           kind.inner_trailer == Trailer::kNone;
}

void flip(Octets& frame, raw::Random& random) {
    // Headers are hit more often than data.
    const std::size_t reach =
        random() % 2 == 0 ? std::min<std::size_t>(frame.size(), 110) : frame.size();
    frame[random.below(reach)] ^= static_cast<std::uint8_t>(1u << random() % 8);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(quick_verifier)

BOOST_AUTO_TEST_CASE(every_healthy_frame_of_common_shape_is_taken_and_good) {
    raw::Random random(1);
    const std::size_t frames = test::how_many(60'000);
    std::size_t taken = 0;
    for (std::size_t i = 0; i < frames; ++i) {
        Kind kind = any_kind(random);
        kind.payload = random.below(i % 8 == 0 ? 1400 : 120);
        const Octets frame = frame_of(kind, random);
        const bool agreed = agrees(frame);
        taken += agreed ? 1 : 0;
        BOOST_REQUIRE_MESSAGE(agreed || !is_common(kind), text(kind));
        BOOST_REQUIRE_MESSAGE(!is_common(kind) || !verify(frame, kTunnelPorts).any_bad(),
                              text(kind));
    }
    BOOST_TEST(taken > frames / 12);
}

BOOST_AUTO_TEST_CASE(it_says_of_broken_frames_what_the_two_verifiers_say) {
    raw::Random random(2);
    const std::size_t frames = test::how_many(300'000);
    std::size_t bad = 0;
    for (std::size_t i = 0; i < frames; ++i) {
        Octets frame = common_frame(random, i);
        for (unsigned flips = 1 + random() % 3; flips > 0; --flips) {
            flip(frame, random);
        }
        bad += agrees(frame) && verify(frame, kTunnelPorts).any_bad() ? 1 : 0;
    }
    BOOST_TEST(bad > frames / 6);
}

BOOST_AUTO_TEST_CASE(each_wrong_layer_of_a_tunnel_is_told_from_the_others) {
    const Octets inner = plain4({.protocol = 6}, raw::tcp(1, 2, raw::text("data")));
    const Octets healthy = plain4({}, raw::udp(3, 4789, raw::vxlan(1, inner)));
    const std::pair<std::size_t, unsigned> kFields[] = {
        {18, QuickCode::kBadOuterIp},
        {40, QuickCode::kBadOuterUdp},
        {68, QuickCode::kBadOuterUdp | QuickCode::kBadIp},
        {healthy.size() - 1, QuickCode::kBadOuterUdp | QuickCode::kBadUpper}};
    for (const auto& [place, bits] : kFields) {
        Octets frame = healthy;
        frame[place] ^= 0x21;
        QuickFrame quick;
        BOOST_REQUIRE(kQuick.judge(frame, quick));
        BOOST_TEST(quick.code.bad() == bits);
        BOOST_TEST(agrees(frame));
    }
}

BOOST_AUTO_TEST_CASE(cut_frames_are_never_read_beyond_their_end) {
    raw::Random random(3);
    for (std::size_t i = 0; i < 200; ++i) {
        const Octets frame = common_frame(random, i);
        for (std::size_t length = 0; length < frame.size(); ++length) {
            Octets cut(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(length));
            agrees(cut);
        }
    }
}

BOOST_AUTO_TEST_CASE(random_bytes_behind_a_plausible_beginning_are_judged_alike) {
    raw::Random random(4);
    const std::size_t frames = test::how_many(200'000);
    std::size_t taken = 0;
    for (std::size_t i = 0; i < frames; ++i) {
        Octets frame(42 + random.below(90));
        for (std::uint8_t& octet : frame) {
            octet = often_extreme(random);
        }
        const std::size_t ip = frame.size() - 14;
        const std::uint8_t start[] = {
            0x08, 0x00, 0x45, 0, static_cast<std::uint8_t>(ip >> 8), static_cast<std::uint8_t>(ip)};
        std::copy(std::begin(start), std::end(start), frame.begin() + 12);
        frame[20] = frame[21] = 0;
        constexpr std::uint8_t kProtocols[] = {1, 6, 17};
        frame[23] = kProtocols[random() % 3];
        frame[38] = 0;
        frame[39] = static_cast<std::uint8_t>(ip - 20);
        frame[46 % frame.size()] = 0x50;
        taken += agrees(frame) ? 1 : 0;
    }
    BOOST_TEST(taken > frames / 2);
}

BOOST_AUTO_TEST_CASE(the_values_0_and_ffff_mean_what_they_mean_to_the_verifier) {
    const auto put = [](Octets& frame, std::size_t at, std::uint16_t value) {
        frame[at] = static_cast<std::uint8_t>(value >> 8);
        frame[at + 1] = static_cast<std::uint8_t>(value);
    };
    // All values of a payload word, so that every checksum occurs; each beside 0 and 0xffff.
    constexpr std::pair<std::uint8_t, std::size_t> kChecksums[] = {{1, 36}, {6, 50}, {17, 40}};
    for (const auto& [protocol, field] : kChecksums) {
        for (unsigned value = 0; value < 0x10000; value += 7) {
            const Octets data{static_cast<std::uint8_t>(value >> 8),
                              static_cast<std::uint8_t>(value)};
            Octets frame = plain4({.protocol = protocol}, transport_around(protocol, data));
            BOOST_REQUIRE(agrees(frame));
            put(frame, field, 0);
            BOOST_REQUIRE(agrees(frame));
            put(frame, field, 0xffff);
            BOOST_REQUIRE(agrees(frame));
            put(frame, 18, static_cast<std::uint16_t>(value));  // the identification
            put(frame, 24, value % 2 == 0 ? 0 : 0xffff);
            BOOST_REQUIRE(agrees(frame));
        }
    }
    // The identification that makes the header checksum 0.
    Octets ip = raw::ipv4({}, raw::udp(1, 2, {}));
    Octets frame = raw::ethernet(0x0800, ip);
    put(frame, 18, 0);
    const std::uint16_t sum = frame::folded(frame::sum_bytes(frame::Bytes(frame).subspan(14, 20)));
    put(frame, 18, static_cast<std::uint16_t>(~sum));
    QuickFrame quick;
    BOOST_REQUIRE(agrees(frame) && kQuick.judge(frame, quick));
    BOOST_TEST(quick.code.bad() == 0u);
    put(frame, 24, 0xffff);
    BOOST_REQUIRE(agrees(frame) && kQuick.judge(frame, quick));
    BOOST_TEST(quick.code.bad() == QuickCode::kBadIp);
    BOOST_TEST(agrees(raw::ethernet(0x0800, raw::ipv4({.protocol = 1}, Octets(16)))));
}

BOOST_AUTO_TEST_CASE(what_carries_a_tunnel_is_told_by_each_of_up_to_four_ports) {
    const Octets inner = plain4({}, raw::udp(1, 2, raw::text("abc")));
    const std::uint16_t ports[] = {1, 0x8000, 4789, 65535};
    for (std::size_t used = 0; used <= 4; ++used) {
        const QuickVerifier quick{std::span(ports).first(used)};
        for (const unsigned port : {0u, 1u, 2u, 0x8000u, 4788u, 4789u, 65535u}) {
            const Octets outer =
                plain4({}, raw::udp(3, static_cast<std::uint16_t>(port), raw::vxlan(1, inner)));
            QuickFrame found;
            BOOST_REQUIRE(quick.judge(outer, found));
            const bool tunnel = std::count(ports, ports + used, port) != 0;
            BOOST_TEST((found.code.envelope() != QuickCode::Envelope::kNone) == tunnel);
        }
    }
    const std::uint16_t five[] = {1, 2, 3, 4, 5};
    QuickFrame found;
    BOOST_TEST(!QuickVerifier(five).judge(inner, found));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(quick_sum)

BOOST_AUTO_TEST_CASE(sums_of_every_length_are_the_byte_wise_sums) {
    raw::Random random(5);
    for (std::size_t length = 8; length < 2'000; ++length) {
        Octets data(length);
        const bool all_ones = length % 3 == 0;  // every addition carries
        for (std::uint8_t& octet : data) {
            octet = all_ones ? 0xff : random.octet();
        }
        std::uint64_t slow = 0;
        for (std::size_t i = 0; i < length; ++i) {
            slow += std::uint64_t{data[i]} << (i % 2 == 0 ? 8 : 0);
        }
        const Block block(data);
        std::uint64_t fast = judge::quick_sum(block.span().data(), length);
        const auto swapped = [](std::uint64_t sum) {
            sum %= 0xffff;
            return (sum << 8 | sum >> 8) & 0xffff;
        };
        BOOST_REQUIRE_EQUAL(swapped(fast) % 0xffff, slow % 0xffff);
    }
}

BOOST_AUTO_TEST_CASE(only_multiples_of_ffff_that_are_not_0_sum_up) {
    BOOST_TEST(!sums_up(0));
    BOOST_TEST(sums_up(0xffff));
    BOOST_TEST(sums_up(~std::uint64_t{0}));
    raw::Random random(6);
    for (std::size_t i = 0; i < test::how_many(100'000); ++i) {
        const std::uint64_t sum = std::uint64_t{random()} << 32 | random();
        BOOST_REQUIRE_EQUAL(sums_up(sum), sum % 0xffff == 0);
        const std::uint64_t multiple = sum - sum % 0xffff;
        BOOST_REQUIRE_EQUAL(sums_up(multiple), multiple != 0);
    }
}

BOOST_AUTO_TEST_SUITE_END()
