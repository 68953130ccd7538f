// The load cells of vxlan-checksum on plain values, and how every wrong outer checksum gets its name.
#define BOOST_TEST_MODULE overlay_load
#include "harness/scenario/vxlan/overlay_load.h"

#include <boost/test/unit_test.hpp>

#include "dataplane/frame/template.h"
#include "dataplane/softnic/wrong_sources.h"
#include "harness/join/checksums.h"
#include "harness/netfilter/entry.h"
#include "tests/contains.h"

using namespace pathproof;
using namespace pathproof::scenario;
using test::contains;
using verdict::Cell;
using verdict::CellVerdict;
using verdict::ScenarioResult;
using verdict::ScenarioVerdict;

namespace {

constexpr std::uint16_t kVxlan = 4789;

// A query in VXLAN from this outer source port, whose outer checksum is right for `stale`; 0: for it.
frame::ByteVector frame_from(std::uint16_t port, std::uint16_t stale) {
    frame::FrameSpec spec;
    spec.packet.source = *frame::parse_endpoint("198.18.10.2:1000");
    spec.packet.destination = *frame::parse_endpoint("198.18.20.2:53");
    spec.payload.assign(100, 0x5a);
    frame::TunnelSpec tunnel;
    tunnel.vni = 42;
    tunnel.outer.source = *frame::parse_endpoint("198.51.100.1:1");
    tunnel.outer.source.port = port;
    tunnel.outer.destination = *frame::parse_endpoint("198.51.100.2:4789");
    if (stale != 0) {
        tunnel.outer.transport_checksum = frame::ChecksumMode::kStaleSourcePort;
        spec.stale_source_port = stale;
    }
    spec.tunnel = tunnel;
    return frame::FrameTemplate::make(spec).value().render();
}

std::uint32_t source_of(const frame::ByteVector& frame) {
    const std::uint16_t ports[] = {kVxlan};
    return softnic::WrongSources::of(frame, judge::verify(frame, std::span(ports)));
}

netfilter::Entry translated(std::uint16_t before, std::uint16_t after) {
    netfilter::Entry entry;
    entry.original.source.port = before;
    entry.reply.destination.port = after;
    return entry;
}

LoadPhase phase(const std::string& name, std::uint64_t frames = 1'000'000) {
    LoadPhase made{.name = name, .seconds = 2, .frames = frames, .bytes = frames * 100};
    made.flows = 16;
    if (name == "tcp") {
        made.streams = made.streams_complete = 4;
        made.stream_bytes = 1'000'000'000;
        made.stream_seconds = 2;
    }
    return made;
}

// Measures as the kernel is: the outer checksum is stale in all frames of the suspect.
std::vector<LoadFacts> as_linux_is() {
    std::vector<LoadFacts> measured;
    for (const LoadPoint& point : load_points()) {
        LoadFacts facts{.what = point, .phases = {phase("udp-512"), phase("tcp")}};
        for (LoadPhase& one : facts.phases) {
            one.translated = point.point.masquerade ? one.flows : 0;
            if (point.role == Cell::Role::kMatrix) {
                one.bad_frames = one.bad_outer_udp = one.stale_port = one.frames;
                one.streams_complete = 0;
            }
        }
        measured.push_back(facts);
    }
    return measured;
}

ScenarioResult conclude(const std::vector<LoadFacts>& measured, bool restored = true) {
    ScenarioResult result;
    OverlayNaming naming;
    naming.flag_restored = restored;
    conclude_load(measured, naming, result);
    return result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_wrong_outer_checksum_gives_the_port_it_is_right_for) {
    for (const int given : {1, 4789, 40'000, 65'535}) {
        const auto port = static_cast<std::uint16_t>(given);
        BOOST_TEST(source_of(frame_from(port, 0)) == 0u);
        for (const int for_port : {2, 999, 44'246, 65'534}) {
            const auto stale = static_cast<std::uint16_t>(for_port);
            BOOST_TEST(source_of(frame_from(port, stale)) == (std::uint32_t{port} << 16 | stale));
        }
    }
    frame::ByteVector plain = frame_from(7, 9);
    BOOST_TEST(softnic::WrongSources::of(
                   plain, judge::verify(plain, std::span<const std::uint16_t>())) == 0u);
}

BOOST_AUTO_TEST_CASE(every_frame_is_counted_by_its_pair_and_direction) {
    softnic::WrongSources wrong;
    for (std::uint32_t n = 0; n < 100'000; ++n) {
        wrong.add(n % 4 == 0 ? softnic::Direction::kBToA : softnic::Direction::kAToB,
                  (n % 500 + 1) << 16 | 7);
    }
    std::uint64_t frames = 0;
    std::uint64_t back = 0;
    for (const softnic::WrongSource& one : wrong.all()) {
        frames += one.frames;
        back += one.direction == softnic::Direction::kBToA ? one.frames : 0;
        BOOST_TEST(one.right_for == 7);
    }
    BOOST_TEST(frames == 100'000u);
    BOOST_TEST(back == 25'000u);
    BOOST_TEST(wrong.left_out() == 0u);
    for (std::uint32_t n = 0; n < 20'000; ++n) {
        wrong.add(softnic::Direction::kAToB, (n + 1) << 16 | 8);
    }
    BOOST_TEST(wrong.left_out() > 0u);
}

BOOST_AUTO_TEST_CASE(a_pair_is_stale_only_where_conntrack_translated_it) {
    const std::vector<netfilter::Entry> entries = {translated(100, 200), translated(65'535, 300),
                                                   translated(400, 400)};
    const std::vector<softnic::WrongSource> wrong = {
        {.on_wire = 200, .right_for = 100, .frames = 5},
        {.on_wire = 200, .right_for = 101, .frames = 7},
        {.on_wire = 300, .right_for = 65'535, .frames = 11},
        {.on_wire = 400, .right_for = 400, .frames = 13}};
    BOOST_TEST(join::stale_port_frames(wrong, entries) == 16u);
    BOOST_TEST(join::stale_port_frames(wrong, {}) == 0u);
}

BOOST_AUTO_TEST_CASE(the_stale_port_is_reproduced_with_its_cure_and_what_that_costs) {
    const ScenarioResult result = conclude(as_linux_is());
    BOOST_TEST((result.verdict == ScenarioVerdict::kReproduced));
    BOOST_TEST(contains(result.headline, "4000000 of 4000000 frames"));
    BOOST_TEST(contains(result.headline, "up to 500000 a second"));
    BOOST_TEST(result.cure_shown);
    BOOST_TEST(contains(result.cure, "4.00 Gbit/s with the flag on"));
    BOOST_TEST(result.unexplained == 0u);
    BOOST_TEST(result.cells.size() == 4u);
    BOOST_TEST(result.controls.size() == 4u);
    BOOST_TEST(!conclude(as_linux_is(), false).cure_shown);
}

BOOST_AUTO_TEST_CASE(a_wrong_checksum_of_another_cause_is_unexplained_and_names_no_port) {
    std::vector<LoadFacts> measured = as_linux_is();
    for (LoadFacts& facts : measured) {
        for (LoadPhase& one : facts.phases) {
            one.stale_port -= one.stale_port == 0 ? 0 : 3;
        }
    }
    const ScenarioResult result = conclude(measured);
    BOOST_TEST((result.verdict == ScenarioVerdict::kInconclusive));
    BOOST_TEST(result.unexplained == 12u);
    BOOST_TEST(result.cause.empty());
}

BOOST_AUTO_TEST_CASE(one_wrong_frame_of_a_control_or_under_the_cure_is_no_proof) {
    std::vector<LoadFacts> control = as_linux_is();
    control.front().phases.front().bad_frames = 1;
    BOOST_TEST((conclude(control).verdict == ScenarioVerdict::kInconclusive));
    BOOST_TEST(contains(conclude(control).headline, "A control fails"));
    std::vector<LoadFacts> cure = as_linux_is();
    cure.back().phases.front().bad_frames = 1;
    BOOST_TEST(!conclude(cure).cure_shown);
    BOOST_TEST(contains(conclude(cure).cure, "did NOT help"));
}

BOOST_AUTO_TEST_CASE(a_kernel_without_the_bug_is_not_accused) {
    std::vector<LoadFacts> measured = as_linux_is();
    for (LoadFacts& facts : measured) {
        for (LoadPhase& one : facts.phases) {
            one.bad_frames = one.bad_outer_udp = one.stale_port = 0;
            one.streams_complete = one.streams;
        }
    }
    BOOST_TEST((conclude(measured).verdict == ScenarioVerdict::kNotReproduced));
    measured[4].phases.front().translated = 15;
    BOOST_TEST((conclude(measured).verdict == ScenarioVerdict::kInconclusive));
    BOOST_TEST(contains(conclude(measured).headline, "NAT did not take place"));
}

BOOST_AUTO_TEST_CASE(what_the_tester_did_not_judge_is_said_and_no_link_is_an_error) {
    LoadFacts facts = as_linux_is().front();
    facts.phases.front().lost = 77;
    facts.phases.back().streams_complete = 3;
    BOOST_TEST(contains(judge_load(facts).reason, "77 frames more were not judged"));
    facts.phases.front().trouble = "port u0: its link is down";
    BOOST_TEST((judge_load(facts).verdict == CellVerdict::kError));
}
