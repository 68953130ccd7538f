#include <rte_ethdev.h>

#include <boost/test/unit_test.hpp>

#include "dataplane/frame/offload.h"
#include "dataplane/frame/template.h"
#include "dataplane/load/frame_source.h"
#include "tests/load/made_frames.h"
#include "tests/load/sources.h"

using namespace pathproof;
using namespace pathproof::load;
using frame::ChecksumMode;
using frame::Family;
using frame::TrafficClass;

namespace {

// Renders the same headers and payload with FrameTemplate, which computes every mode with
// arithmetic of its own.
Frame as_template_has_it(const SourcePlan& plan, const Frame& frame) {
    const frame::FrameView view = parsed(frame);
    const frame::PacketView& packet = view.innermost();
    frame::FrameSpec spec = plan.spec;
    spec.packet.source = packet.source_endpoint();
    spec.packet.destination.port = packet.destination_port;
    if (view.has_inner) {
        spec.tunnel->outer.source.port = view.outer.source_port;
    }
    const frame::Bytes payload = packet.payload(frame);
    spec.payload.assign(payload.begin(), payload.end());
    const auto made = frame::FrameTemplate::make(spec);
    BOOST_REQUIRE_MESSAGE(made, made.error().message);
    return made->render();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(frame_source_checksum_modes)

BOOST_AUTO_TEST_CASE(every_mode_gives_the_bytes_that_a_frame_template_gives) {
    for (std::size_t inner = 0; inner < frame::kChecksumModes; ++inner) {
        for (std::size_t outer = 0; outer < frame::kChecksumModes; ++outer) {
            for (std::size_t ip = 0; ip < frame::kChecksumModes; ++ip) {
                for (const Family family : kFamilies) {
                    SourcePlan plan = plan_of(TrafficClass::kUdp, family, Envelope::kVxlan);
                    plan.spec.packet.transport_checksum = ChecksumMode(inner);
                    plan.spec.packet.ip_checksum = ChecksumMode(ip);
                    plan.spec.tunnel->outer.transport_checksum = ChecksumMode(outer);
                    plan.spec.tunnel->outer.ip_checksum = ChecksumMode(ip);
                    plan.flow = {.flows = 10, .first_port = 3'000, .ports = 3};
                    if ((inner + outer + ip) % 2 == 0) {
                        plan.outer_source_ports = {1'000, 2'000};
                    }
                    Result<FrameSource> source = FrameSource::make(plan);
                    if (!source) {
                        BOOST_TEST((ChecksumMode(ip) == ChecksumMode::kPseudo ||
                                    ChecksumMode(ip) == ChecksumMode::kStaleSourcePort));
                        continue;
                    }
                    BOOST_TEST_CONTEXT("inner " << name(ChecksumMode(inner)) << " outer "
                                                << name(ChecksumMode(outer)) << " ip "
                                                << name(ChecksumMode(ip))) {
                        for (const Frame& frame : next_frames(*source, 12, 5)) {
                            BOOST_REQUIRE(frame == as_template_has_it(plan, frame));
                        }
                    }
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(another_time_gives_the_bytes_of_that_time_in_every_mode) {
    for (std::size_t inner = 0; inner < frame::kChecksumModes; ++inner) {
        for (std::size_t outer = 0; outer < frame::kChecksumModes; ++outer) {
            SourcePlan plan = plan_of(TrafficClass::kDnsA, Family::kIpv4, Envelope::kVxlan);
            plan.spec.packet.transport_checksum = ChecksumMode(inner);
            plan.spec.tunnel->outer.transport_checksum = ChecksumMode(outer);
            FrameSource one = source_of(plan);
            FrameSource two = source_of(plan);
            Mbufs a(8);
            Mbufs b(8);
            one.fill(a.all(), 4'000'000'000);
            two.fill(b.all(), 17);
            two.restamp(b.all(), 4'000'000'000);
            for (std::size_t i = 0; i < 8; ++i) {
                BOOST_REQUIRE(bytes_of(*a.all()[i]) == bytes_of(*b.all()[i]));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(offloaded_frames_carry_the_request_and_the_port_is_asked_for_it) {
    SourcePlan plan = plan_of(TrafficClass::kDnsA, Family::kIpv4, Envelope::kVxlan);
    for (frame::PacketSpec* packet : {&plan.spec.packet, &plan.spec.tunnel->outer}) {
        packet->ip_checksum = ChecksumMode::kOffload;
        packet->transport_checksum = ChecksumMode::kOffload;
    }
    FrameSource source = source_of(plan);
    const frame::OffloadRequest request = frame::offload_request(plan.spec);
    BOOST_TEST(source.port_offloads() == request.port_offloads);
    BOOST_TEST((request.port_offloads & RTE_ETH_TX_OFFLOAD_OUTER_UDP_CKSUM) != 0u);
    Mbufs mbufs(4);
    source.fill(mbufs.all(), 1);
    for (const rte_mbuf* const mbuf : mbufs.all()) {
        BOOST_TEST(mbuf->ol_flags == request.mbuf_flags);
        BOOST_TEST(mbuf->l2_len == request.l2_len);
        BOOST_TEST(mbuf->l3_len == request.l3_len);
        BOOST_TEST(mbuf->outer_l2_len == request.outer_l2_len);
        BOOST_TEST(mbuf->outer_l3_len == request.outer_l3_len);
    }
}

BOOST_AUTO_TEST_CASE(frames_without_offload_ask_the_nic_for_nothing) {
    FrameSource source = source_of(plan_of(TrafficClass::kDnsA));
    BOOST_TEST(source.port_offloads() == 0u);
    Mbufs mbufs(1);
    source.fill(mbufs.all(), 1);
    BOOST_TEST(mbufs.all()[0]->ol_flags == 0u);
}

BOOST_AUTO_TEST_CASE(icmp_is_summed_in_software_where_others_are_offloaded) {
    SourcePlan plan = plan_of(TrafficClass::kIcmpEcho);
    plan.spec.packet.transport_checksum = ChecksumMode::kOffload;
    FrameSource source = source_of(plan);
    BOOST_TEST(is_right(next_frames(source, 1)[0]));
}

BOOST_AUTO_TEST_SUITE_END()
