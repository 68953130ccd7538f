#include "harness/cli/search/setup.h"

#include <algorithm>

#include "dataplane/search/frame_sizes.h"
#include "harness/cli/generate/link.h"

namespace pathproof::cli {
namespace {

constexpr search::Nanoseconds kProbe = std::chrono::milliseconds(300);

unsigned tag_bytes(const frame::FrameSpec& spec) {
    return (spec.tunnel ? spec.tunnel->outer.vlans : spec.packet.vlans) * 4;
}

// Frames beyond the MTU are refused by the kernel, those beyond a ring's slot cut.
Status fits_port(std::uint16_t size, const frame::FrameSpec& spec, const port::Port& port) {
    constexpr unsigned kEthernetHeader = 14;
    const std::string& name = port.info().name;
    const std::uint32_t most = port.transmit_limit() + tag_bytes(spec) + search::kFcsBytes;
    if (port.transmit_limit() != 0 && size > most) {
        return fail(ErrorCode::kBadInput,
                    "--sizes {}: port {} has an MTU of {} and carries frames of at most {} bytes, "
                    "FCS included; take smaller ones, or give it and the device a greater MTU "
                    "('ip link set dev {} mtu {}')",
                    size, name, port.transmit_limit() - kEthernetHeader, most, name,
                    port.transmit_limit() - kEthernetHeader + size - most);
    }
    if (port.receive_limit() != 0 && size > port.receive_limit() + search::kFcsBytes) {
        return fail(ErrorCode::kBadInput,
                    "--sizes {}: port {} receives frames of at most {} bytes whole, FCS included",
                    size, name, port.receive_limit() + search::kFcsBytes);
    }
    return {};
}

}  // namespace

const char* name(MaxLoadSource source) {
    switch (source) {
        case MaxLoadSource::kOption: return "option";
        case MaxLoadSource::kLineRate: return "line rate";
        case MaxLoadSource::kTester: return "tester";
    }
    return "?";
}

Result<SearchSetup> SearchSetup::open(const SearchOptions& options, const std::atomic<bool>& stop) {
    const auto sizes = TRY(frame_sizes(options));
    std::uint64_t offloads = 0;
    std::vector<frame::FrameSpec> specs;
    for (const std::uint16_t size : sizes) {
        const auto traffic = TRY(traffic_of_size(options, size));
        offloads |= traffic.port_offloads;
        specs.push_back(traffic.source.spec);
    }
    auto lanes = TRY(Lanes::open(options.lanes, offloads, SlowDevice::kLosesFrames));
    SearchSetup setup(options, stop);
    setup.lanes_ = std::make_unique<Lanes>(std::move(lanes));
    for (std::size_t n = 0; n < sizes.size(); ++n) {
        for (port::Port* port : {&setup.lanes_->sending(), &setup.lanes_->receiving()}) {
            TRY(fits_port(sizes[n], specs[n], *port));
        }
    }
    const auto first = TRY(traffic_of_size(options, sizes.front()));
    setup.next_hop_ = TRY(find_next_hop(options.traffic, setup.plan_for(first).load, stop));
    return setup;
}

measure::MeasurerPlan SearchSetup::plan_for(const Traffic& traffic) {
    measure::MeasurerPlan plan{
        .roles = roles_of(options_.lanes, lanes_->sending(), lanes_->receiving()),
        .load = {.source = traffic.source, .intake = traffic.intake},
        .drain = nanoseconds_of(options_.drain_s),
        .offered_tolerance = offered_tolerance(options_)};
    plan.load.intake.streams = static_cast<unsigned>(plan.roles.senders.size());
    plan.load.intake.keep_bad_frames = 0;
    take_stations(options_.traffic, *lanes_, plan.load);
    set_next_hop(next_hop_, plan.load.source);
    return plan;
}

Result<std::unique_ptr<measure::LoadMeasurer>> SearchSetup::measurer(std::uint16_t size) {
    const auto traffic = TRY(traffic_of_size(options_, size));
    return doing(measure::LoadMeasurer::start(lanes_->ports.set.eal, plan_for(traffic), stop_),
                 "frames of {} bytes", size);
}

Result<std::optional<MaxLoad>> SearchSetup::max_load(std::uint16_t size,
                                                     search::Trials& probe) const {
    using Found = std::optional<MaxLoad>;
    if (options_.max_load > 0) {
        return Found({options_.max_load, MaxLoadSource::kOption});
    }
    if (sender().link_mbps != 0) {
        return Found(
            {search::line_rate_pps(sender().link_mbps * 1e6, size), MaxLoadSource::kLineRate});
    }
    const auto trial = probe.run({.duration = kProbe});
    if (!trial || *trial == nullptr) {
        return trial ? Result<Found>(Found()) : pass_on(trial.error());
    }
    const double offered = (*trial)->offered_pps;
    if (offered <= 0) {
        return fail(ErrorCode::kFailed,
                    "port {} took no frames; give the greatest load with --max-load",
                    sender().name);
    }
    return Found({offered, MaxLoadSource::kTester});
}

port::Evidence SearchSetup::evidence() const {
    // Physical, virtual, simulated: in falling order.
    return std::max(sender().evidence, receiver().evidence);
}

}  // namespace pathproof::cli
