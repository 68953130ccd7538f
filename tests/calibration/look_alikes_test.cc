#include "dataplane/calibration/look_alikes.h"

#include <array>
#include <boost/test/unit_test.hpp>

#include "dataplane/calibration/merged.h"
#include "dataplane/judge/checksum_names.h"
#include "dataplane/judge/verifier.h"
#include "dataplane/matrix/rx_cell.h"

using namespace pathproof;
using namespace pathproof::calibration;

namespace {

SentProbe probe_of(const matrix::Row& row, std::uint32_t index = 0) {
    const matrix::ProbeMaker maker(matrix::software_nic_limits(), matrix::Direction::kTransmit, {},
                                   7);
    softnic::SoftNic healthy(nic_for(row));
    auto probe = make_sent(maker, row, {0, index}, healthy);
    BOOST_REQUIRE_MESSAGE(probe, probe.error().message);
    return std::move(*probe);
}

const matrix::Row kSegments{.transport = matrix::InnerTransport::kTcp,
                            .segmentation = matrix::Segmentation::kTcpOddRest,
                            .handover = matrix::Handover::kInner};

std::string titles(const matrix::RxCell& cell) {
    std::string text;
    for (const matrix::RxFinding& finding : cell.result().findings) {
        text += finding.title + " ";
    }
    return text;
}

constexpr judge::RxClaims kNotReady{.l4 = judge::RxClaim::kNone};

}  // namespace

BOOST_AUTO_TEST_SUITE(look_alikes_of_healthy_frames)

BOOST_AUTO_TEST_CASE(each_kind_can_be_made_differs_and_raises_no_alarm) {
    const auto material = make_material({.strength = matrix::Strength::kPairs, .probes = 2});
    BOOST_REQUIRE_MESSAGE(material, material.error().message);
    std::array<std::size_t, kFrameLookAlikes> made{};
    for (const SendRow& row : material->send) {
        for (const SentProbe& probe : row.probes) {
            const FrameBytes& healthy = probe.healthy.front().front();
            for (std::size_t i = 0; i < kFrameLookAlikes; ++i) {
                const auto frame =
                    look_alike(static_cast<LookAlike>(i), healthy, probe.probe.tunnels);
                if (!frame) {
                    continue;
                }
                ++made[i];
                const bool quiet = !judge::verify_slowly(*frame, probe.probe.tunnels).any_bad() &&
                                   !judge::verify(*frame, probe.probe.tunnels).any_bad();
                BOOST_REQUIRE_MESSAGE(*frame != healthy || i >= 7, name(static_cast<LookAlike>(i))
                                                                       << " changes nothing");
                BOOST_REQUIRE_MESSAGE(quiet, name(static_cast<LookAlike>(i))
                                                 << " in " << matrix::describe(row.row));
            }
        }
    }
    for (std::size_t i = 0; i < kFrameLookAlikes; ++i) {
        BOOST_TEST(made[i] > 0u, name(static_cast<LookAlike>(i)));
    }
}

BOOST_AUTO_TEST_CASE(b9_merged_segments_with_a_partial_checksum_are_no_finding) {
    for (const auto network : {matrix::InnerNetwork::kIpv4, matrix::InnerNetwork::kIpv6}) {
        matrix::Row row = kSegments;
        row.network = network;
        const SentProbe probe = probe_of(row);
        const std::vector<FrameBytes>& segments = probe.healthy.front();
        const auto whole = merged(segments, probe.probe.tunnels);
        BOOST_REQUIRE(whole);
        BOOST_TEST(whole->size() > segments.front().size());
        // Judged as a frame on the wire it would be called unfinished.
        const judge::FrameVerdict unfinished = judge::verify(*whole, probe.probe.tunnels);
        const judge::ChecksumFinding& tcp = unfinished.all().back();
        BOOST_TEST((tcp.state == judge::ChecksumState::kBad));
        const auto names = judge::matching_names(*whole, tcp, std::nullopt);
        BOOST_TEST((names == std::vector{judge::ChecksumName::kPseudo}));
        matrix::RxCell cell;
        cell.add_merged({0, 0}, segments, probe.probe.tunnels, {*whole, kNotReady});
        cell.counter("rx_csum_bad", 0);
        BOOST_TEST(titles(cell) == "");
        BOOST_TEST(cell.result().frames == segments.size());
    }
}

BOOST_AUTO_TEST_CASE(b9_merged_segments_that_were_changed_or_called_bad_are_findings) {
    const SentProbe probe = probe_of(kSegments);
    const std::vector<FrameBytes>& segments = probe.healthy.front();
    const auto whole = merged(segments, probe.probe.tunnels);
    BOOST_REQUIRE(whole);
    FrameBytes damaged = *whole;
    damaged[damaged.size() - 3] ^= 0x10;
    matrix::RxCell changed;
    changed.add_merged({0, 0}, segments, probe.probe.tunnels, {damaged, kNotReady});
    BOOST_TEST(titles(changed) == "RX_CHANGED ");
    matrix::RxCell refused;
    refused.add_merged({0, 0}, segments, probe.probe.tunnels,
                       {*whole, {.l4 = judge::RxClaim::kBad}});
    BOOST_TEST(titles(refused) == "RX_BAD_ON_GOOD ");
    matrix::RxCell lost;
    lost.add_merged({0, 0}, segments, probe.probe.tunnels, {std::nullopt, {}});
    BOOST_TEST(titles(lost) == "DROP ");
}

// One frame in 65535 has by chance the checksum that nobody would have finished.
BOOST_AUTO_TEST_CASE(b12_a_right_checksum_is_right_whatever_else_predicts_it) {
    for (const auto transport : {matrix::InnerTransport::kUdp, matrix::InnerTransport::kTcp}) {
        const SentProbe probe =
            probe_of({.transport = transport, .handover = matrix::Handover::kInner});
        const auto frame =
            look_alike(LookAlike::kByChance, probe.healthy[0][0], probe.probe.tunnels);
        BOOST_REQUIRE(frame);
        const judge::FrameVerdict verdict = judge::verify_slowly(*frame, probe.probe.tunnels);
        const judge::ChecksumFinding& finding = verdict.all().back();
        BOOST_TEST((finding.state == judge::ChecksumState::kGood));
        BOOST_TEST(judge::matching_names(*frame, finding, std::nullopt).empty());
        bool predicted = false;
        for (const judge::Prediction& each :
             judge::predictions(*frame, finding, {.tunnels = probe.probe.tunnels})) {
            predicted |= each.name == judge::ChecksumName::kPseudo && each.value == finding.wire;
        }
        BOOST_TEST(predicted);
    }
}

BOOST_AUTO_TEST_SUITE_END()
