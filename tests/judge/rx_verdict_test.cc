#include "dataplane/judge/rx_verdict.h"

#include <boost/test/unit_test.hpp>

#include "tests/judge/every_kind.h"

BOOST_AUTO_TEST_SUITE(rx_verdict)

using namespace pathproof;
using namespace pathproof::judge;
using namespace pathproof::judged;

namespace {

constexpr frame::TunnelPorts kTunnels = frame::TunnelPorts::well_known();
constexpr RxClaim kGood = RxClaim::kGood;
constexpr RxClaim kBad = RxClaim::kBad;
constexpr RxClaim kUnknown = RxClaim::kUnknown;
constexpr RxClaim kNone = RxClaim::kNone;

Octets tunnel(raw::Random& random) {
    Octets frame;
    do {
        frame = frame_of({.envelope = Envelope::kVxlan, .payload = 20}, random);
    } while (verify_slowly(frame, kTunnels).findings[1].state == ChecksumState::kDisabled);
    return frame;
}

// Findings of the frame: 0 outer IPv4, 1 outer UDP, 2 inner IPv4, 3 inner UDP; of a plain one 0, 1.
Octets spoiled(Octets frame, std::size_t finding) {
    frame[verify_slowly(frame, kTunnels).findings[finding].field_offset] ^= 0x41;
    return frame;
}

FrameVerdict verdict(const Octets& frame) {
    return verify_slowly(frame, kTunnels);
}

std::string text(const std::vector<RxFinding>& findings) {
    std::string out;
    for (const RxFinding& finding : findings) {
        out += (out.empty() ? "" : " ") + std::string(name(finding.fault)) + "(" +
               name(finding.layer) + ")";
    }
    return out;
}

}  // namespace

BOOST_AUTO_TEST_CASE(claims_that_are_true_and_claims_that_are_not_made_are_no_fault) {
    raw::Random random(71);
    const Octets frame = tunnel(random);
    BOOST_TEST(text(judge_claims(verdict(frame), {kGood, kGood, kGood, kGood})) == "");
    BOOST_TEST(text(judge_claims(verdict(frame), {})) == "");  // B14
    for (const std::size_t bad : {0u, 1u, 2u, 3u}) {
        const FrameVerdict truth = verdict(spoiled(frame, bad));
        const auto [ip, l4, outer_ip, outer_l4] = rx_truth(truth, SeesTunnel::kYes);
        BOOST_TEST(text(judge_claims(truth, {ip, l4, outer_ip, outer_l4})) == "");
        BOOST_TEST(text(judge_claims(truth, {})) == "");
    }
}

BOOST_AUTO_TEST_CASE(good_on_bad_and_bad_on_good_are_found_in_each_layer) {
    raw::Random random(72);
    const Octets frame = tunnel(random);
    BOOST_TEST(text(judge_claims(verdict(spoiled(frame, 3)), {kGood, kGood, kGood, kUnknown})) ==
               "RX_GOOD_ON_BAD(l4)");
    BOOST_TEST(text(judge_claims(verdict(spoiled(frame, 2)), {kGood, kGood, kGood, kUnknown})) ==
               "RX_GOOD_ON_BAD(ip)");
    BOOST_TEST(text(judge_claims(verdict(spoiled(frame, 0)), {kGood, kGood, kGood, kGood})) ==
               "RX_GOOD_ON_BAD(outer.ip)");
    // Integrity claimed without a right field is a claim as well (veth to 2016).
    BOOST_TEST(text(judge_claims(verdict(spoiled(frame, 3)), {kGood, kNone, kGood, kUnknown})) ==
               "RX_GOOD_ON_BAD(l4)");
    BOOST_TEST(text(judge_claims(verdict(frame), {kBad, kGood, kGood, kGood})) ==
               "RX_BAD_ON_GOOD(ip)");
    BOOST_TEST(text(judge_claims(verdict(frame), {kGood, kGood, kGood, kBad})) ==
               "RX_BAD_ON_GOOD(outer.l4)");
    const Octets zero = frame_of({.upper = Upper::kUdpZero, .payload = 20}, random);
    BOOST_TEST(text(judge_claims(verdict(zero), {kGood, kBad})) == "RX_BAD_ON_GOOD(l4)");
    BOOST_TEST(text(judge_claims(verdict(zero), {kGood, kGood})) == "");
}

BOOST_AUTO_TEST_CASE(an_error_said_of_another_layer_is_a_swap) {
    raw::Random random(73);
    const Octets frame = tunnel(random);
    BOOST_TEST(text(judge_claims(verdict(spoiled(frame, 0)), {kBad, kGood, kGood, kGood})) ==
               "RX_LAYER_SWAP(ip)");
    BOOST_TEST(text(judge_claims(verdict(spoiled(frame, 1)), {kGood, kBad, kUnknown, kUnknown})) ==
               "RX_LAYER_SWAP(l4)");
    // Two errors, of which one is said: L4 lost behind L3.
    const Octets twice = spoiled(spoiled(frame, 2), 3);
    BOOST_TEST(text(judge_claims(verdict(twice), {kBad, kGood, kGood, kUnknown})) ==
               "RX_GOOD_ON_BAD(l4)");
}

BOOST_AUTO_TEST_CASE(a_receiver_that_knows_no_tunnel_is_judged_on_the_outer_packet) {
    raw::Random random(74);
    const Octets frame = spoiled(tunnel(random), 3);
    RxClaims claims{.ip = kGood, .l4 = kUnknown, .sees_tunnel = SeesTunnel::kNo};
    BOOST_TEST(text(judge_claims(verdict(frame), claims)) == "");
    // The inner field is in the outer sum: that is wrong now, and the claim with it.
    claims.l4 = kGood;
    BOOST_TEST(text(judge_claims(verdict(frame), claims)) == "RX_GOOD_ON_BAD(l4)");
}

BOOST_AUTO_TEST_CASE(a_counter_is_believed_as_far_as_the_judge_counted_the_same) {
    BOOST_TEST(!counter_lie("rx_csum_bad", 5, 5).has_value());
    BOOST_TEST(*counter_lie("rx_csum_bad", 0, 5) ==
               "rx_csum_bad went up by 0 where 5 frames were to be counted");
    BOOST_TEST(*counter_lie("rx_csum_bad", 8, 5) ==
               "rx_csum_bad went up by 8 where 5 frames were to be counted");
}

BOOST_AUTO_TEST_SUITE_END()
