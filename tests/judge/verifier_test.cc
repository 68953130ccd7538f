#include "dataplane/judge/verifier.h"

#include <boost/test/unit_test.hpp>
#include <functional>
#include <memory>

#include "dataplane/base/be.h"
#include "dataplane/frame/checksum.h"
#include "dataplane/frame/view.h"
#include "tests/how_many.h"
#include "tests/judge/every_kind.h"
#include "tests/judge/judged.h"

BOOST_AUTO_TEST_SUITE(verifier)

using namespace pathproof;
using namespace pathproof::judge;
using namespace pathproof::judged;

namespace {

FrameVerdict both(const Octets& frame) {
    const FrameVerdict fast = verify(frame, kTunnelPorts);
    BOOST_REQUIRE_EQUAL(text(fast), text(verify_slowly(frame, kTunnelPorts)));
    return fast;
}

bool all_good(const FrameVerdict& verdict) {
    for (const ChecksumFinding& finding : verdict.all()) {
        if (finding.state != ChecksumState::kGood) {
            return false;
        }
    }
    return verdict.malformed == Malformed::kNone && verdict.count > 0;
}

const ChecksumFinding* find(const FrameVerdict& verdict, const char* layer) {
    for (const ChecksumFinding& finding : verdict.all()) {
        if (word(finding.layer) == layer) {
            return &finding;
        }
    }
    return nullptr;
}

// The state at one layer; fails the test if the layer was not judged at all.
ChecksumState state(const Octets& frame, const char* layer) {
    const FrameVerdict verdict = both(frame);
    const ChecksumFinding* finding = find(verdict, layer);
    BOOST_REQUIRE_MESSAGE(finding != nullptr, layer << " was not judged: " << text(verdict));
    return finding->state;
}

// Chooses the last two payload bytes of a UDP or TCP packet so that its computed checksum is
// `wanted`.
Octets with_computed(std::uint8_t protocol, std::uint16_t wanted) {
    for (unsigned value = 0; value < 0x10000; ++value) {
        const Octets data{1, 2, static_cast<std::uint8_t>(value >> 8),
                          static_cast<std::uint8_t>(value)};
        const Octets frame = plain4({.protocol = protocol},
                                    protocol == 17 ? raw::udp(7, 8, data) : raw::tcp(7, 8, data));
        const std::size_t field = protocol == 17 ? 40 : 50;
        if (frame::view<Be16>(frame, field)->value() == wanted) {
            return frame;
        }
    }
    BOOST_FAIL("no such packet");
    return {};
}

// Draws none to two hosts of a routing header, all different.
Octets random_hosts(raw::Random& random) {
    return random.octets(random.below(3));
}

Octets extension_header(std::uint8_t kind, std::uint8_t next, raw::Random& random) {
    switch (kind) {
        case 43:
            return raw::ipv6_route(next, static_cast<std::uint8_t>(random() % 5),
                                   random.octet() % 3 & 1, random_hosts(random));
        case 44:
            return raw::ipv6_fragment(next, random() % 4 == 0 ? random.word() : std::uint16_t{0});
        default: return raw::ipv6_options(next, static_cast<std::uint8_t>(1 + random() % 2));
    }
}

// Sums like a verifier with one mistake; used to show that the healthy frames would convict it.
using BrokenSum = std::function<std::uint16_t(const Octets&, const frame::PacketView&)>;

std::uint16_t healthy_sum(const Octets& frame, const frame::PacketView& packet, std::size_t covered,
                          std::uint32_t length) {
    Octets data(frame.begin() + packet.transport_offset,
                frame.begin() + packet.transport_offset + static_cast<std::ptrdiff_t>(covered));
    put(data, packet.transport == frame::Transport::kTcp ? 16 : 6, 0);
    return frame::udp_checksum_of(frame::sum_bytes(
        data,
        frame::pseudo_header_sum(packet.source, packet.destination, packet.protocol, length)));
}

// Counts the healthy UDP and TCP frames that a verifier with this sum would call bad.
int false_alarms(const BrokenSum& sum) {
    raw::Random random(99);
    int alarms = 0;
    for (int i = 0; i < 2000; ++i) {
        const Octets frame = common_frame(random, 0);
        const frame::PacketView packet = frame::parse_frame(frame, {}).outer;
        const bool udp = packet.transport == frame::Transport::kUdp;
        if (!udp && packet.transport != frame::Transport::kTcp) {
            continue;
        }
        const std::uint16_t wire =
            frame::view<Be16>(frame, packet.transport_offset + (udp ? 6u : 16u))->value();
        alarms +=
            sum(frame, packet) != wire && !(wire == 0 && sum(frame, packet) == 0xffff) ? 1 : 0;
    }
    return alarms;
}

}  // namespace

BOOST_AUTO_TEST_CASE(frames_that_rte_net_sealed_are_good_to_the_fast_judge_and_the_oracle) {
    raw::Random random(1);
    for (std::size_t i = 0; i < test::how_many(20'000); ++i) {
        const Octets frame = common_frame(random, i);
        const FrameVerdict verdict = both(frame);
        BOOST_REQUIRE_MESSAGE(all_good(verdict), "frame " << i << ": " << text(verdict));
    }
}

BOOST_AUTO_TEST_CASE(payloads_of_one_byte_value_are_good_too) {
    raw::Random random(2);
    for (std::size_t i = 0; i < 2'000; ++i) {
        const int fill = i % 2 == 0 ? 0x00 : 0xff;  // 0xff: every addition carries
        const Octets frame = common_frame(random, i / 2, fill);
        BOOST_REQUIRE_MESSAGE(all_good(both(frame)), "frame " << i);
    }
}

BOOST_AUTO_TEST_CASE(both_sides_of_a_tunnel_are_judged_and_named) {
    raw::Random random(3);
    const Octets inner = plain4({.protocol = 6}, raw::tcp(1, 2, raw::text("data")));
    const FrameVerdict verdict = both(plain4({}, raw::udp(3, 4789, raw::vxlan(1, inner))));
    BOOST_TEST(text(verdict).find("outer.ipv4") != std::string::npos);
    BOOST_REQUIRE(verdict.count == 4);
    BOOST_TEST(word(verdict.findings[1].layer) == "outer.udp");
    BOOST_TEST(name(verdict.findings[2].layer) == "inner IPv4");
    BOOST_TEST(word(verdict.findings[3].layer) == "inner.tcp");
    BOOST_TEST(verdict.findings[3].field_offset == 14 + 20 + 8 + 8 + 14 + 20 + 16);
}

BOOST_AUTO_TEST_CASE(any_flipped_bit_under_a_checksum_is_seen) {
    raw::Random random(4);
    for (int i = 0; i < 5'000; ++i) {
        Octets frame = common_frame(random, 0);
        const frame::PacketView packet = frame::parse_frame(frame, kTunnelPorts).outer;
        // Lengths and the choice of layers stay, so that the frame is still read the same way.
        const std::size_t in_header = packet.transport == frame::Transport::kUdp ? 0 : 3;
        const std::size_t at = packet.payload_length > 0
                                   ? packet.payload_offset + random() % packet.payload_length
                                   : packet.transport_offset + in_header;
        frame[at] ^= static_cast<std::uint8_t>(1u << random() % 8);
        BOOST_REQUIRE_MESSAGE(both(frame).any_bad(), "frame " << i << " at " << at);
    }
}

BOOST_AUTO_TEST_CASE(a_wrong_layer_is_found_without_blaming_the_others) {
    const Octets inner = plain4({.protocol = 6}, raw::tcp(1, 2, raw::text("data")));
    const Octets healthy = plain4({}, raw::udp(3, 4789, raw::vxlan(1, inner)));
    for (const auto& [offset, layer] : {std::pair{24, "outer.ipv4"}, std::pair{40, "outer.udp"}}) {
        Octets frame = healthy;
        frame[offset] ^= 0x55;
        const FrameVerdict verdict = both(frame);
        for (const ChecksumFinding& finding : verdict.all()) {
            const bool blamed = finding.state == ChecksumState::kBad;
            BOOST_TEST(blamed == (word(finding.layer) == layer), word(finding.layer));
        }
    }
}

BOOST_AUTO_TEST_CASE(udp_0_is_disabled_over_ipv4_and_outside_a_tunnel_only) {
    Octets four = plain4({}, raw::udp(1, 2, raw::text("abc")));
    put(four, 40, 0);
    BOOST_TEST((state(four, "plain.udp") == ChecksumState::kDisabled));
    Octets six = plain6(17, raw::udp(1, 2, raw::text("abc")));
    put(six, 60, 0);
    BOOST_TEST((state(six, "plain.udp") == ChecksumState::kBad));
    const Octets inner = plain4({}, raw::udp(1, 2, raw::text("abc")));
    Octets tunnel = plain6(17, raw::udp(1, 4789, raw::vxlan(1, inner)));
    put(tunnel, 60, 0);
    BOOST_TEST((state(tunnel, "outer.udp") == ChecksumState::kDisabled));
    BOOST_TEST((state(tunnel, "inner.udp") == ChecksumState::kGood));
    const std::size_t inner_field = 14 + 40 + 8 + 8 + 14 + 20 + 6;
    put(tunnel, inner_field, 0);  // B10
    BOOST_TEST((state(tunnel, "inner.udp") == ChecksumState::kDisabled));
}

BOOST_AUTO_TEST_CASE(a_computed_0_is_ffff_in_udp_and_either_in_tcp) {
    Octets udp = with_computed(17, 0xffff);
    BOOST_TEST((state(udp, "plain.udp") == ChecksumState::kGood));
    put(udp, 40, 0);
    BOOST_TEST((state(udp, "plain.udp") == ChecksumState::kDisabled));
    Octets tcp = with_computed(6, 0);
    BOOST_TEST((state(tcp, "plain.tcp") == ChecksumState::kGood));
    put(tcp, 50, 0xffff);
    BOOST_TEST((state(tcp, "plain.tcp") == ChecksumState::kGood));
    put(tcp, 50, 1);
    BOOST_TEST((state(tcp, "plain.tcp") == ChecksumState::kBad));
}

BOOST_AUTO_TEST_CASE(an_ipv4_header_may_say_0_where_it_may_not_say_ffff) {
    Octets frame = plain4({}, raw::udp(1, 2, {}));
    const std::uint16_t before = frame::view<Be16>(frame, 24)->value();
    // The identification grows by the checksum, which so becomes 0.
    const std::uint16_t id = frame::view<Be16>(frame, 18)->value();
    put(frame, 18, static_cast<std::uint16_t>(id + before + (id + before > 0xffff ? 1 : 0)));
    put(frame, 24, 0);
    BOOST_TEST((state(frame, "plain.ipv4") == ChecksumState::kGood));
    put(frame, 24, 0xffff);
    BOOST_TEST((state(frame, "plain.ipv4") == ChecksumState::kBad));
}

// Found by fuzzing: the field taken out of the whole sum left 0xffff instead of 0. Linux drops such
// a message too.
BOOST_AUTO_TEST_CASE(an_icmp_message_of_zeros_is_bad_and_wants_ffff) {
    Octets frame = raw::ethernet(0x0800, raw::ipv4({.protocol = 1}, Octets(16)));
    BOOST_TEST((state(frame, "plain.icmp") == ChecksumState::kBad));
    put(frame, 36, 0xffff);
    BOOST_TEST((state(frame, "plain.icmp") == ChecksumState::kGood));
}

BOOST_AUTO_TEST_CASE(fragments_make_no_claim_about_their_transport) {
    const Octets datagram = raw::udp(1, 53, Octets(64, 3));
    const auto fragment = [&](std::uint16_t field) {
        Octets frame = plain4({.fragment = field}, datagram);
        frame[40] ^= 0x11;
        return frame;
    };
    BOOST_TEST((state(fragment(0x2000), "plain.udp") == ChecksumState::kUnverifiable));
    BOOST_TEST((state(fragment(0x2004), "plain.udp") == ChecksumState::kUnverifiable));
    BOOST_TEST((state(fragment(0x0004), "plain.udp") == ChecksumState::kUnverifiable));
    BOOST_TEST((state(fragment(0x0004), "plain.ipv4") == ChecksumState::kGood));
    BOOST_TEST((state(fragment(0x4000), "plain.udp") == ChecksumState::kBad));
    const Octets later = raw::joined({raw::ipv6_fragment(6, 0x0101), Octets(32, 1)});
    BOOST_TEST((state(raw::ethernet(0x86dd, raw::ipv6(44, later)), "plain.tcp") ==
                ChecksumState::kUnverifiable));
}

BOOST_AUTO_TEST_CASE(a_udp_length_short_of_the_ip_payload_is_judged_by_the_udp_length) {
    Octets datagram = raw::udp(1, 2, raw::text("abc"));
    Octets frame = plain4({}, datagram);
    raw::append(frame, raw::text("tail"));
    put(frame, 16,
        static_cast<std::uint16_t>(frame.size() - 14));  // B8: the tail belongs to the IP packet
    put(frame, 24, 0);
    put(frame, 24, frame::checksum_of(frame::sum_bytes(frame::Bytes(frame).subspan(14, 20))));
    BOOST_TEST(all_good(both(frame)), text(both(frame)));
}

BOOST_AUTO_TEST_CASE(ipv6_extension_headers_are_no_part_of_the_sum_but_the_last_hop_is) {
    // Sealed as if the packet were at its last hop (2001:db8::9), then sent on its way to ::2 with
    // one hop left.
    const Octets segment = raw::tcp(1, 2, raw::text("routed"));
    Octets sealed = raw::ipv6(6, segment, 9);
    seal_ipv6(sealed);
    const Octets transport(sealed.begin() + 40, sealed.end());
    const auto routed = [&](std::uint8_t type, std::uint8_t left, std::vector<std::uint8_t> hosts) {
        return raw::ethernet(
            0x86dd,
            raw::ipv6(0,
                      raw::joined({raw::ipv6_options(43, 2), raw::ipv6_route(60, type, left, hosts),
                                   raw::ipv6_options(44), raw::ipv6_fragment(6, 0), transport})));
    };
    BOOST_TEST((state(routed(4, 1, {9, 2}), "plain.tcp") == ChecksumState::kGood));
    BOOST_TEST((state(routed(0, 1, {2, 9}), "plain.tcp") == ChecksumState::kGood));
    BOOST_TEST((state(routed(4, 0, {9, 2}), "plain.tcp") == ChecksumState::kBad));
    BOOST_TEST((state(routed(3, 1, {9}), "plain.tcp") == ChecksumState::kUnverifiable));
}

BOOST_AUTO_TEST_CASE(frames_cut_short_are_malformed_and_accuse_nobody) {
    raw::Random random(5);
    for (std::size_t i = 0; i < 60; ++i) {
        const Octets frame = common_frame(random, i);
        for (std::size_t length = 0; length < frame.size(); ++length) {
            const auto block = std::make_unique<std::uint8_t[]>(length);
            std::copy_n(frame.begin(), length, block.get());
            const std::span<const std::uint8_t> cut(block.get(), length);
            const FrameVerdict verdict = verify(cut, kTunnelPorts);
            BOOST_REQUIRE_EQUAL(text(verdict), text(verify_slowly(cut, kTunnelPorts)));
            BOOST_REQUIRE(!verdict.any_bad());
        }
    }
}

BOOST_AUTO_TEST_CASE(judge_and_oracle_agree_on_frames_broken_at_random) {
    raw::Random random(6);
    for (std::size_t i = 0; i < test::how_many(100'000); ++i) {
        Octets frame = common_frame(random, i);
        for (unsigned change = random() % 4; change > 0; --change) {
            // Headers are hit more often than data.
            const std::size_t reach =
                random() % 2 == 0 ? std::min<std::size_t>(frame.size(), 60) : frame.size();
            frame[random() % reach] = random.octet();
        }
        if (random() % 4 == 0) {
            frame.resize(random() % (frame.size() + 1));
        }
        const FrameVerdict fast = verify(frame, kTunnelPorts);
        BOOST_REQUIRE_EQUAL(text(fast), text(verify_slowly(frame, kTunnelPorts)));
    }
}

BOOST_AUTO_TEST_CASE(judge_and_oracle_agree_on_chains_of_ipv6_headers) {
    raw::Random random(7);
    for (std::size_t i = 0; i < test::how_many(50'000); ++i) {
        Octets chain;
        std::vector<std::uint8_t> kinds;
        for (unsigned count = random() % 11; count > 0; --count) {
            constexpr std::uint8_t kKinds[] = {0, 43, 44, 60};
            kinds.push_back(kKinds[random() % 4]);
        }
        kinds.push_back(random() % 2 == 0 ? 17 : 6);
        for (std::size_t k = 0; k + 1 < kinds.size(); ++k) {
            raw::append(chain, extension_header(kinds[k], kinds[k + 1], random));
        }
        raw::append(chain, kinds.back() == 17 ? raw::udp(1, 53, Octets(random() % 9))
                                              : raw::tcp(1, 80, Octets(random() % 9)));
        Octets frame = raw::ethernet(0x86dd, raw::ipv6(kinds[0], chain));
        frame.resize(frame.size() - (random() % 3 == 0 ? random() % 60 : 0));
        both(frame);
    }
}

BOOST_AUTO_TEST_CASE(a_sum_with_a_mistake_is_convicted_by_the_healthy_frames) {
    using frame::PacketView;
    BOOST_TEST(false_alarms([](const Octets& frame, const PacketView& packet) {
                   return healthy_sum(frame, packet, packet.transport_length,
                                      packet.transport_length);
               }) == 0);
    const int padding_summed = false_alarms([](const Octets& frame, const PacketView& packet) {
        return healthy_sum(frame, packet, packet.transport_length + packet.trailer_length,
                           packet.transport_length);
    });
    BOOST_TEST(padding_summed > 200);
    const int odd_byte_lost = false_alarms([](const Octets& frame, const PacketView& packet) {
        return healthy_sum(frame, packet, packet.transport_length & ~1u, packet.transport_length);
    });
    BOOST_TEST(odd_byte_lost > 200);
    const int no_carry = false_alarms([](const Octets& frame, const PacketView& packet) {
        const std::uint32_t field = packet.transport == frame::Transport::kUdp ? 6 : 16;
        frame::PartialSum sum = frame::pseudo_header_sum(packet.source, packet.destination,
                                                         packet.protocol, packet.transport_length);
        std::uint16_t total = static_cast<std::uint16_t>(__builtin_bswap16(frame::folded(sum)));
        for (std::uint32_t at = 0; at < packet.transport_length; at += 2) {
            const std::size_t place = packet.transport_offset + at;
            const std::uint8_t high = frame[place];
            const std::uint8_t low =
                at + 1 < packet.transport_length ? frame[place + 1] : std::uint8_t{0};
            const std::uint16_t value =
                at == field ? 0 : static_cast<std::uint16_t>(low << 8 | high);
            total = static_cast<std::uint16_t>(total + value);
        }
        return static_cast<std::uint16_t>(~__builtin_bswap16(total));
    });
    BOOST_TEST(no_carry > 200);
}

BOOST_AUTO_TEST_CASE(a_verifier_without_the_zero_rule_would_convict_a_healthy_frame) {
    const Octets frame = with_computed(17, 0xffff);
    const frame::PacketView packet = frame::parse_frame(frame, {}).outer;
    Octets data(frame.begin() + packet.transport_offset, frame.end());
    put(data, 6, 0);
    const auto sum = frame::sum_bytes(
        data,
        frame::pseudo_header_sum(packet.source, packet.destination, 17, packet.transport_length));
    BOOST_TEST(frame::checksum_of(sum) == 0);  // what it would hold against the 0xffff on the wire
    BOOST_TEST(frame::udp_checksum_of(sum) == 0xffff);
    BOOST_TEST(all_good(both(frame)));
}

BOOST_AUTO_TEST_CASE(traffic_that_carries_no_internet_checksum_is_passed_over) {
    Octets esp = raw::ipv4({.protocol = 50}, Octets(32, 9));
    Octets pptp = raw::ipv4({.protocol = 47}, Octets(32, 9));  // GRE of version 1
    for (Octets* ip : {&esp, &pptp}) {
        const std::uint16_t sum = frame::checksum_of(frame::sum_bytes(frame::Bytes(*ip).first(20)));
        put(*ip, 10, sum);
        const FrameVerdict verdict = both(raw::ethernet(0x0800, *ip));
        BOOST_TEST(verdict.count == 1);
        BOOST_TEST(all_good(verdict));
    }
    BOOST_TEST(both(raw::ethernet(0x0806, Octets(46))).count == 0);
}

BOOST_AUTO_TEST_CASE(an_icmp_error_is_judged_by_itself_and_not_by_what_it_quotes) {
    Octets quoted = raw::ipv4({}, raw::udp(1, 2, raw::text("quoted")));
    seal_ipv4(quoted);
    quoted.resize(28);  // B11: cut behind the UDP header, and its destination rewritten by NAT
    quoted[19] ^= 0x55;
    const Octets frame = plain4({.protocol = 1}, raw::icmp(3, 0, quoted));
    BOOST_TEST(all_good(both(frame)), text(both(frame)));
    BOOST_TEST(both(frame).count == 2);
}

// B17, B18: what a router and a NAT change, and how RFC 1624 brings the sums after it.
BOOST_AUTO_TEST_CASE(a_packet_that_was_routed_and_translated_rightly_is_good) {
    raw::Random random(8);
    for (int i = 0; i < 5'000; ++i) {
        Octets frame =
            plain4({.source = random()}, raw::udp(random.word(), 53, Octets(random.below(60), 7)));
        const auto rewrite = [&](std::size_t at, std::uint16_t value,
                                 std::vector<std::size_t> fields) {
            const std::uint16_t old_word = frame::view<Be16>(frame, at)->value();
            for (const std::size_t field : fields) {
                const std::uint16_t sum = frame::view<Be16>(frame, field)->value();
                const std::uint16_t updated = frame::updated_checksum(sum, old_word, value);
                put(frame, field, field == 40 && updated == 0 ? 0xffff : updated);
            }
            put(frame, at, value);
        };
        rewrite(22, static_cast<std::uint16_t>(63 << 8 | 17), {24});  // TTL
        rewrite(26, random.word(), {24, 40});                         // source address
        rewrite(28, random.word(), {24, 40});
        rewrite(34, random.word(), {40});  // source port
        BOOST_REQUIRE_MESSAGE(all_good(both(frame)), text(both(frame)));
    }
}

// B21, draft-smith-vxlan-group-policy: the G flag, a group and VNI 0 are legal.
BOOST_AUTO_TEST_CASE(a_tunnel_header_with_a_group_is_no_reason_for_alarm) {
    Octets header = raw::vxlan(0, plain4({}, raw::udp(1, 2, raw::text("abc"))));
    header[0] = 0x88;
    put(header, 2, 0x1234);
    const FrameVerdict verdict = both(plain4({}, raw::udp(3, 4789, header)));
    BOOST_TEST(all_good(verdict));
    BOOST_TEST(verdict.count == 4);
}

BOOST_AUTO_TEST_CASE(layers_have_names_and_words_of_their_own) {
    std::vector<std::string> seen;
    for (std::size_t i = 0; i < kLayerCount; ++i) {
        BOOST_TEST(index_of(layer_at(i)) == i);
        seen.push_back(name(layer_at(i)));
        seen.push_back(word(layer_at(i)));
    }
    std::sort(seen.begin(), seen.end());
    BOOST_TEST((std::unique(seen.begin(), seen.end()) == seen.end()));
}

BOOST_AUTO_TEST_SUITE_END()
