#include "dataplane/judge/checksum_names.h"

#include <boost/test/unit_test.hpp>

#include "dataplane/frame/checksum.h"
#include "dataplane/frame/template.h"
#include "tests/judge/naming.h"

BOOST_AUTO_TEST_SUITE(checksum_names)

using namespace pathproof;
using namespace pathproof::judge;
using namespace pathproof::judged;
using frame::ChecksumMode;
using frame::FrameSpec;
using frame::FrameTemplate;
using frame::Transport;

namespace {

using Names = std::vector<ChecksumName>;

const char* inner_layer(Transport transport) {
    if (transport == Transport::kTcp) {
        return "inner.tcp";
    }
    return transport == Transport::kUdp ? "inner.udp" : "inner.icmp";
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_value_wrong_on_purpose_is_seen_bad_and_gets_its_name) {
    struct Case {
        ChecksumMode mode;
        ChecksumName name;
    };
    const Case cases[] = {{ChecksumMode::kZero, ChecksumName::kFieldZero},
                          {ChecksumMode::kPseudo, ChecksumName::kPseudo},
                          {ChecksumMode::kComplement, ChecksumName::kComplement},
                          {ChecksumMode::kPlusOne, ChecksumName::kCarry},
                          {ChecksumMode::kStaleSourcePort, ChecksumName::kStaleTuple},
                          {ChecksumMode::kSwapped, ChecksumName::kSwapped},
                          {ChecksumMode::kRandom, ChecksumName::kUnknown}};
    for (const Case& each : cases) {
        for (const Transport transport : {Transport::kTcp, Transport::kUdp, Transport::kIcmp}) {
            raw::Random random(21);
            const bool zero_udp = transport == Transport::kUdp && each.mode == ChecksumMode::kZero;
            std::vector<Octets> frames;
            OriginalTuple original;
            for (int i = 0; i < 8; ++i) {
                FrameSpec spec = tunnel_spec(random, transport);
                spec.packet.transport_checksum = each.mode;
                original = {spec.packet.source, spec.packet.destination};
                original.source.port = spec.stale_source_port;
                if (const auto model = FrameTemplate::make(spec); model && !zero_udp) {
                    frames.push_back(rendered(spec));
                }
            }
            if (frames.empty()) {
                continue;  // a mode that the protocol does not know; zero under UDP is legal
            }
            const char* layer = inner_layer(transport);
            const ChecksumName name = voted(frames, layer, original);
            BOOST_TEST(judge::name(name) == judge::name(each.name), frame::name(each.mode)
                                                                        << " " << layer);
            // The envelope was summed around the wrong value, and is right.
            BOOST_TEST((at(frames[0], "outer.udp").state == ChecksumState::kGood));
        }
    }
}

BOOST_AUTO_TEST_CASE(an_envelope_and_an_ip_header_wrong_on_purpose_get_their_names) {
    const auto vote = [](const char* layer, auto change,
                         std::optional<OriginalTuple> original = {}) {
        raw::Random random(22);
        std::vector<Octets> frames;
        for (std::uint16_t i = 0; i < 8; ++i) {
            FrameSpec spec = tunnel_spec(random);
            spec.tunnel->outer.identification = static_cast<std::uint16_t>(i * 0x0701);
            spec.packet.identification = static_cast<std::uint16_t>(i * 0x0301);
            change(spec);
            frames.push_back(rendered(spec));
        }
        return std::string(name(voted(frames, layer, original)));
    };
    BOOST_TEST(vote("outer.udp", [](FrameSpec& s) {
                   s.tunnel->outer.transport_checksum = ChecksumMode::kPseudo;
               }) == "PSEUDO");
    const OriginalTuple original{*frame::parse_endpoint("198.51.100.1:44246"),
                                 *frame::parse_endpoint("198.51.100.2:4789")};
    BOOST_TEST(vote(
                   "outer.udp",
                   [](FrameSpec& s) {
                       s.tunnel->outer.transport_checksum = ChecksumMode::kStaleSourcePort;
                   },
                   original) == "STALE");
    for (const char* layer : {"outer.ipv4", "inner.ipv4"}) {
        const bool outer = layer[0] == 'o';
        const auto with = [&](ChecksumMode mode) {
            return vote(layer, [&](FrameSpec& s) {
                (outer ? s.tunnel->outer : s.packet).ip_checksum = mode;
            });
        };
        BOOST_TEST(with(ChecksumMode::kZero) == "FIELD_ZERO");
        BOOST_TEST(with(ChecksumMode::kComplement) == "COMPLEMENT");
        BOOST_TEST(with(ChecksumMode::kSwapped) == "SWAP");
        BOOST_TEST(with(ChecksumMode::kRandom) == "UNKNOWN");
    }
}

BOOST_AUTO_TEST_CASE(partial_sums_without_length_or_inverted_are_told_from_plain_ones) {
    raw::Random random(23);
    std::vector<Octets> without_length;
    std::vector<Octets> inverted;
    for (int i = 0; i < 5; ++i) {
        const FrameSpec spec = tunnel_spec(random);
        const Octets frame = rendered(spec);
        const auto pseudo = [&](std::uint32_t length) {
            return frame::folded(frame::pseudo_header_sum(
                spec.packet.source.address, spec.packet.destination.address, 6, length));
        };
        const auto length = static_cast<std::uint32_t>(20 + spec.payload.size());
        without_length.push_back(spoiled(frame, "inner.tcp", [&](auto) { return pseudo(0); }));
        inverted.push_back(spoiled(
            frame, "inner.tcp", [&](auto) { return static_cast<std::uint16_t>(~pseudo(length)); }));
    }
    BOOST_TEST((voted(without_length, "inner.tcp") == ChecksumName::kPseudoNoLength));
    BOOST_TEST((voted(inverted, "inner.tcp") == ChecksumName::kPseudoInverted));
}

BOOST_AUTO_TEST_CASE(
    a_nat_that_updates_a_disabled_checksum_is_named_with_and_without_a_new_address) {
    const OriginalTuple original{*frame::parse_endpoint("198.51.100.7:45000"),
                                 *frame::parse_endpoint("198.51.100.2:4789")};
    raw::Random random(24);
    std::vector<Octets> port_only;
    std::vector<Octets> address_too;
    for (int i = 0; i < 5; ++i) {
        const Octets frame = rendered(tunnel_spec(random));
        port_only.push_back(
            spoiled(frame, "outer.udp", [](auto) { return std::uint16_t{0xffff}; }));
        // fold(~old + new) with 198.51.100.7 become 198.51.100.1
        address_too.push_back(
            spoiled(frame, "outer.udp", [](auto) { return std::uint16_t{0xfff9}; }));
    }
    BOOST_TEST((voted(port_only, "outer.udp") == ChecksumName::kNat0));
    BOOST_TEST((voted(address_too, "outer.udp", original) == ChecksumName::kNat0));
    BOOST_TEST((voted(address_too, "outer.udp") == ChecksumName::kUnknown));
}

BOOST_AUTO_TEST_CASE(an_outer_sum_made_too_early_is_named) {
    for (const bool pseudo : {false, true}) {
        raw::Random random(25);
        std::vector<Octets> frames;
        for (int i = 0; i < 5; ++i) {
            FrameSpec early = tunnel_spec(random);
            const Octets healthy = rendered(early);
            early.packet.transport_checksum = pseudo ? ChecksumMode::kPseudo : ChecksumMode::kZero;
            const auto made_early =
                static_cast<std::uint16_t>(at(rendered(early), "outer.udp").wire);
            frames.push_back(spoiled(healthy, "outer.udp", [&](auto) { return made_early; }));
        }
        BOOST_TEST((voted(frames, "outer.udp") == ChecksumName::kOuterBeforeInner));
    }
}

BOOST_AUTO_TEST_CASE(padding_that_was_summed_and_a_last_byte_that_was_not_are_named) {
    raw::Random random(26);
    std::vector<Octets> padded;
    std::vector<Octets> odd;
    for (int i = 0; i < 6; ++i) {
        const Octets data = random.octets(9 + 2 * random.below(5));  // odd
        const Octets frame = plain4({}, raw::udp(1000, 53, data));
        Octets with_trailer = frame;
        raw::append(with_trailer, random.octets(5));
        Octets longer = with_trailer;
        const std::size_t length = longer.size() - 34;
        // Checksum of a sender that sums `bytes` bytes from the UDP header on, with the right
        // length in the pseudo-header. Up to the end of the frame it sums the padding, too.
        const auto summed = [&](std::size_t bytes) {
            Octets body(longer.begin() + 34,
                        longer.begin() + 34 + static_cast<std::ptrdiff_t>(bytes));
            put(body, 6, 0);
            return frame::udp_checksum_of(frame::sum_bytes(
                body, frame::pseudo_header_sum(frame::IpAddress::v4(0xc6120001),
                                               frame::IpAddress::v4(0xc6120102), 17,
                                               static_cast<std::uint32_t>(8 + data.size()))));
        };
        padded.push_back(spoiled(with_trailer, "plain.udp", [&](auto) { return summed(length); }));
        odd.push_back(
            spoiled(frame, "plain.udp", [&](auto) { return summed(8 + data.size() - 1); }));
    }
    BOOST_TEST((voted(padded, "plain.udp") == ChecksumName::kPadData));
    BOOST_TEST((voted(odd, "plain.udp") == ChecksumName::kOddLastDropped));
}

BOOST_AUTO_TEST_CASE(udp_over_ipv6_with_0_is_a_zero_not_mangled_or_a_field_left_alone) {
    std::vector<std::string> seen;
    for (const bool computed_zero : {true, false}) {
        Octets frame = plain6(17, raw::udp(1, 2, {1, 2, 3, 4, 5, 6}));
        if (computed_zero) {
            put(frame, 60, 0xffff);
            frame = computing(frame, "plain.udp", frame.size() - 2, 0xffff);
        }
        put(frame, 60, 0);
        seen.push_back(names_at(frame, "plain.udp"));
    }
    BOOST_TEST(seen[0] == "ZERO_NOT_MANGLED");
    BOOST_TEST(seen[1] == "FIELD_ZERO");
}

BOOST_AUTO_TEST_CASE(an_ipv4_header_of_ffff_is_a_carry) {
    Octets frame = raw::ethernet(0x0800, raw::ipv4({}, raw::udp(1, 2, {})));
    put(frame, 24, 0xffff);
    frame = computing(frame, "plain.ipv4", 18, 0);
    BOOST_TEST(names_at(frame, "plain.ipv4") == "CARRY");
}

BOOST_AUTO_TEST_CASE(mistakes_unknown_to_the_namer_stay_unknown) {
    raw::Random random(27);
    const OriginalTuple original{*frame::parse_endpoint("198.51.100.1:44246"),
                                 *frame::parse_endpoint("198.51.100.2:4789")};
    for (const Mistake& wrong : strange_mistakes()) {
        std::vector<Octets> frames;
        for (int i = 0; i < 6; ++i) {
            frames.push_back(spoiled(rendered(tunnel_spec(random)), "outer.udp", wrong));
        }
        BOOST_TEST(name(voted(frames, "outer.udp", original)) == "UNKNOWN");
    }
}

BOOST_AUTO_TEST_CASE(a_vote_wants_three_right_values_and_one_name_that_fits_all) {
    const auto finding = [](std::uint16_t right) {
        return ChecksumFinding{.state = ChecksumState::kBad, .right = right};
    };
    const Names stale{ChecksumName::kStaleTuple};
    const Names two{ChecksumName::kPseudo, ChecksumName::kStaleTuple};
    NameVote vote;
    BOOST_TEST((vote.verdict() == ChecksumName::kUnknown));
    vote.add(finding(1), two);
    vote.add(finding(2), stale);
    vote.add(finding(2), stale);
    BOOST_TEST((vote.verdict() == ChecksumName::kUnknown));  // a retransmission proves nothing new
    vote.add(finding(3), two);
    BOOST_TEST((vote.verdict() == ChecksumName::kStaleTuple));
    vote.add(finding(4), {ChecksumName::kPseudo});
    BOOST_TEST((vote.verdict() == ChecksumName::kUnknown));
    NameVote ambiguous;
    for (const int right : {1, 2, 3}) {
        ambiguous.add(finding(static_cast<std::uint16_t>(right)), two);
    }
    BOOST_TEST((ambiguous.verdict() == ChecksumName::kUnknown));
}

BOOST_AUTO_TEST_CASE(only_what_is_bad_is_named) {
    raw::Random random(28);
    const Octets frame = rendered(tunnel_spec(random));
    const FrameVerdict verdict = verify_slowly(frame, kTunnelPorts);
    for (const ChecksumFinding& finding : verdict.all()) {
        BOOST_TEST(matching_names(frame, finding, std::nullopt).empty());
    }
    const ChecksumFinding nowhere{.layer = {Depth::kInner, Protocol::kTcp},
                                  .state = ChecksumState::kBad,
                                  .field_offset = 9999};
    BOOST_TEST(matching_names(frame, nowhere, std::nullopt).empty());
    BOOST_TEST(matching_names(Octets(10), nowhere, std::nullopt).empty());
}

BOOST_AUTO_TEST_CASE(every_name_has_words_of_its_own) {
    std::vector<std::string> seen;
    for (std::size_t i = 0; i <= static_cast<std::size_t>(ChecksumName::kUnknown); ++i) {
        seen.push_back(name(static_cast<ChecksumName>(i)));
        seen.push_back(meaning(static_cast<ChecksumName>(i)));
    }
    std::sort(seen.begin(), seen.end());
    BOOST_TEST((std::unique(seen.begin(), seen.end()) == seen.end()));
}

BOOST_AUTO_TEST_SUITE_END()
