#include "dataplane/matrix/probe.h"

#include <boost/test/unit_test.hpp>

#include "dataplane/frame/template.h"
#include "dataplane/judge/segment_audit.h"
#include "dataplane/judge/verifier.h"
#include "dataplane/matrix/matrix.h"
#include "dataplane/matrix/row_spec.h"

using namespace pathproof;
using namespace pathproof::matrix;

namespace {

Probe made(const ProbeMaker& maker, const Row& row, Label label) {
    Result<Probe> probe = maker.make(row, label);
    BOOST_REQUIRE_MESSAGE(probe, probe.error().message);
    return *probe;
}

// Calls for each row of the pairs matrix with the first frames of it.
template <typename Call>
void for_probes(const DutLimits& limits, Direction direction, const Call& call) {
    const Matrix matrix = make_matrix(limits, direction, Strength::kPairs, 1);
    const ProbeMaker maker(limits, direction, {}, 5);
    for (std::uint32_t row = 0; row < matrix.rows.size(); ++row) {
        for (std::uint32_t index = 0; index < 3; ++index) {
            call(maker, matrix.rows[row], made(maker, matrix.rows[row], {row, index}));
        }
    }
}

std::vector<DutLimits> probed_devices() {
    return {software_nic_limits(), dpdk_port_limits(9000, 6), kernel_device_limits(9000)};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(probes)

BOOST_AUTO_TEST_CASE(what_is_intended_is_right_by_the_oracle_in_every_row) {
    for (const DutLimits& limits : probed_devices()) {
        for_probes(limits, Direction::kTransmit,
                   [](const ProbeMaker&, const Row& row, const Probe& probe) {
                       for (const FrameBytes& frame : probe.intended) {
                           const auto verdict = judge::verify_slowly(frame, probe.tunnels);
                           BOOST_REQUIRE_MESSAGE(!verdict.any_bad(), describe(row));
                           BOOST_REQUIRE_MESSAGE(verdict.malformed == judge::Malformed::kNone,
                                                 describe(row));
                       }
                   });
    }
}

BOOST_AUTO_TEST_CASE(what_is_received_is_bad_exactly_where_the_row_says) {
    std::size_t bad_rows = 0;
    for_probes(software_nic_limits(), Direction::kReceive,
               [&](const ProbeMaker&, const Row& row, const Probe& probe) {
                   bool bad = false;
                   for (const FrameBytes& frame : probe.intended) {
                       bad |= judge::verify_slowly(frame, probe.tunnels).any_bad();
                   }
                   BOOST_REQUIRE_MESSAGE(bad == (row.rx_input != RxInput::kGood), describe(row));
                   bad_rows += bad;
               });
    BOOST_TEST(bad_rows > 50u);
}

BOOST_AUTO_TEST_CASE(a_frame_tells_its_row_and_number_by_its_innermost_addresses) {
    for_probes(software_nic_limits(), Direction::kTransmit,
               [](const ProbeMaker& maker, const Row& row, const Probe& probe) {
                   for (const FrameBytes& frame : probe.intended) {
                       const auto view = frame::parse_frame(frame, probe.tunnels);
                       const auto label = maker.label_of(view.innermost());
                       BOOST_REQUIRE_MESSAGE(label == probe.label, describe(row));
                   }
               });
}

BOOST_AUTO_TEST_CASE(frames_are_the_same_for_one_seed_and_differ_within_a_row) {
    const ProbeMaker maker(software_nic_limits(), Direction::kTransmit, {}, 5);
    const Row row{.encap = Encap::kVxlanOverIpv4,
                  .outer_checksum = OuterChecksum::kComputed,
                  .tunnel_port = TunnelPort::kTwo};
    const Probe first = made(maker, row, {1, 0});
    BOOST_TEST((first.intended == made(maker, row, {1, 0}).intended));
    BOOST_TEST((first.intended != made(maker, row, {1, 1}).intended));
    const ProbeMaker other(software_nic_limits(), Direction::kTransmit, {}, 6);
    BOOST_TEST((first.intended != made(other, row, {1, 0}).intended));
}

BOOST_AUTO_TEST_CASE(software_rows_are_handed_over_as_they_shall_leave) {
    for_probes(software_nic_limits(), Direction::kTransmit,
               [](const ProbeMaker&, const Row& row, const Probe& probe) {
                   if (row.handover != Handover::kSoftware || row.vlan == Vlan::kOneInserted) {
                       return;
                   }
                   for (std::size_t i = 0; i < probe.handed.size(); ++i) {
                       BOOST_REQUIRE(!probe.handed[i].request.any());
                       BOOST_REQUIRE(!probe.handed[i].virtio.any());
                       BOOST_REQUIRE(probe.handed[i].bytes == probe.intended[i]);
                   }
               });
}

BOOST_AUTO_TEST_CASE(a_full_frame_has_exactly_the_packet_length_of_its_mtu) {
    for_probes(software_nic_limits(), Direction::kTransmit,
               [](const ProbeMaker&, const Row& row, const Probe& probe) {
                   const bool full = row.length == Length::kMtu || row.length == Length::k9000;
                   if (!full || row.fragmentation != Fragmentation::kNone) {
                       return;
                   }
                   const auto view = frame::parse_frame(probe.intended.front(), probe.tunnels);
                   const std::uint32_t mtu = row.length == Length::kMtu ? 1500 : 9000;
                   BOOST_REQUIRE_MESSAGE(view.outer.network_end - view.outer.network_offset == mtu,
                                         describe(row));
               });
}

BOOST_AUTO_TEST_CASE(buffers_add_up_and_keep_the_headers_together) {
    std::size_t many = 0;
    for_probes(software_nic_limits(), Direction::kTransmit,
               [&](const ProbeMaker& maker, const Row& row, const Probe& probe) {
                   for (const HandedFrame& handed : probe.handed) {
                       std::uint32_t total = 0;
                       for (const std::uint32_t bytes : handed.buffers) {
                           BOOST_REQUIRE(bytes > 0);
                           total += bytes;
                       }
                       BOOST_REQUIRE(handed.buffers.empty() || total == handed.bytes.size());
                       BOOST_REQUIRE(handed.buffers.size() <= maker.limits().most_buffers);
                       const bool one = row.buffers == Buffers::kOne || row.length == Length::k0;
                       BOOST_REQUIRE_MESSAGE(
                           one || !handed.buffers.empty() || row.trailer == Trailer::kNone,
                           describe(row));
                       many += handed.buffers.size() >= 3;
                   }
               });
    BOOST_TEST(many > 50u);
}

BOOST_AUTO_TEST_CASE(a_payload_made_to_sum_to_zero_does) {
    for_probes(software_nic_limits(), Direction::kTransmit,
               [](const ProbeMaker&, const Row& row, const Probe& probe) {
                   if (row.values != PayloadValues::kSumsToZero || probe.label.index % 2 != 0) {
                       return;
                   }
                   const FrameBytes& frame =
                       probe.whole.empty() ? probe.intended.front() : probe.whole;
                   const auto verdict = judge::verify_slowly(frame, probe.tunnels);
                   const auto& last = verdict.findings[verdict.count - 1u];
                   const std::uint32_t zero = row.transport == InnerTransport::kUdp ? 0xffff : 0;
                   BOOST_REQUIRE_MESSAGE(last.wire == zero, describe(row));
                   for (const auto& finding : verdict.all()) {
                       const bool header = finding.layer.protocol == judge::Protocol::kIpv4;
                       BOOST_REQUIRE_MESSAGE(!header || finding.wire == 0, describe(row));
                   }
               });
}

BOOST_AUTO_TEST_CASE(three_fragments_are_the_datagram_again) {
    const ProbeMaker maker(software_nic_limits(), Direction::kTransmit, {}, 5);
    for (const InnerNetwork network : {InnerNetwork::kIpv4, InnerNetwork::kIpv6HopByHop}) {
        const Row row{
            .network = network, .length = Length::k171, .fragmentation = Fragmentation::kThree};
        const Probe probe = made(maker, row, {0, 0});
        BOOST_REQUIRE(probe.intended.size() == 3u);
        FrameBytes joined;
        for (const FrameBytes& frame : probe.intended) {
            const auto view = frame::parse_frame(frame, probe.tunnels).outer;
            const std::size_t at = view.network_offset + view.network_length;
            for (std::size_t i = at; i < view.network_end; ++i) {
                joined.push_back(frame[i]);
            }
        }
        const auto whole = frame::parse_frame(probe.whole, probe.tunnels).outer;
        const FrameBytes wanted(
            probe.whole.begin() + static_cast<std::ptrdiff_t>(whole.transport_offset),
            probe.whole.end());
        BOOST_TEST((joined == wanted));
    }
}

BOOST_AUTO_TEST_CASE(segments_carry_the_super_frames_payload_in_order) {
    for (const DutLimits& limits : probed_devices()) {
        for_probes(limits, Direction::kTransmit,
                   [](const ProbeMaker&, const Row& row, const Probe& probe) {
                       if (row.segmentation == Segmentation::kNone) {
                           return;
                       }
                       const auto payload_of = [&](const FrameBytes& frame) {
                           const auto view = frame::parse_frame(frame, probe.tunnels);
                           const auto& packet = view.innermost();
                           return FrameBytes(
                               frame.begin() + static_cast<std::ptrdiff_t>(packet.payload_offset),
                               frame.begin() + static_cast<std::ptrdiff_t>(packet.network_end));
                       };
                       FrameBytes joined;
                       for (const FrameBytes& frame : probe.intended) {
                           const FrameBytes piece = payload_of(frame);
                           BOOST_REQUIRE(piece.size() <= probe.segment_bytes);
                           for (const std::uint8_t byte : piece) {
                               joined.push_back(byte);
                           }
                       }
                       BOOST_REQUIRE_MESSAGE(joined == payload_of(probe.handed[0].bytes),
                                             describe(row));
                       BOOST_REQUIRE(probe.intended.size() >= 2u);
                   });
    }
}

BOOST_AUTO_TEST_CASE(segments_are_those_that_the_judge_would_make) {
    std::size_t compared = 0;
    for_probes(software_nic_limits(), Direction::kTransmit,
               [&](const ProbeMaker&, const Row& row, const Probe& probe) {
                   if (probe.segment_bytes == 0 || row.vlan == Vlan::kOneInserted) {
                       return;
                   }
                   const auto segments = judge::perfect_segments({.bytes = probe.handed[0].bytes,
                                                                  .mss = probe.segment_bytes,
                                                                  .tunnels = probe.tunnels});
                   BOOST_REQUIRE_MESSAGE(segments, segments.error().message);
                   BOOST_REQUIRE_MESSAGE(*segments == probe.intended, describe(row));
                   ++compared;
               });
    BOOST_TEST(compared > 20u);
}

BOOST_AUTO_TEST_CASE(a_partial_checksum_of_the_kernel_is_the_pseudo_headers_sum_with_length) {
    std::size_t asked = 0;
    for_probes(kernel_device_limits(9000), Direction::kTransmit,
               [&](const ProbeMaker&, const Row& row, const Probe& probe) {
                   const frame::VirtioRequest& virtio = probe.handed[0].virtio;
                   if (virtio.flags == 0) {
                       return;
                   }
                   ++asked;
                   // The sum that skb_checksum_help() writes must give the intended frame.
                   FrameBytes frame = probe.handed[0].bytes;
                   if (virtio.gso_size > 0) {
                       return;
                   }
                   std::uint32_t sum = 0;
                   for (std::size_t i = virtio.csum_start; i < frame.size(); ++i) {
                       sum += (i - virtio.csum_start) % 2 == 0 ? frame[i] * 256u : frame[i];
                   }
                   const auto view = frame::parse_frame(frame, probe.tunnels);
                   if (view.outer.trailer_length > 0 || view.inner.trailer_length > 0) {
                       return;
                   }
                   while (sum > 0xffff) {
                       sum = (sum & 0xffff) + (sum >> 16);
                   }
                   const auto value = static_cast<std::uint16_t>(~sum);
                   const std::size_t at = virtio.csum_start + virtio.csum_offset;
                   const std::uint16_t written = value == 0 ? 0xffff : value;
                   frame[at] = static_cast<std::uint8_t>(written >> 8);
                   frame[at + 1] = static_cast<std::uint8_t>(written);
                   const bool tcp_zero = row.values == PayloadValues::kSumsToZero &&
                                         row.transport != InnerTransport::kUdp;
                   BOOST_REQUIRE_MESSAGE(tcp_zero || frame == probe.intended[0], describe(row));
               });
    BOOST_TEST(asked > 20u);
}

BOOST_AUTO_TEST_CASE(nat_tells_another_source_than_the_frame_has) {
    const ProbeMaker maker(software_nic_limits(), Direction::kTransmit, {}, 5);
    Row row{.encap = Encap::kVxlanOverIpv4,
            .outer_checksum = OuterChecksum::kComputed,
            .tunnel_port = TunnelPort::k4789,
            .nat = Nat::kSourcePort};
    const Probe port_only = made(maker, row, {0, 0});
    const auto view = frame::parse_frame(port_only.intended[0], port_only.tunnels).outer;
    BOOST_TEST((port_only.source_before_nat->address == view.source));
    BOOST_TEST(port_only.source_before_nat->port != view.source_port);
    row.nat = Nat::kSource;
    BOOST_TEST((made(maker, row, {0, 0}).source_before_nat->address != view.source));
}

BOOST_AUTO_TEST_CASE(an_infeasible_row_is_an_error_with_the_row_in_it) {
    const ProbeMaker maker(software_nic_limits(), Direction::kTransmit, {}, 5);
    const auto probe = maker.make({.encap = Encap::kGeneve124,
                                   .outer_checksum = OuterChecksum::kComputed,
                                   .tunnel_port = TunnelPort::k6081,
                                   .handover = Handover::kInner},
                                  {0, 0});
    BOOST_REQUIRE(!probe);
    BOOST_TEST(probe.error().message.find("geneve-124") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
