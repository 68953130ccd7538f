// Offload metadata through the real kernel: what a veth pair, whose far end is the "wire", makes of
// it.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>

#include "dataplane/base/clock.h"
#include "dataplane/frame/template.h"
#include "harness/agent/feature_trial.h"
#include "harness/agent/offload_frames.h"
#include "tests/agent/lab.h"

BOOST_AUTO_TEST_SUITE(offload_frames)

using namespace pathproof;
using namespace pathproof::agent;
using namespace pathproof::agent::test;
using frame::ChecksumMode;

namespace {

constexpr std::size_t kTcpChecksum = 14 + 20 + 16;
constexpr std::uint16_t kMss = 500;

frame::FrameSpec tcp_spec(std::size_t payload_bytes) {
    frame::FrameSpec spec;
    spec.packet.source_mac = *frame::parse_mac("02:00:00:00:00:01");
    spec.packet.destination_mac = *frame::parse_mac("02:00:00:00:00:02");
    spec.packet.source = endpoint("198.18.77.1:4000");
    spec.packet.destination = endpoint("198.18.77.77:5000");  // nobody: no answers
    spec.packet.transport = frame::Transport::kTcp;
    for (std::size_t i = 0; i < payload_bytes; ++i) {
        spec.payload.push_back(static_cast<std::uint8_t>(i * 7));
    }
    return spec;
}

std::vector<std::uint8_t> rendered(const frame::FrameSpec& spec) {
    const auto made = frame::FrameTemplate::make(spec);
    BOOST_REQUIRE_MESSAGE(made, made.error().message);
    std::vector<std::uint8_t> bytes(made->size());
    made->render(bytes.data(), {});
    return bytes;
}

OffloadFrame partial_frame() {
    frame::FrameSpec spec = tcp_spec(101);
    spec.packet.transport_checksum = ChecksumMode::kOffload;
    return {rendered(spec), frame::virtio_request(spec)};
}

OffloadFrame super_frame() {
    frame::FrameSpec spec = tcp_spec(3 * kMss + 1);
    spec.segment_bytes = kMss;
    spec.packet.transport_checksum = ChecksumMode::kPseudo;
    return {rendered(spec), frame::virtio_request(spec)};
}

// The kernel's own frames (router solicitations, multicast reports) come by themselves.
bool is_ours(const CapturedFrame& frame) {
    const std::array<std::uint8_t, 6> source = {2, 0, 0, 0, 0, 1};
    return frame.bytes.size() >= 12 &&
           std::equal(source.begin(), source.end(), frame.bytes.begin() + 6);
}

// Returns what b's side of the veth pair received of the frames that a handed over.
Capture carried(Client& a, Client& b, const std::vector<OffloadFrame>& frames) {
    const Status started = b.start_capture({.device = "e0"});
    BOOST_REQUIRE_MESSAGE(started, started.error().message);
    const auto report = a.send_frames("e0", frames);
    BOOST_REQUIRE_MESSAGE(report, report.error().message);
    BOOST_REQUIRE(report->refusals.empty());
    usleep(100'000);  // veth hands over in a softirq; nothing tells when it is done
    auto capture = b.stop_capture();
    BOOST_REQUIRE_MESSAGE(capture, capture.error().message);
    BOOST_TEST(capture->dropped == 0u);
    std::erase_if(capture->frames, [](const CapturedFrame& frame) { return !is_ours(frame); });
    return *capture;
}

void set(const std::string& netns, const std::string& feature, bool on) {
    run_in(netns, fmt::format("ethtool -K e0 {} {}", feature, on ? "on" : "off"));
}

}  // namespace

BOOST_AUTO_TEST_CASE(
    veth_hands_a_partial_checksum_over_and_completes_it_only_with_the_offload_off) {
    const Lab lab;
    const auto a = agent_in(lab.a);
    const auto b = agent_in(lab.b);
    const OffloadFrame handed = partial_frame();
    const Capture on = carried(*a, *b, {handed});
    BOOST_REQUIRE(on.frames.size() == 1u);
    BOOST_TEST((on.frames[0].checksum == ChecksumStatus::kPartial));
    BOOST_TEST((on.frames[0].bytes == handed.bytes));
    BOOST_TEST(on.frames[0].request.csum_start == 34);
    BOOST_TEST(on.frames[0].request.csum_offset == 16);
    set(lab.a, "tx-checksum-ip-generic", false);
    const Capture off = carried(*a, *b, {handed});
    BOOST_REQUIRE(off.frames.size() == 1u);
    BOOST_TEST((off.frames[0].checksum != ChecksumStatus::kPartial));
    BOOST_TEST((off.frames[0].bytes == rendered(tcp_spec(101))));
}

BOOST_AUTO_TEST_CASE(a_wrong_checksum_is_carried_as_it_is_and_no_claim_is_made_of_it) {
    const Lab lab;
    const auto a = agent_in(lab.a);
    const auto b = agent_in(lab.b);
    OffloadFrame wrong{rendered(tcp_spec(64)), {}};
    wrong.bytes[kTcpChecksum] ^= 0x40;
    const Capture capture = carried(*a, *b, {wrong, {rendered(tcp_spec(64)), {}}});
    BOOST_REQUIRE(capture.frames.size() == 2u);
    BOOST_TEST((capture.frames[0].bytes == wrong.bytes));
    for (const CapturedFrame& frame : capture.frames) {
        BOOST_TEST((frame.checksum == ChecksumStatus::kUnknown));
    }
}

BOOST_AUTO_TEST_CASE(a_super_frame_is_cut_by_the_kernel_when_the_device_does_not) {
    const Lab lab;
    const auto a = agent_in(lab.a);
    const auto b = agent_in(lab.b);
    const Capture whole = carried(*a, *b, {super_frame()});
    BOOST_REQUIRE(whole.frames.size() == 1u);
    BOOST_TEST(whole.frames[0].request.gso_size == kMss);
    set(lab.a, "tx-tcp-segmentation", false);
    const Capture cut = carried(*a, *b, {super_frame()});
    BOOST_REQUIRE(cut.frames.size() == 4u);
    BOOST_TEST(cut.frames[0].bytes.size() == 54u + kMss);
    BOOST_TEST(cut.frames[3].bytes.size() == 54u + 1);
}

BOOST_AUTO_TEST_CASE(what_the_kernel_refuses_is_reported_frame_by_frame) {
    const Lab lab;
    const auto a = agent_in(lab.a);
    OffloadFrame nonsense = super_frame();
    nonsense.request.gso_type = 0x3f;
    OffloadFrame beyond = partial_frame();
    beyond.request.csum_start = 60'000;
    const OffloadFrame long_one{std::vector<std::uint8_t>(3000), {}};
    const auto report = a->send_frames("e0", {nonsense, partial_frame(), beyond, long_one});
    BOOST_REQUIRE_MESSAGE(report, report.error().message);
    BOOST_TEST(report->sent == 1u);
    BOOST_REQUIRE(report->refusals.size() == 3u);
    BOOST_TEST(report->refusals[0].index == 0u);
    BOOST_TEST(report->refusals[0].reason.find("EINVAL") != std::string::npos);
    BOOST_TEST(report->refusals[2].reason.find("EMSGSIZE") != std::string::npos,
               report->refusals[2].reason);
    const auto nowhere = a->send_frames("e9", {});
    BOOST_REQUIRE(!nowhere);
    BOOST_TEST(nowhere.error().message.find("'e9' does not exist") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_is_sent_through_a_device_is_not_taken_for_received) {
    const Lab lab;
    const auto a = agent_in(lab.a);
    BOOST_REQUIRE(a->start_capture({.device = "e0"}));
    BOOST_TEST(!a->start_capture({.device = "e0"}));
    BOOST_REQUIRE(a->send_frames("e0", {partial_frame()}));
    usleep(20'000);
    const auto capture = a->stop_capture();
    BOOST_REQUIRE(capture);
    BOOST_TEST(std::count_if(capture->frames.begin(), capture->frames.end(), is_ours) == 0);
    BOOST_TEST(!a->stop_capture());
}

// The kernel begins to note times only some time after the first socket on the machine asks.
BOOST_AUTO_TEST_CASE(a_frame_has_the_time_at_which_it_came_and_not_that_at_which_it_is_read) {
    const Lab lab;
    const auto a = agent_in(lab.a);
    const auto b = agent_in(lab.b);
    usleep(200'000);
    for (int i = 0; i < 10; ++i) {
        BOOST_REQUIRE(b->start_capture({.device = "e0"}));
        kill(b->pid(), SIGSTOP);
        const auto report = a->send_frames("e0", {partial_frame()});
        usleep(10'000);
        const std::int64_t there = realtime_ns();
        usleep(30'000);
        kill(b->pid(), SIGCONT);
        BOOST_REQUIRE(report);
        const auto capture = b->stop_capture();
        BOOST_REQUIRE(capture);
        for (const CapturedFrame& frame : capture->frames) {
            BOOST_TEST((!is_ours(frame) || frame.time_ns <= there));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_socket_cuts_a_payload_into_datagrams) {
    const Lab lab;
    const auto a = agent_in(lab.a);
    const auto b = agent_in(lab.b);
    set(lab.a, "tx-udp-segmentation", false);
    BOOST_REQUIRE(b->start_capture({.device = "e0"}));
    const auto report = a->send_datagrams({.destination = endpoint("198.18.77.2:7000"),
                                           .payloads = {std::vector<std::uint8_t>(1001, 5)},
                                           .segment_bytes = 500});
    BOOST_REQUIRE_MESSAGE(report, report.error().message);
    BOOST_TEST(report->sent == 1u);
    usleep(50'000);
    const auto capture = b->stop_capture();
    BOOST_REQUIRE(capture);
    std::vector<std::size_t> lengths;
    for (const CapturedFrame& frame : capture->frames) {
        if (frame.bytes[12] == 8 && frame.bytes[13] == 0) {
            lengths.push_back(frame.bytes.size());
        }
    }
    const std::vector<std::size_t> wanted{542, 542, 43};
    BOOST_TEST(lengths == wanted, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_trial_tells_taken_already_fixed_and_what_changed_along) {
    const Lab lab;
    const auto a = agent_in(lab.a);
    const auto before = a->features("e0");
    BOOST_REQUIRE(before);
    const auto off = a->try_feature("e0", "tx-checksum-ip-generic", false);
    BOOST_REQUIRE_MESSAGE(off, off.error().message);
    BOOST_TEST((off->outcome == TrialOutcome::kTaken));
    bool segmentation_too = false;
    for (const FeatureChange& change : off->along) {
        segmentation_too |= change.name == "tx-tcp-segmentation";
    }
    BOOST_TEST(segmentation_too);
    BOOST_TEST(
        (a->try_feature("e0", "tx-checksum-ip-generic", false)->outcome == TrialOutcome::kAlready));
    BOOST_TEST((a->try_feature("e0", "vlan-challenged", true)->outcome == TrialOutcome::kFixed));
    const auto back = a->try_feature("e0", "tx-checksum-ip-generic", true);
    BOOST_TEST((back->outcome == TrialOutcome::kTaken));
    BOOST_TEST(differences(*before, *a->features("e0")).empty());
    const auto unknown = a->try_feature("e0", "tx-checksum-ip-genric", true);
    BOOST_REQUIRE(!unknown);
    BOOST_TEST(unknown.error().message.find("did you mean") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_device_that_cannot_follow_is_recorded_as_it_behaved) {
    const Lab lab;
    const auto a = agent_in(lab.a);
    // Segmentation needs checksums (netdev_fix_features): asked for alone, it stays off.
    set(lab.a, "tx-checksum-ip-generic", false);
    const auto trial = a->try_feature("e0", "tx-tcp-segmentation", true);
    BOOST_REQUIRE_MESSAGE(trial, trial.error().message);
    BOOST_TEST(
        (trial->outcome == TrialOutcome::kRefused || trial->outcome == TrialOutcome::kIgnored),
        name(trial->outcome));
}

BOOST_AUTO_TEST_SUITE_END()
