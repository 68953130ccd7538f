#include "harness/scenario/offload_truth_segments.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "dataplane/frame/template.h"
#include "dataplane/judge/explain.h"
#include "harness/lab/topology.h"
#include "harness/scenario/measures.h"
#include "harness/scenario/offload_truth_addressed.h"

namespace pathproof::scenario {
namespace {

using frame::Family;
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

enum class Kind : std::size_t { kTcp, kUdp };
constexpr std::array<const char*, 2> kKindNames = {"TCP", "UDP"};
constexpr std::array<const char*, 2> kKindWords = {"tcp", "udp"};

enum class State { kAsFound, kOff, kSoftware };

// A feature, and the vxlan device whose super-frames make use of it. The kernel changes the
// checksum flag of none that exists.
struct Feature {
    const char* name;
    OuterSum outer;
    const char* device;
    unsigned vni;
    std::uint32_t own;  // inside the tunnel; the far end is one more

    frame::IpAddress address() const { return frame::IpAddress::v4(own); }
    frame::IpAddress far() const { return frame::IpAddress::v4(own + 1); }
};
// 198.19.254.1/30 and 198.19.254.5/30 (RFC 2544).
constexpr std::array<Feature, 2> kFeatures = {{
    {"tx-udp_tnl-csum-segmentation", OuterSum::kComputed, "ppseg1", 45, 0xc613fe01},
    {"tx-udp_tnl-segmentation", OuterSum::kZero, "ppseg0", 46, 0xc613fe05},
}};
constexpr std::array<State, 3> kStates = {State::kAsFound, State::kOff, State::kSoftware};

struct SegmentPoint {
    Feature feature;
    State state = State::kAsFound;
    Kind kind = Kind::kTcp;

    std::string state_words() const {
        switch (state) {
            case State::kAsFound: return "as found";
            case State::kOff: return "alone off";
            case State::kSoftware: break;
        }
        return fmt::format("and {} off", kChecksums);
    }
    std::string id() const {
        constexpr std::array<const char*, 3> kWords = {"as-found", "off", "all-software"};
        return fmt::format(
            "segments.{}.{}.{}", feature.outer == OuterSum::kComputed ? "udpcsum" : "noudpcsum",
            kWords[static_cast<std::size_t>(state)], kKindWords[static_cast<std::size_t>(kind)]);
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
    const std::string own = frame::to_string(AddressedDevice::own(Family::kIpv4));
    const std::string there = frame::to_string(AddressedDevice::tester(Family::kIpv4));
    // The kernel may have asked for this neighbour in vain before.
    Status made = addressed.change(
        fmt::format("neigh replace {} lladdr 02:00:00:00:00:02 nud permanent dev {}", there,
                    device.name),
        fmt::format("neigh delete {} dev {}", there, device.name));
    for (const Feature& feature : kFeatures) {
        made = made ? addressed.change(
                          fmt::format(
                              "link add name {} mtu {} type vxlan id {} dstport 4789 "
                              "local {} remote {} dev {} {}",
                              feature.device, std::min(1400u, device.longest_packet - kEnvelope),
                              feature.vni, own, there, device.name,
                              feature.outer == OuterSum::kComputed ? "udpcsum" : "noudpcsum"),
                          fmt::format("link delete {}", feature.device))
                    : made;
        const std::string address =
            fmt::format("{}/30 dev {}", frame::to_string(feature.address()), feature.device);
        const std::string far = frame::to_string(feature.far());
        for (const auto& [change, undo] :
             {std::pair{fmt::format("link set {} up", feature.device),
                        fmt::format("link set dev {} down", feature.device)},
              {"address add " + address, "address delete " + address},
              {fmt::format("neigh add {} lladdr 02:00:00:00:00:03 nud permanent dev {}", far,
                           feature.device),
               fmt::format("neigh delete {} dev {}", far, feature.device)}}) {
            made = made ? addressed.change(change, undo, feature.device) : made;
        }
    }
    return made;
}

Status send_udp(TruthBench& bench, const Feature& feature, SegmentTally& tally) {
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

Status send_tcp(TruthBench& bench, const Feature& feature, SegmentTally& tally) {
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
        agent::OffloadFrame handed{.bytes = matrix::FrameBytes(made.size()),
                                   .request = frame::virtio_request(spec)};
        made.render(handed.bytes.data(), {});
        frames.push_back(std::move(handed));
    }
    const auto report = TRY(bench.dut().send_frames(feature.device, frames));
    tally.sent = report.sent;
    for (const agent::SendRefusal& refused : report.refusals) {
        tally.explanation += fmt::format("refused: {}\n", refused.reason);
    }
    return {};
}

// Which super-frame a frame is of; nothing if it is none of ours.
std::optional<std::size_t> number_of(const matrix::FrameBytes& bytes, const SegmentPoint& point) {
    const frame::FrameView view = frame::parse_frame(bytes, frame::TunnelPorts::well_known());
    const frame::Transport wanted =
        point.kind == Kind::kTcp ? frame::Transport::kTcp : frame::Transport::kUdp;
    if (!view.has_inner || view.inner.transport != wanted) {
        return std::nullopt;
    }
    const std::uint16_t port = view.inner.source_endpoint().port;
    const bool ours = port >= kSegmentPort && port < kSegmentPort + kSuperFrames &&
                      view.inner.destination_endpoint().address == point.feature.far();
    return ours ? std::optional<std::size_t>(port - kSegmentPort) : std::nullopt;
}

Result<SegmentTally> measure_once(TruthBench& bench, const SegmentPoint& point, WireKind wire) {
    SegmentTally tally;
    const auto recording = TRY(bench.record(kSuperFrames * 6, [&]() -> Status {
        return point.kind == Kind::kTcp ? send_tcp(bench, point.feature, tally)
                                        : send_udp(bench, point.feature, tally);
    }));
    if (recording.tester_lost + recording.left_out + recording.cut != 0) {
        tally.doubt = "the tester's own port lost or cut frames";
        return tally;
    }
    std::array<std::vector<matrix::FrameBytes>, kSuperFrames> by_number;
    for (const matrix::FrameBytes& bytes : recording.frames) {
        if (const auto number = number_of(bytes, point)) {
            by_number[*number].push_back(bytes);
        }
    }
    for (std::size_t i = 0; i < kSuperFrames && tally.sent != 0; ++i) {
        judge_super_frame(by_number[i], payload_of(i), kSegmentBytes, point.feature.outer, wire,
                          tally);
    }
    return tally;
}

std::vector<std::string> names_of(const SegmentTally& tally) {
    std::vector<std::string> names;
    for (const auto& [name, frames] : tally.names) {
        names.push_back(name);
    }
    return names;
}

// What is wrong is observed a second time, and counts if it shows again.
Result<SegmentTally> measure(TruthBench& bench, const SegmentPoint& point, WireKind wire) {
    auto first = measure_once(bench, point, wire);
    if (!first || first->wrong == 0) {
        return first;
    }
    auto second = measure_once(bench, point, wire);
    if (second && second->names != first->names) {
        second->doubt =
            fmt::format("seen once, not confirmed: {}", fmt::join(names_of(*first), ", "));
        second->wrong = 0;
        second->names.clear();
    }
    return second;
}

Cell cell_of(const SegmentPoint& point, const SegmentTally& tally, WireKind wire) {
    Cell cell{.id = point.id(),
              .toggles = {{"tunnel of the kernel", point.feature.outer == OuterSum::kComputed
                                                       ? "vxlan udpcsum"
                                                       : "vxlan noudpcsum"},
                          {point.feature.name, point.state_words()},
                          {"super-frames", kKindNames[static_cast<std::size_t>(point.kind)]}},
              .verdict = CellVerdict::kPass};
    cell.measures = {
        count_of("super_frames", "super-frames sent", tally.sent),
        count_of("segments", "segments that they make", tally.frames),
        count_of("segments_seen", "of them on the wire, or behind a healthy NIC", tally.seen),
        count_of("super_frames_uncut", "super-frames handed over whole", tally.uncut),
        count_of("segments_unfinished", "segments handed over unfinished", tally.unfinished),
        count_of("frames_wrong", "frames wrong or missing", tally.wrong)};
    if (tally.sent == 0) {
        cell.verdict = CellVerdict::kSkip;
        cell.reason = tally.explanation.empty() ? "nothing could be sent" : tally.explanation;
    } else if (tally.observed(wire) == Observed::kWrong) {
        cell.verdict = CellVerdict::kFail;
        cell.reason = fmt::format("{} frames are wrong or missing: {}", tally.wrong,
                                  fmt::join(names_of(tally), ", "));
        cell.cause = names_of(tally).front();
    } else if (!tally.doubt.empty()) {
        cell.verdict = CellVerdict::kInconclusive;
        cell.reason = tally.doubt;
    }
    return cell;
}

Observation observation_of(const Cell& cell, const SegmentTally& tally, WireKind wire) {
    Observation seen{.observed = tally.observed(wire),
                     .frames = tally.frames,
                     .wrong = std::min(tally.wrong, tally.frames),
                     .names = names_of(tally),
                     .cell = cell.id,
                     .note = cell.reason};
    if (cell.verdict == CellVerdict::kSkip || cell.verdict == CellVerdict::kInconclusive) {
        seen.observed = Observed::kNotTested;
    } else if (seen.observed == Observed::kByDesign) {
        seen.names = {tally.uncut != 0 ? "super-frame" : "PSEUDO"};
        seen.note = "handed over unfinished; behind a healthy NIC every segment is right";
    }
    return seen;
}

// Both kinds under one state of one feature.
struct Bench {
    Context& context;
    TruthBench& bench;
    TruthRun& run;
    FeatureSwitch& features;
    verdict::ScenarioResult& result;
    verdict::TruthTable& table;
};

Result<SettingTaken> set_state(Bench& at, const Feature& feature, State state) {
    const bool off = state != State::kAsFound;
    auto taken = at.features.set(
        {off ? Setting::Kind::kOneOff : Setting::Kind::kAsFound, off ? feature.name : ""});
    if (!taken || state != State::kSoftware) {
        return taken;
    }
    const auto without = at.bench.host().try_feature(at.bench.device().name, kChecksums, false);
    auto features = at.bench.dut().features(at.bench.device().name);
    if (!without || !features) {
        return pass_on(without ? features.error() : without.error());
    }
    taken->features = std::move(*features);
    return taken;
}

Status judge_state(Bench& at, const Feature& feature, State state) {
    const auto taken = TRY(set_state(at, feature, state));
    const agent::Feature* then = find_feature(taken.features, feature.name);
    const bool on = then != nullptr && then->active;
    verdict::TruthRow row{.direction = "Tx", .expected = expectation_of(at.run, feature.name)};
    for (const Kind kind : {Kind::kTcp, Kind::kUdp}) {
        const SegmentPoint point{feature, state, kind};
        at.context.progress.step(point.id());
        const auto tally = TRY(measure(at.bench, point, at.run.wire));
        Cell cell = cell_of(point, tally, at.run.wire);
        if (!tally.bad.empty()) {
            cell.evidence = TRY(
                at.bench.keep(at.context.options.out_dir, cell.id, tally.bad, tally.explanation));
        }
        row.observed.push_back(observation_of(cell, tally, at.run.wire));
        if (cell.verdict == CellVerdict::kFail) {
            row.finding += (row.finding.empty() ? "" : "; ") + cell.reason;
            at.run.values.wrong.push_back(
                {.part = TruthPart::kSegments,
                 .setting = fmt::format("{}, {} {}", kKindNames[static_cast<std::size_t>(kind)],
                                        feature.name, point.state_words()),
                 .title = cell.cause,
                 .place = "",
                 .where = cell.reason,
                 .wrong = std::min(tally.wrong, tally.frames),
                 .frames = tally.frames,
                 .observations = 2,
                 .meaning =
                     fmt::format("Segments of super-frames in a VXLAN tunnel: {}.", cell.cause)});
        }
        if (cell.verdict == CellVerdict::kInconclusive) {
            at.run.values.hidden.push_back(fmt::format("{}: {}", cell.id, cell.reason));
        }
        at.result.cells.push_back(std::move(cell));
        row.offload = state == State::kAsFound
                          ? feature.name
                          : fmt::format("{}, {}", feature.name, point.state_words());
    }
    row.advertised = state == State::kAsFound
                         ? std::string(on ? "on" : "off") +
                               (then != nullptr && then->never_changed ? " [fixed]" : "")
                         : fmt::format("set off, is {}", on ? "on" : "off");
    at.table.rows.push_back(std::move(row));
    return {};
}

Status judge_all(Bench& at) {
    for (const Feature& feature : kFeatures) {
        for (const State state : kStates) {
            TRY(judge_state(at, feature, state));
        }
    }
    return {};
}

// A table that says why it is empty.
void not_tested(const TruthRun& run, const std::string& why, verdict::TruthTable& table) {
    for (const Feature& feature : kFeatures) {
        verdict::TruthRow row{.offload = feature.name,
                              .direction = "Tx",
                              .expected = expectation_of(run, feature.name)};
        const agent::Feature* found = find_feature(run.as_found, feature.name);
        row.advertised = found == nullptr ? "not there" : found->active ? "on" : "off";
        row.observed.assign(kKindNames.size(), {.note = why});
        table.rows.push_back(std::move(row));
    }
    table.excluded = "Not measured: " + why;
}

}  // namespace

std::size_t segment_steps() {
    return kFeatures.size() * kStates.size() * kKindNames.size();
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
    auto features = TRY(FeatureSwitch::take(bench.host(), bench.device().name,
                                            {kFeatures[0].name, kFeatures[1].name, kChecksums}));
    Bench at{context, bench, run, features, result, table};
    const Status judged = judge_all(at);
    const auto left = features.put_back();
    if (!judged || !left) {
        return judged ? Status(pass_on(left.error())) : judged;
    }
    table.excluded =
        "TCP: frames of a packet socket on the vxlan device, with FIN and PSH; UDP: UDP_SEGMENT of "
        "an ordinary socket. Every segment's headers, lengths and checksums are held against the "
        "super-frame. GRE and IP in IP are not tested: see the tunnels of the kernel.";
    result.cells.push_back(put_back_cell("segments.flags-put-back", *left));
    result.truth_tables.push_back(std::move(table));
    return {};
}

}  // namespace pathproof::scenario
