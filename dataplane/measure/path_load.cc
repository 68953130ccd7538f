#include "dataplane/measure/path_load.h"

#include "dataplane/load/frame_source.h"
#include "dataplane/load/placement.h"
#include "dataplane/search/frame_sizes.h"

namespace pathproof::measure {
namespace {

// Frames beyond the MTU are refused by the kernel, those beyond a ring's slot cut.
Status check_carried(const FrameShare& share, const port::Port& port) {
    for (const std::uint32_t limit : {port.transmit_limit(), port.receive_limit()}) {
        if (limit != 0 && share.bytes > limit + search::kFcsBytes) {
            return fail(
                ErrorCode::kBadInput,
                "port {} carries frames of at most {} bytes, FCS included, and {} are asked "
                "for: give it and the device a greater MTU",
                port.info().name, limit + search::kFcsBytes, share.bytes);
        }
    }
    return {};
}

}  // namespace

double mean_bytes(const std::vector<FrameShare>& frames) {
    double bytes = 0;
    double weights = 0;
    for (const FrameShare& share : frames) {
        bytes += static_cast<double>(share.bytes) * share.weight;
        weights += share.weight;
    }
    return weights > 0 ? bytes / weights : 0;
}

Result<MeasurerPlan> plan_of(const PathLoad& load, port::Port& from, port::Port& to,
                             unsigned lcores) {
    constexpr std::uint16_t kEcho = 7;  // RFC 2544, C.2.6.4
    MeasurerPlan plan{.roles = load::share_queues(lcores, load.queues, from, to),
                      .drain = load.drain,
                      .offered_tolerance = load.offered_tolerance};
    load::SourcePlan& source = plan.load.source;
    source.spec.seed = load.seed;
    frame::PacketSpec& packet = source.spec.packet;
    packet.source_mac = load.source_mac;
    packet.destination_mac = load.destination_mac;
    packet.source = {load.source, load::FlowPlan{}.first_port};
    packet.destination = load.destination;
    TRY(frame::check(source.spec));
    source.mix.clear();
    for (const FrameShare& share : load.frames) {
        for (const port::Port* port : {&from, &to}) {
            TRY(check_carried(share, *port));
        }
        source.mix.push_back(
            {.traffic = frame::TrafficClass::kUdp,
             .weight = share.weight,
             .frame_bytes = static_cast<std::uint16_t>(share.bytes - search::kFcsBytes)});
    }
    source.flow.flows = load.flows;
    source.background_port = load.destination.port != 0 ? load.destination.port : kEcho;
    source.icmp_checksum = frame::ChecksumMode::kSoftware;
    source.seed = load.seed;
    TRY(load::FrameSource::make(source));
    load::IntakePlan& intake = plan.load.intake;
    intake.expects = load::IntakePlan::Expects::kFrames;
    intake.streams = static_cast<unsigned>(plan.roles.senders.size());
    intake.keep_bad_frames = 0;
    intake.seed = load.seed;
    intake.allowed = TRY(load::parse_allowance(load.allow));
    return plan;
}

}  // namespace pathproof::measure
