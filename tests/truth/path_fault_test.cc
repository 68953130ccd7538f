#include "harness/truth/path_fault.h"

#include <boost/test/unit_test.hpp>

#include "harness/truth/conclude.h"
#include "tests/contains.h"

BOOST_AUTO_TEST_SUITE(path_fault_suite)

using namespace pathproof;
using namespace pathproof::truth;
using matrix::FrameBytes;
using pathproof::test::contains;

namespace {

const frame::TunnelPorts kNone(frame::IpTunnels::kIgnored);

FrameBytes counting(std::size_t bytes) {
    FrameBytes frame(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
        frame[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
    }
    return frame;
}

struct Plain {
    matrix::Row row;
    matrix::Probe probe;
};

std::vector<Plain> plain_frames() {
    const matrix::ProbeMaker maker(matrix::kernel_device_limits(1500), matrix::Direction::kTransmit,
                                   {}, 1);
    std::vector<Plain> all;
    for (const matrix::Vlan vlan : {matrix::Vlan::kNone, matrix::Vlan::kOne}) {
        for (const matrix::Length length :
             {matrix::Length::k17, matrix::Length::k256, matrix::Length::kMtu}) {
            const matrix::Row row{.vlan = vlan, .length = length};
            auto probe = maker.make(row, {static_cast<std::uint32_t>(all.size()), 0});
            BOOST_REQUIRE(probe);
            all.push_back({row, matrix::as_plain(std::move(*probe))});
        }
    }
    return all;
}

std::vector<PathSample> samples_of(const std::vector<Plain>& frames) {
    std::vector<PathSample> samples;
    for (const Plain& plain : frames) {
        const FrameBytes& sent = plain.probe.intended.front();
        samples.push_back({.row = &plain.row, .probe = &plain.probe, .came = {sent, sent, sent}});
    }
    return samples;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_change_is_described) {
    const FrameBytes sent = counting(100);
    FrameBytes longer = sent;
    longer.insert(longer.end(), 2, 0);
    FrameBytes shifted = sent;
    shifted.insert(shifted.begin() + 12, 4, 0x55);
    FrameBytes narrower = sent;
    narrower.erase(narrower.begin() + 12, narrower.begin() + 14);
    BOOST_TEST(change_of(sent, {}, kNone) == "never comes");
    BOOST_TEST(change_of(sent, {sent.begin(), sent.end() - 4}, kNone) ==
               "the last 4 bytes are missing");
    BOOST_TEST(change_of(sent, {sent.begin(), sent.end() - 1}, kNone) ==
               "the last byte is missing");
    BOOST_TEST(change_of(sent, longer, kNone) == "2 bytes more at its end");
    BOOST_TEST(change_of(sent, shifted, kNone) == "4 bytes more are within it");
    BOOST_TEST(change_of(sent, narrower, kNone) == "2 bytes are missing within it");
}

BOOST_AUTO_TEST_CASE(frames_of_one_fate_in_every_look_are_a_fault_that_is_located) {
    const auto frames = plain_frames();
    auto samples = samples_of(frames);
    const FrameBytes& whole = frames.back().probe.intended.front();
    const FrameBytes cut(whole.begin(), whole.end() - 4);
    samples.back().came = {cut, cut, cut};
    const auto faults = path_faults(Way::kFromDevice, samples);
    BOOST_REQUIRE(faults.size() == 1u);
    const std::string text = fault_sentence(faults.front(), "nic0", "wire0");
    BOOST_TEST(contains(text,
                        "1 of 6 plain frames from nic0 to wire0 came changed, each of 3 times: "
                        "frames of more than 1514 bytes (all of them: VLAN one)"),
               text);
    BOOST_TEST(text.ends_with("the last 4 bytes are missing"), text);
    BOOST_TEST(faults.front().specimens.front().wire == cut);
}

BOOST_AUTO_TEST_CASE(frames_that_are_lost_now_and_then_or_changed_once_are_none) {
    const auto frames = plain_frames();
    auto samples = samples_of(frames);
    const FrameBytes& whole = frames.back().probe.intended.front();
    samples.back().came = {{}, whole, {}};
    samples.front().came[1] = FrameBytes(60, 1);
    BOOST_TEST(path_faults(Way::kFromDevice, samples).empty());
}

BOOST_AUTO_TEST_CASE(frames_that_are_changed_now_and_then_have_a_rate) {
    const auto frames = plain_frames();
    auto samples = samples_of(frames);
    for (const auto& [number, look] : {std::pair{0, 0}, {2, 1}, {4, 2}}) {
        samples[number].came[look].back() ^= 1;
    }
    const auto faults = path_faults(Way::kToDevice, samples);
    BOOST_REQUIRE(faults.size() == 1u);
    BOOST_TEST(!faults.front().always);
    const std::string text = fault_sentence(faults.front(), "wire0", "nic0");
    BOOST_TEST(contains(text,
                        "3 of 18 plain frames from wire0 to nic0 came changed, now and then, "
                        "1 in 6 (95 %:"),
               text);
}

BOOST_AUTO_TEST_CASE(a_path_that_changes_frames_is_a_defect_where_nothing_else_could_do_it) {
    const auto frames = plain_frames();
    auto samples = samples_of(frames);
    const FrameBytes& whole = frames.back().probe.intended.front();
    const FrameBytes cut(whole.begin(), whole.end() - 4);
    samples.back().came = {cut, cut, cut};
    TruthValues values{.device = "nic0 (tun in dut)"};
    values.path.to_tester = {.sent = 6, .right = 5, .changed = 1};
    values.path.to_device = {.sent = 6, .right = 6};
    values.path.device = {.name = "nic0", .netns = "dut", .mtu = 1500};
    values.path.far = {.name = "wire0", .netns = "far", .mtu = 1500};
    values.path.faults = path_faults(Way::kFromDevice, samples);
    verdict::ScenarioResult alone;
    conclude_truth(values, alone);
    BOOST_TEST((alone.verdict == verdict::ScenarioVerdict::kDefectFound), alone.headline);
    BOOST_TEST(contains(alone.headline, "the last 4 bytes are missing"), alone.headline);
    BOOST_TEST(!alone.cause.empty());
    values.path.between = {"tc filters at wire0 (ingress); `tc filter show` lists them"};
    verdict::ScenarioResult beside;
    conclude_truth(values, beside);
    BOOST_TEST((beside.verdict == verdict::ScenarioVerdict::kInconclusive), beside.headline);
    BOOST_TEST(contains(beside.headline, "cannot be told beside tc filters"), beside.headline);
}

BOOST_AUTO_TEST_CASE(losses_are_the_devices_only_where_nobody_else_drops_frames) {
    const auto frames = plain_frames();
    auto samples = samples_of(frames);
    samples.back().came = {{}, {}, {}};
    PathFacts path;
    path.to_tester = {.sent = 6, .right = 5};
    path.to_device = {.sent = 6, .right = 6};
    path.faults = path_faults(Way::kFromDevice, samples);
    BOOST_TEST(path.own_faults().size() == 1u);
    path.drops = {{"TC_EGRESS", "here+0x1", path.device, 3}};
    BOOST_TEST(path.own_faults().empty());
    path.drops.clear();
    path.to_tester.own_loss = 1;
    BOOST_TEST(path.own_faults().empty());
}

BOOST_AUTO_TEST_SUITE_END()
