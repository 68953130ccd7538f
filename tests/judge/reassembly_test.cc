#include "dataplane/judge/reassembly.h"

#include <boost/test/unit_test.hpp>

#include "dataplane/judge/checksum_names.h"
#include "tests/judge/every_kind.h"

BOOST_AUTO_TEST_SUITE(reassembly)

using namespace pathproof;
using namespace pathproof::judge;
using namespace pathproof::judged;

namespace {

constexpr frame::TunnelPorts kTunnels = frame::TunnelPorts::well_known();

Octets slice(const Octets& from, std::size_t start, std::size_t end) {
    return {from.begin() + static_cast<std::ptrdiff_t>(start),
            from.begin() + static_cast<std::ptrdiff_t>(std::min(end, from.size()))};
}

// Cuts a plain frame's IP payload into pieces of 64 bytes.
std::vector<Octets> cut(const Octets& frame) {
    const frame::PacketView packet = frame::parse_frame(frame, kTunnels).outer;
    const bool ipv6 = packet.network == frame::Network::kIpv6;
    const std::size_t header_end = packet.network_offset + packet.network_length;
    const Octets data = slice(frame, header_end, packet.network_end);
    std::vector<Octets> fragments;
    for (std::size_t at = 0; at < data.size(); at += 64) {
        const bool more = at + 64 < data.size();
        const Octets piece = slice(data, at, at + 64);
        Octets out = slice(frame, 0, header_end);
        const std::size_t ip = packet.network_offset;
        const std::size_t length =
            piece.size() + (ipv6 ? packet.network_length - 40 + 8 : packet.network_length);
        out[ip + (ipv6 ? 4 : 2)] = static_cast<std::uint8_t>(length >> 8);
        out[ip + (ipv6 ? 5 : 3)] = static_cast<std::uint8_t>(length);
        if (ipv6) {
            out[ip + 6] = 44;
            raw::append(out, raw::ipv6_fragment(packet.protocol,
                                                static_cast<std::uint16_t>(at | (more ? 1 : 0))));
        } else {
            out[ip + 6] = more ? 0x20 : 0;
            out[ip + 7] = static_cast<std::uint8_t>(at / 8);
            write_right(out, verify_slowly(out, kTunnels).findings[0]);
        }
        raw::append(out, piece);
        if (!ipv6) {
            const FrameVerdict verdict = verify_slowly(out, kTunnels);
            write_right(out, verdict.findings[0]);
        }
        fragments.push_back(out);
    }
    return fragments;
}

Result<Reassembled> put_together(const std::vector<Octets>& fragments) {
    const std::vector<std::span<const std::uint8_t>> views(fragments.begin(), fragments.end());
    return reassemble(views, kTunnels);
}

std::string refusal(const std::vector<Octets>& fragments) {
    const auto whole = put_together(fragments);
    return whole ? "" : whole.error().message;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_datagram_in_pieces_is_the_datagram_again_and_its_checksum_is_judged) {
    raw::Random random(81);
    for (const Net net : {Net::kIpv4, Net::kIpv4Options, Net::kIpv6}) {
        for (const Upper upper : {Upper::kUdp, Upper::kTcp, Upper::kSctp, Upper::kUdpLite}) {
            const Octets frame = frame_of({.upper = upper, .net = net, .payload = 301}, random);
            std::vector<Octets> fragments = cut(frame);
            BOOST_TEST(fragments.size() >= 5u);
            for (const Octets& fragment : fragments) {
                const FrameVerdict alone = verify_slowly(fragment, kTunnels);
                BOOST_TEST(!alone.any_bad());
                BOOST_TEST(
                    (alone.findings[alone.count - 1u].state == ChecksumState::kUnverifiable));
            }
            std::swap(fragments[0], fragments[3]);
            const auto whole = put_together(fragments);
            BOOST_REQUIRE_MESSAGE(whole, whole.error().message);
            const FrameVerdict verdict = verify_slowly(whole->frame, kTunnels);
            BOOST_TEST((verdict.findings[verdict.count - 1u].state == ChecksumState::kGood));
            BOOST_TEST(whole->frame.size() == frame.size());
            BOOST_TEST(slice(whole->frame, 54, frame.size()) == slice(frame, 54, frame.size()),
                       boost::test_tools::per_element());
        }
    }
}

BOOST_AUTO_TEST_CASE(a_sum_over_the_first_fragment_alone_is_named_in_the_whole) {
    raw::Random random(82);
    NameVote vote;
    for (int i = 0; i < 4; ++i) {
        std::vector<Octets> fragments = cut(frame_of({.payload = 300}, random));
        Octets& first = fragments[0];
        // The frame as a NIC sees it that takes the first fragment for the whole: its own length,
        // its own data.
        Octets alone = first;
        alone[20] = 0;
        alone[38] = 0;
        alone[39] = 64;
        const FrameVerdict verdict = verify_slowly(alone, kTunnels);
        const auto wrong = static_cast<std::uint16_t>(verdict.findings[1].right);
        // The length in the header is the datagram's and was summed.
        const std::uint32_t header = 300 + 8 - 64;
        std::uint32_t sum = static_cast<std::uint16_t>(~wrong) + header;
        sum = (sum & 0xffff) + (sum >> 16);
        first[40] = static_cast<std::uint8_t>(~sum >> 8);
        first[41] = static_cast<std::uint8_t>(~sum);
        const auto whole = put_together(fragments);
        BOOST_REQUIRE_MESSAGE(whole, whole.error().message);
        const ChecksumFinding finding = verify_slowly(whole->frame, kTunnels).findings[1];
        BOOST_TEST((finding.state == ChecksumState::kBad));
        const Evidence evidence{.first_fragment_end = whole->first_fragment_end};
        vote.add(whole->frame, finding, matching_names(whole->frame, finding, evidence));
    }
    BOOST_TEST(name(vote.verdict()) == "FRAG_L4");
}

BOOST_AUTO_TEST_CASE(what_is_not_one_whole_datagram_is_refused_with_the_reason) {
    raw::Random random(83);
    const Octets frame = frame_of({.payload = 301}, random);
    const std::vector<Octets> good = cut(frame);
    BOOST_TEST(refusal({}) == "no fragments: give all of one datagram");
    BOOST_TEST(refusal({frame}).find("frame 0 of 343 bytes is no IP fragment") == 0u);
    std::vector<Octets> hole = good;
    hole.erase(hole.begin() + 1);
    BOOST_TEST(refusal(hole) == "a hole from byte 64 to 128 of the datagram");
    std::vector<Octets> twice = good;
    twice.push_back(good[1]);
    BOOST_TEST(refusal(twice) == "a overlap from byte 64 to 128 of the datagram");
    std::vector<Octets> open = good;
    open.pop_back();
    BOOST_TEST(refusal(open).find("the last fragment is missing") == 0u);
    std::vector<Octets> other = good;
    other[2][19] ^= 1;
    BOOST_TEST(refusal(other).find("another datagram") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
