#include "harness/scenario/offload_truth/segments.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "dataplane/frame/template.h"
#include "harness/agent/offload_frames.h"
#include "harness/scenario/measures.h"
#include "harness/scenario/offload_truth/addressed.h"
#include "harness/scenario/offload_truth/part.h"
#include "harness/truth/super_frame.h"

namespace pathproof::scenario {
namespace {

using frame::Family;
using truth::advertised;
using truth::is_on;
using truth::SegmentTally;
using truth::Setting;
using truth::SettingTaken;
using truth::TruthPart;
using truth::TruthRun;
using truth::WireKind;
using verdict::Cell;
using verdict::CellVerdict;
using verdict::Observation;
using verdict::Observed;

constexpr const char* kChecksums = "tx-checksum-ip-generic";
constexpr std::uint16_t kSegmentBytes = 1000;
constexpr std::size_t kSuperFrames = 12;
constexpr std::uint32_t kEnvelope = 50;  // VXLAN over IPv4, with the inner Ethernet header
constexpr std::uint32_t kLeastPacket = kEnvelope + 40 + kSegmentBytes;

constexpr std::uint16_t kSegmentPort = 21000;
constexpr std::uint8_t kFinPushAck = 0x19;

enum class SegmentKind : std::size_t { kTcp, kUdp };
constexpr std::array<const char*, 2> kKindNames = {"TCP", "UDP"};
constexpr std::array<const char*, 2> kKindWords = {"tcp", "udp"};

// A feature, and the vxlan device whose super-frames make use of it. The kernel changes the
// checksum flag of none that exists.
struct SegmentFeature {
    const char* name;
    truth::OuterSum outer;
    const char* device;
    unsigned vni;
    std::uint32_t own;  // inside the tunnel; the far end is one more

    frame::IpAddress address() const { return frame::IpAddress::v4(own); }
    frame::IpAddress far() const { return frame::IpAddress::v4(own + 1); }
};
// 198.19.254.1/30 and 198.19.254.5/30 (RFC 2544).
constexpr std::array<SegmentFeature, 2> kFeatures = {{
    {"tx-udp_tnl-csum-segmentation", truth::OuterSum::kComputed, "ppseg1", 45, 0xc613fe01},
    {"tx-udp_tnl-segmentation", truth::OuterSum::kZero, "ppseg0", 46, 0xc613fe05},
}};

// Returns the settings: as found, each alone off, and off with the checksums.
std::vector<Setting> points_of(const SegmentFeature& feature) {
    return {{Setting::Kind::kAsFound, feature.name},
            {Setting::Kind::kOneOff, feature.name},
            {Setting::Kind::kOneOff, feature.name, kChecksums}};
}

struct SegmentOutcome {
    Setting setting;
    SettingTaken taken;

    const SegmentFeature& feature() const {
        return *std::ranges::find(kFeatures, setting.feature, &SegmentFeature::name);
    }
    bool as_found() const { return setting.kind == Setting::Kind::kAsFound; }
    std::string state() const {
        if (as_found()) {
            return "as found";
        }
        return setting.with.empty() ? "alone off" : fmt::format("and {} off", setting.with);
    }
    const char* state_word() const {
        if (as_found()) {
            return "as-found";
        }
        return setting.with.empty() ? "off" : "all-software";
    }
    std::string id(SegmentKind kind) const {
        return fmt::format("segments.{}.{}.{}",
                           feature().outer == truth::OuterSum::kComputed ? "udpcsum" : "noudpcsum",
                           state_word(), kKindWords[static_cast<std::size_t>(kind)]);
    }
};

// 1 to 5 full segments, and a rest of which one is odd.
std::vector<std::uint8_t> payload_of(std::size_t number) {
    const std::size_t length = kSegmentBytes * (1 + number % 5) + 1 + number * 53 % 900;
    std::vector<std::uint8_t> payload(length);
    for (std::size_t at = 0; at < length; ++at) {
        payload[at] = static_cast<std::uint8_t>(at * 31 + number * 7 + at / 251);
    }
    return payload;
}

// The kernel's tunnel devices, with everything that goes with them when they are deleted.
Status make_tunnels(AddressedDevice& addressed, const TruthDevice& device) {
    TRY(addressed.know_tester(Family::kIpv4));
    for (const SegmentFeature& feature : kFeatures) {
        const std::string type =
            fmt::format("vxlan id {} dstport 4789 local {} remote {} dev {} {}", feature.vni,
                        frame::to_string(AddressedDevice::own(Family::kIpv4)),
                        frame::to_string(AddressedDevice::tester(Family::kIpv4)), device.name,
                        feature.outer == truth::OuterSum::kComputed ? "udpcsum" : "noudpcsum");
        TRY(addressed.add_device({.name = feature.device,
                                  .mtu = std::min(1400u, device.longest_packet - kEnvelope),
                                  .type = type,
                                  .address = frame::to_string(feature.address()) + "/30",
                                  .neighbour = frame::to_string(feature.far())}));
    }
    return {};
}

Status send_udp(TruthBench& bench, const SegmentFeature& feature, SegmentTally& tally) {
    agent::DatagramOptions options{.source = {}, .destination = {feature.far(), 7000}};
    options.segment_bytes = kSegmentBytes;
    for (std::size_t i = 0; i < kSuperFrames; ++i) {
        options.payloads = {payload_of(i)};
        options.source = {feature.address(), static_cast<std::uint16_t>(kSegmentPort + i)};
        const auto report = TRY(bench.dut().send_datagrams(options));
        tally.sent += report.sent;
    }
    return {};
}

Status send_tcp(TruthBench& bench, const SegmentFeature& feature, SegmentTally& tally) {
    std::vector<agent::OffloadFrame> frames;
    const auto tunnel = TRY(bench.dut().device(feature.device));
    for (std::size_t i = 0; i < kSuperFrames; ++i) {
        frame::FrameSpec spec;
        spec.packet.source_mac = tunnel.mac;
        spec.packet.destination_mac = {{2, 0, 0, 0, 0, 3}};
        spec.packet.source = {feature.address(), static_cast<std::uint16_t>(kSegmentPort + i)};
        spec.packet.destination = {feature.far(), 7000};
        spec.packet.transport = frame::Transport::kTcp;
        spec.packet.tcp_flags = kFinPushAck;
        spec.packet.transport_checksum = frame::ChecksumMode::kPseudo;
        spec.packet.identification = static_cast<std::uint16_t>(i * 100);
        spec.payload = payload_of(i);
        spec.segment_bytes = kSegmentBytes;
        const auto made = TRY(frame::FrameTemplate::make(spec));
        frames.push_back({.bytes = made.render(), .request = frame::virtio_request(spec)});
    }
    const auto report = TRY(bench.dut().send_frames(feature.device, frames));
    tally.sent = report.sent;
    for (const agent::SendRefusal& refused : report.refusals) {
        tally.explanation += fmt::format("refused: {}\n", refused.reason);
    }
    return {};
}

// Returns the number of the super-frame to which a frame belongs; nothing if it is none of ours.
std::optional<std::size_t> number_of(const matrix::FrameBytes& bytes, const SegmentFeature& feature,
                                     SegmentKind kind) {
    const frame::FrameView view = frame::parse_frame(bytes, frame::TunnelPorts::well_known());
    const frame::Transport wanted =
        kind == SegmentKind::kTcp ? frame::Transport::kTcp : frame::Transport::kUdp;
    if (!view.has_inner || view.inner.transport != wanted) {
        return std::nullopt;
    }
    const std::uint16_t port = view.inner.source_endpoint().port;
    const bool ours = port >= kSegmentPort && port < kSegmentPort + kSuperFrames &&
                      view.inner.destination_endpoint().address == feature.far();
    return ours ? std::optional<std::size_t>(port - kSegmentPort) : std::nullopt;
}

Result<SegmentTally> measure(TruthBench& bench, const SegmentFeature& feature, SegmentKind kind,
                             WireKind wire) {
    SegmentTally tally;
    const auto recording = TRY(bench.record([&]() -> Result<std::uint64_t> {
        TRY(kind == SegmentKind::kTcp ? send_tcp(bench, feature, tally)
                                      : send_udp(bench, feature, tally));
        return kSuperFrames * 6;
    }));
    if (recording.tester_lost + recording.left_out + recording.cut != 0) {
        tally.doubt = "the tester's own port lost or cut frames";
        return tally;
    }
    std::array<std::vector<matrix::FrameBytes>, kSuperFrames> by_number;
    for (const matrix::FrameBytes& bytes : recording.frames) {
        if (const auto number = number_of(bytes, feature, kind)) {
            by_number[*number].push_back(bytes);
        }
    }
    for (std::size_t i = 0; i < kSuperFrames && tally.sent != 0; ++i) {
        judge_super_frame(by_number[i], payload_of(i), kSegmentBytes, feature.outer, wire, tally);
    }
    return tally;
}

TrafficSeen judge_tally(const SegmentOutcome& point, SegmentKind kind, SegmentTally tally,
                        WireKind wire) {
    std::vector<std::string> names;
    for (const auto& [name, frames] : tally.names) {
        names.push_back(name);
    }
    Cell cell{.id = point.id(kind),
              .toggles = {{"tunnel of the kernel",
                           point.feature().outer == truth::OuterSum::kComputed ? "vxlan udpcsum"
                                                                               : "vxlan noudpcsum"},
                          {point.feature().name, point.state()},
                          {"super-frames", kKindNames[static_cast<std::size_t>(kind)]}},
              .verdict = CellVerdict::kPass};
    cell.measures = {
        count_of("super_frames", "super-frames sent", tally.sent),
        count_of("segments", "segments that they make", tally.frames),
        count_of("segments_seen", "of them on the wire, or behind a healthy NIC", tally.seen),
        count_of("super_frames_uncut", "super-frames handed over whole", tally.uncut),
        count_of("segments_unfinished", "segments handed over unfinished", tally.unfinished),
        count_of("frames_wrong", "frames wrong or missing", tally.wrong)};
    Observation seen{.observed = tally.observed(wire),
                     .frames = tally.frames,
                     .wrong = std::min(tally.wrong, tally.frames),
                     .names = names,
                     .cell = cell.id};
    if (tally.sent == 0) {
        cell.verdict = CellVerdict::kSkip;
        cell.reason = tally.explanation.empty() ? "nothing could be sent" : tally.explanation;
    } else if (seen.observed == Observed::kWrong) {
        cell.verdict = CellVerdict::kFail;
        cell.reason =
            fmt::format("{} frames are wrong or missing: {}", tally.wrong, fmt::join(names, ", "));
        cell.cause = names.front();
        seen.note = cell.reason;
    } else if (!tally.doubt.empty()) {
        cell.verdict = CellVerdict::kInconclusive;
        cell.reason = tally.doubt;
    } else if (seen.observed == Observed::kByDesign) {
        seen.names = {tally.uncut != 0 ? "super-frame" : "PSEUDO"};
        seen.note = "handed over unfinished; behind a healthy NIC every segment is right";
    }
    return {std::move(cell), std::move(seen), std::move(tally.bad), std::move(tally.explanation),
            std::move(tally.names)};
}

std::string advertised_at(const SegmentOutcome& point) {
    const SegmentFeature& feature = point.feature();
    const std::vector<agent::Feature>& then = point.taken.features;
    if (!point.as_found()) {
        return fmt::format("set off, is {}", is_on(then, feature.name) ? "on" : "off");
    }
    return feature_named(then, feature.name) == nullptr ? "off" : advertised(then, feature.name);
}

// Both kinds of super-frames under one setting of one feature: a row.
Status judge_point(Context& context, TruthBench& bench, const SegmentOutcome& point, TruthRun& run,
                   verdict::TruthTable& table, verdict::ScenarioResult& result) {
    const SegmentFeature& feature = point.feature();
    verdict::TruthRow row{
        .offload = feature.name, .direction = "Tx", .expected = expectation_of(run, feature.name)};
    row.offload += point.as_found() ? "" : ", " + point.state();
    row.advertised = advertised_at(point);
    for (const SegmentKind kind : {SegmentKind::kTcp, SegmentKind::kUdp}) {
        const auto observe = [&]() -> Result<TrafficSeen> {
            auto tally = TRY(measure(bench, feature, kind, run.wire));
            return judge_tally(point, kind, std::move(tally), run.wire);
        };
        TrafficSeen traffic =
            TRY(observe_traffic(context, bench, point.id(kind), observe, run, result));
        const Cell& cell = traffic.cell;
        if (cell.verdict == CellVerdict::kFail) {
            row.finding += (row.finding.empty() ? "" : "; ") + cell.reason;
            run.values.wrong.push_back(
                {.part = TruthPart::kSegments,
                 .setting = fmt::format("{}, {} {}", kKindNames[static_cast<std::size_t>(kind)],
                                        feature.name, point.state()),
                 .title = cell.cause,
                 .where = cell.reason,
                 .wrong = traffic.seen.wrong,
                 .frames = traffic.seen.frames,
                 .observations = 2,
                 .meaning =
                     fmt::format("Segments of super-frames in a VXLAN tunnel: {}.", cell.cause)});
        }
        row.observed.push_back(std::move(traffic.seen));
    }
    table.rows.push_back(std::move(row));
    return {};
}

// A table that says why it is empty.
void not_tested(const TruthRun& run, const std::string& why, verdict::TruthTable& table) {
    for (const SegmentFeature& feature : kFeatures) {
        verdict::TruthRow row{.offload = feature.name,
                              .direction = "Tx",
                              .expected = expectation_of(run, feature.name)};
        const agent::Feature* found = feature_named(run.as_found, feature.name);
        row.advertised = "not there";
        if (found != nullptr) {
            row.advertised = found->active ? "on" : "off";
        }
        row.observed.assign(kKindNames.size(), {.note = why});
        table.rows.push_back(std::move(row));
    }
    table.excluded = "Not measured: " + why;
}

}  // namespace

std::size_t segment_steps() {
    return kFeatures.size() * points_of(kFeatures[0]).size() * kKindNames.size();
}

Status judge_tunnel_segments(Context& context, TruthBench& bench, TruthRun& run,
                             verdict::ScenarioResult& result) {
    verdict::TruthTable table{.title = "Super-frames in a VXLAN tunnel of the kernel",
                              .device = run.device + " below a vxlan device",
                              .conditions = {kKindNames.begin(), kKindNames.end()}};
    auto addressed = AddressedDevice::take(bench.host(), bench.device().name);
    std::string no_address =
        addressed ? addressed->why_not(Family::kIpv4) : addressed.error().message;
    if (bench.device().longest_packet < kLeastPacket) {
        no_address = fmt::format("packets of {} bytes would be needed", kLeastPacket);
    }
    const Status made = no_address.empty() ? make_tunnels(*addressed, bench.device()) : Status();
    if (!no_address.empty() || !made) {
        not_tested(run, no_address.empty() ? made.error().message : no_address, table);
        result.truth_tables.push_back(std::move(table));
        return {};
    }
    Part<SegmentOutcome> part{.id = "segments",
                              .features = {kFeatures[0].name, kFeatures[1].name, kChecksums},
                              .points = {},
                              .judge = [&](SegmentOutcome& point) {
                                  return judge_point(context, bench, point, run, table, result);
                              }};
    for (const SegmentFeature& feature : kFeatures) {
        std::ranges::copy(points_of(feature), std::back_inserter(part.points));
    }
    const auto judged = TRY(run_part(bench, part));
    table.excluded =
        "TCP: frames of a packet socket on the vxlan device, with FIN and PSH; UDP: UDP_SEGMENT of "
        "an ordinary socket. Every segment's headers, lengths and checksums are held against the "
        "super-frame. GRE and IP in IP are not tested: see the tunnels of the kernel.";
    result.cells.push_back(judged.put_back);
    result.truth_tables.push_back(std::move(table));
    return {};
}

}  // namespace pathproof::scenario
