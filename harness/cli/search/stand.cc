#include "harness/cli/search/stand.h"

#include <algorithm>

#include "dataplane/search/frame_sizes.h"

namespace pathproof::cli {
namespace {

constexpr search::Nanoseconds kProbe = std::chrono::milliseconds(300);

}  // namespace

const char* name(MaxLoadSource source) {
    switch (source) {
        case MaxLoadSource::kOption:
            return "option";
        case MaxLoadSource::kLineRate:
            return "line rate";
        case MaxLoadSource::kTester:
            return "tester";
    }
    return "?";
}

Result<SearchStand> SearchStand::open(const SearchOptions& options, const std::atomic<bool>& stop) {
    const auto sizes = frame_sizes(options);
    if (!sizes) {
        return pass_on(sizes.error());
    }
    std::uint64_t offloads = 0;
    for (const std::uint16_t size : *sizes) {
        const auto traffic = traffic_of_size(options, size);
        if (!traffic) {
            return pass_on(traffic.error());
        }
        offloads |= traffic->port_offloads;
    }
    auto lanes = Lanes::open(options.lanes, offloads);
    if (!lanes) {
        return pass_on(lanes.error());
    }
    SearchStand stand(options, stop);
    stand.lanes_ = std::make_unique<Lanes>(std::move(*lanes));
    return stand;
}

Result<std::unique_ptr<measure::LoadMeasurer>> SearchStand::measurer(std::uint16_t size) {
    const auto traffic = traffic_of_size(options_, size);
    if (!traffic) {
        return pass_on(traffic.error());
    }
    measure::MeasurerPlan plan{
        .roles = roles_of(options_.lanes, lanes_->sending(), lanes_->receiving()),
        .load = {.source = traffic->source, .intake = traffic->intake},
        .drain = from_seconds(options_.drain_s)};
    plan.load.intake.streams = static_cast<unsigned>(plan.roles.senders.size());
    plan.load.intake.keep_bad_frames = 0;
    if (options_.traffic.source_mac.empty()) {
        plan.load.source.spec.packet.source_mac = sender().mac;
    }
    auto started = measure::LoadMeasurer::start(lanes_->ports.eal, plan, stop_);
    if (!started) {
        return fail(started.error(), "frames of {} bytes", size);
    }
    return started;
}

Result<MaxLoad> SearchStand::max_load(std::uint16_t size, search::Measurer& measurer) const {
    if (options_.max_load > 0) {
        return MaxLoad{options_.max_load, MaxLoadSource::kOption};
    }
    if (sender().link_mbps != 0) {
        return MaxLoad{search::line_rate_pps(sender().link_mbps * 1e6, size),
                       MaxLoadSource::kLineRate};
    }
    const auto probe = measurer.measure({.duration = kProbe});
    if (!probe) {
        return pass_on(probe.error());
    }
    if (probe->offered_pps <= 0) {
        return fail(ErrorCode::kFailed,
                    "port {} took no frames; give the greatest load with --max-load",
                    sender().name);
    }
    return MaxLoad{probe->offered_pps, MaxLoadSource::kTester};
}

port::Evidence SearchStand::evidence() const {
    // Physical, virtual, simulated: in falling order.
    return std::max(sender().evidence, receiver().evidence);
}

}  // namespace pathproof::cli
