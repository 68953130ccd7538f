#include "dataplane/softnic/completion.h"

#include <array>
#include <boost/test/unit_test.hpp>

#include "tests/softnic/frames.h"

using namespace pathproof;
using namespace pathproof::softnic;

namespace {

constexpr std::array<std::uint16_t, 1> kTunnel = {4789};
constexpr std::uint16_t kIpv4Type = 0x0800;
constexpr std::uint16_t kIpv6Type = 0x86dd;

struct Outcome {
    Frame frame;
    unsigned completed = 0;
    judge::FrameVerdict verdict;
};

Outcome completed(Frame frame) {
    Outcome outcome{.frame = std::move(frame)};
    outcome.verdict = judge::verify(outcome.frame, kTunnel);
    outcome.completed = complete_partial_checksums(outcome.frame, kTunnel, outcome.verdict);
    return outcome;
}

// Completing must give the frame that a sender without offloads would have made, to the last byte.
void check_completed(const Frame& partial, const Frame& right, unsigned fields) {
    const Outcome outcome = completed(partial);
    BOOST_TEST(outcome.completed == fields);
    BOOST_TEST(outcome.frame == right, boost::test_tools::per_element());
    BOOST_TEST(!outcome.verdict.any_bad());
}

Frame carried(const Frame& inner, Field outer) {
    return ethernet(kIpv4Type, ipv4(17, udp(4, 40000, 4789, vxlan(inner), outer)));
}

}  // namespace

BOOST_AUTO_TEST_CASE(partial_tcp_and_udp_are_completed_for_both_families_and_odd_lengths) {
    for (const std::size_t size : {0u, 1u, 2u, 31u, 100u, 1399u}) {
        const auto v4 = [&](Field field) {
            return ethernet(kIpv4Type, ipv4(6, tcp(4, 1000, 80, bytes(size), field)));
        };
        check_completed(v4(Field::kPartial), v4(Field::kRight), 1);
        const auto v6 = [&](Field field) {
            return ethernet(kIpv6Type, ipv6(17, udp(6, 1000, 53, bytes(size), field)));
        };
        check_completed(v6(Field::kPartial), v6(Field::kRight), 1);
    }
}

BOOST_AUTO_TEST_CASE(ip_options_vlan_tags_and_padding_do_not_mislead) {
    const auto frame = [](Field field) {
        Frame tagged = {0, 7, 8, 0};
        const Frame packet = ipv4(17, udp(4, 1, 2, bytes(3), field), 8);
        tagged.insert(tagged.end(), packet.begin(), packet.end());
        Frame whole = ethernet(0x8100, tagged);
        whole.resize(whole.size() + 9, 0xee);  // a trailer that is no zero
        return whole;
    };
    check_completed(frame(Field::kPartial), frame(Field::kRight), 1);
}

BOOST_AUTO_TEST_CASE(a_udp_sum_of_zero_is_sent_as_ffff) {
    // The payload is chosen so that the right value is 0 before RFC 768's rule.
    Frame payload(2, 0);
    const Frame right_once = udp(4, 1000, 2000, payload, Field::kRight);
    const std::uint16_t value = raw::get(right_once, 6);
    payload = {static_cast<std::uint8_t>(value >> 8), static_cast<std::uint8_t>(value)};
    const Outcome outcome =
        completed(ethernet(kIpv4Type, ipv4(17, udp(4, 1000, 2000, payload, Field::kPartial))));
    BOOST_TEST(outcome.completed == 1u);
    BOOST_TEST(raw::get(outcome.frame, 14 + 20 + 6) == 0xffff);
}

BOOST_AUTO_TEST_CASE(local_checksum_offload_comes_out_right_once_the_inner_sum_is_there) {
    const Frame right_inner =
        ethernet(kIpv4Type, ipv4(6, tcp(4, 1000, 80, bytes(77), Field::kRight)));
    const Frame partial_inner =
        ethernet(kIpv4Type, ipv4(6, tcp(4, 1000, 80, bytes(77), Field::kPartial)));
    const Frame right = carried(right_inner, Field::kRight);
    Frame partial = carried(partial_inner, Field::kRight);
    // Linux computes the outer sum for the packet as it will be: the value of the finished one.
    partial[14 + 20 + 6] = right[14 + 20 + 6];
    partial[14 + 20 + 7] = right[14 + 20 + 7];
    BOOST_TEST(judge::verify(partial, kTunnel).any_bad());
    check_completed(partial, right, 1);
}

BOOST_AUTO_TEST_CASE(an_outer_partial_sum_over_a_finished_inner_packet_is_completed) {
    const Frame inner = ethernet(kIpv4Type, ipv4(1, icmp_echo(bytes(56))));
    check_completed(carried(inner, Field::kPartial), carried(inner, Field::kRight), 1);
}

BOOST_AUTO_TEST_CASE(both_layers_partial_are_completed_inner_first) {
    const auto inner = [](Field field) {
        return ethernet(kIpv6Type, ipv6(17, udp(6, 1000, 53, bytes(40), field)));
    };
    check_completed(carried(inner(Field::kPartial), Field::kPartial),
                    carried(inner(Field::kRight), Field::kRight), 2);
}

BOOST_AUTO_TEST_CASE(a_wrong_value_that_is_no_partial_sum_stays_and_stays_bad) {
    const Frame wrong = ethernet(kIpv4Type, ipv4(6, tcp(4, 1000, 80, bytes(50), Field::kWrong)));
    const Outcome plain = completed(wrong);
    BOOST_TEST(plain.completed == 0u);
    BOOST_TEST(plain.frame == wrong, boost::test_tools::per_element());
    BOOST_TEST(plain.verdict.any_bad());
    // An outer sum made stale by NAT is not "repaired" along with the inner one.
    const Frame inner = ethernet(kIpv4Type, ipv4(6, tcp(4, 1000, 80, bytes(50), Field::kPartial)));
    const Outcome carrier = completed(carried(inner, Field::kWrong));
    BOOST_TEST(carrier.completed == 1u);
    BOOST_REQUIRE(carrier.verdict.any_bad());
    for (const judge::ChecksumFinding& finding : carrier.verdict.all()) {
        const bool outer_udp =
            finding.layer == judge::Layer{judge::Depth::kOuter, judge::Protocol::kUdp};
        BOOST_TEST((finding.state == judge::ChecksumState::kBad) == outer_udp);
    }
}

BOOST_AUTO_TEST_CASE(a_frame_cut_short_is_left_alone) {
    Frame frame = ethernet(kIpv4Type, ipv4(6, tcp(4, 1000, 80, bytes(500), Field::kPartial)));
    frame.resize(200);
    const Outcome outcome = completed(frame);
    BOOST_TEST(outcome.completed == 0u);
    BOOST_TEST(outcome.frame == frame, boost::test_tools::per_element());
}
