#include "harness/truth/kernel_exchange.h"

#include <rte_mbuf_core.h>

#include <algorithm>

#include "harness/agent/offload_frames.h"
#include "harness/truth/batch.h"

namespace pathproof::truth {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kRecordedBytes = 8u << 20;  // of one batch, of jumbo frames too

// The kernel's words as those of an mbuf, which the judges of a port read.
traffic::ArrivedFrame as_arrived(agent::CapturedFrame&& captured) {
    traffic::ArrivedFrame frame{.bytes = std::move(captured.bytes)};
    switch (captured.checksum) {
        case agent::ChecksumStatus::kUnknown: break;
        case agent::ChecksumStatus::kValid: frame.mbuf_flags |= RTE_MBUF_F_RX_L4_CKSUM_GOOD; break;
        case agent::ChecksumStatus::kPartial:
            frame.mbuf_flags |= RTE_MBUF_F_RX_L4_CKSUM_NONE;
            break;
    }
    if (captured.vlan_tci) {
        frame.mbuf_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
        frame.vlan_tci = *captured.vlan_tci;
    }
    return frame;
}

// Probes as the agent sends them.
struct HandedOver {
    std::vector<agent::OffloadFrame> frames;
    std::vector<std::uint64_t> on_the_wire;  // frames that a perfect device makes of each
    std::uint64_t expected = 0;
};

HandedOver handed_over(std::span<const matrix::Probe> probes) {
    HandedOver all;
    for (const matrix::Probe& probe : probes) {
        all.expected += probe.intended.size();
        for (const matrix::HandedFrame& handed : probe.handed) {
            all.frames.push_back({handed.bytes, handed.virtio});
            all.on_the_wire.push_back(probe.handed.size() == 1 ? probe.intended.size() : 1);
        }
    }
    return all;
}

}  // namespace

Result<Exchanged> KernelExchange::send(Way way, std::span<const matrix::Probe> probes) {
    return way == Way::kFromDevice ? from_device(probes) : to_device(probes);
}

Path KernelExchange::path() {
    return {{.name = device_, .device = device_, .driver = kKernelDriver},
            tester_.ports().front(),
            *this};
}

Result<traffic::Recording> KernelExchange::record(
    const std::function<Result<std::uint64_t>()>& send) {
    TRY(tester_.start_recording({.most_bytes = kRecordedBytes}));
    const auto expected = send();
    auto recording = tester_.stop_recording(
        {.expected = expected.value_or(0), .quiet = patience_, .longest = 2s + 3 * patience_});
    return expected ? std::move(recording) : pass_on(expected.error());
}

Result<Exchanged> KernelExchange::from_device(std::span<const matrix::Probe> probes) {
    HandedOver handed = handed_over(probes);
    Exchanged exchanged;
    const auto recording = TRY(record([&]() -> Result<std::uint64_t> {
        const auto sent = TRY(dut_.send_frames(device_, handed.frames));
        for (const agent::SendRefusal& refused : sent.refusals) {
            if (refused.index >= handed.frames.size()) {
                return fail(ErrorCode::kFailed,
                            "the agent at {} refused frame {} of {}: it was not given one", device_,
                            refused.index, handed.frames.size());
            }
            exchanged.report.refusals.push_back({refused.index, refused.reason});
            handed.expected -= std::min(handed.expected, handed.on_the_wire[refused.index]);
        }
        return handed.expected;
    }));
    for (const matrix::FrameBytes& bytes : recording.frames) {
        exchanged.report.arrived.push_back({.bytes = bytes});
    }
    exchanged.received = recording.received;
    exchanged.lost = recording.tester_lost + recording.left_out + recording.cut;
    return exchanged;
}

// The tester sends; what the device received stands in for what would have come back.
Result<Exchanged> KernelExchange::to_device(std::span<const matrix::Probe> probes) {
    traffic::ExchangePlan plan = plan_of(probes);
    plan.quiet = patience_;
    plan.from = 0;
    plan.to = 0;
    TRY(dut_.start_capture({.device = device_}));
    auto report = tester_.exchange(plan);
    auto capture = dut_.stop_capture();
    if (!report || !capture) {
        return pass_on(report ? capture.error() : report.error());
    }
    report->arrived.clear();
    for (agent::CapturedFrame& captured : capture->frames) {
        report->arrived.push_back(as_arrived(std::move(captured)));
    }
    if (capture->missing() != 0) {
        report->objections.push_back(
            fmt::format("the agent on {} lost {} frames itself", device_, capture->missing()));
    }
    return Exchanged{.report = std::move(*report)};
}

}  // namespace pathproof::truth
