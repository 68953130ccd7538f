#include "harness/scenario/offload_truth_tunnels.h"

#include <fmt/ranges.h>
#include <netinet/in.h>

#include <algorithm>
#include <map>

#include "dataplane/judge/explain.h"
#include "harness/lab/topology.h"
#include "harness/process/program.h"
#include "harness/scenario/measures.h"
#include "harness/scenario/offload_truth_part.h"

namespace pathproof::scenario {
namespace {

using frame::Endpoint;
using verdict::Cell;
using verdict::CellVerdict;
using verdict::Observation;
using verdict::Observed;

constexpr std::size_t kDatagrams = 24;
constexpr const char* kFeature = "tx-checksum-ip-generic";

enum class OuterSum { kComputed, kZero, kNoUdp };

struct TunnelKind {
    const char* name;
    const char* device;
    std::uint16_t port;  // of the outer UDP; 0: none, and nothing of it to translate
    OuterSum sum = OuterSum::kComputed;
    frame::Family family = frame::Family::kIpv4;  // of the outer header

    bool is_labs() const { return port == 4789 && family == frame::Family::kIpv4; }
    bool can_be_translated() const { return port != 0 && family == frame::Family::kIpv4; }
    const char* policy() const {
        return sum == OuterSum::kComputed
                   ? (family == frame::Family::kIpv4 ? "udpcsum" : "noudp6zerocsumtx")
               : sum == OuterSum::kZero
                   ? (family == frame::Family::kIpv4 ? "noudpcsum" : "udp6zerocsumtx")
                   : "no outer UDP";
    }
};
constexpr TunnelKind kKinds[] = {
    {"vxlan", "vx", 4789},
    {"vxlan-noudpcsum", "vx", 4789, OuterSum::kZero},
    {"vxlan6", "pp6", 4789, OuterSum::kComputed, frame::Family::kIpv6},
    {"vxlan6-zerocsum", "pp6", 4789, OuterSum::kZero, frame::Family::kIpv6},
    {"geneve", "ppgn", 6081},
    {"gre", "ppgr", 0, OuterSum::kNoUdp},
    {"ipip", "ppip", 0, OuterSum::kNoUdp}};

// Outer addresses of the tunnel over IPv6 (RFC 3849), and its device. The lab has none.
constexpr const char* kOwn6 = "2001:db8:ffff:fffe::1";
constexpr const char* kThere6 = "2001:db8:ffff:fffe::2";

struct TunnelPoint {
    TunnelKind kind;
    bool offload = true;
    bool nat = false;
    std::string id() const {
        return fmt::format("tunnel.{}.{}.{}", kind.name, offload ? "tx-on" : "tx-off",
                           nat ? "masquerade" : "no-nat");
    }
};

std::vector<TunnelPoint> points() {
    std::vector<TunnelPoint> all;
    for (const TunnelKind& kind : kKinds) {
        for (const bool offload : {true, false}) {
            all.push_back({kind, offload, false});
            if (kind.can_be_translated()) {
                all.push_back({kind, offload, true});
            }
        }
    }
    return all;
}

struct TunnelOutcome {
    std::string unavailable;  // why the kernel would not make the device
    std::uint64_t sent = 0;
    std::uint64_t frames = 0;
    std::uint64_t wrong = 0;
    std::uint64_t lost = 0;
    std::uint64_t zeros = 0;   // outer UDP checksums of 0
    std::uint64_t unlike = 0;  // outer UDP checksums of 0 where one was asked for, or the reverse
    std::uint64_t proven = 0;  // wrong values equal to the one for conntrack's original tuple
    std::map<std::string, judge::NameVote> votes;  // by layer
    std::vector<matrix::FrameBytes> bad;
    std::string explanation;

    std::vector<std::string> names() const {
        std::vector<std::string> all;
        for (const auto& [layer, vote] : votes) {
            all.push_back(fmt::format("{} at {}", judge::name(vote.verdict()), layer));
        }
        if (unlike != 0) {
            all.emplace_back("not the outer checksum policy that was set");
        }
        return all;
    }
};

Endpoint far_address(const TunnelKind& kind) {
    return {frame::IpAddress::v4(kind.is_labs() ? 0xc6120002 : 0xc6120102), 7000};
}

// With the addresses that the underlay needs for it.
std::string vxlan_over_ipv6(const TunnelKind& kind, const std::string& underlay) {
    return fmt::format(
        "address replace {0}/64 dev {2} nodad\n"
        "neigh replace {1} lladdr 02:70:70:01:05:0c nud permanent dev {2}\n"
        "link add name {3} mtu 1400 type vxlan id 44 dstport {4} local {0} remote {1} dev {2} "
        "{5}\n",
        kOwn6, kThere6, underlay, kind.device, kind.port, kind.policy());
}

// Deletes what an earlier point made and makes the device anew.
Status make_device(const lab::Overlay& overlay, const TunnelPoint& point) {
    const lab::OverlayNames& names = overlay.names();
    const TunnelKind& kind = point.kind;
    if (kind.is_labs()) {
        return {};  // the lab's own
    }
    TRY(process::run_program({"ip", "link", "delete", kind.device}, {.netns = names.node_a}));
    const std::string local = frame::to_string(names.node_a_address);
    const std::string remote = frame::to_string(names.node_b_address);
    const std::string type =
        kind.port != 0 ? fmt::format("geneve id 43 remote {} dstport {} udpcsum", remote, kind.port)
                       : fmt::format("{} local {} remote {}", kind.name, local, remote);
    const std::string neighbour =
        kind.port != 0
            ? fmt::format(
                  "neigh replace 198.18.1.2 lladdr 02:70:70:01:05:0b nud permanent dev {}\n",
                  kind.device)
            : "";
    const std::string made =
        kind.family == frame::Family::kIpv6
            ? vxlan_over_ipv6(kind, names.underlay)
            : fmt::format("link add name {} mtu 1400 type {}\n", kind.device, type);
    return lab::run_ip(names.node_a,
                       made + fmt::format("link set {0} up\naddress add 198.18.1.1/30 dev {0}\n{1}",
                                          kind.device, neighbour));
}

Status set_point(TruthBench& bench, lab::Overlay& overlay, const TunnelPoint& point,
                 TunnelOutcome& outcome) {
    const lab::OverlayNames& names = overlay.names();
    TRY(overlay.configure({.udp_checksum = point.kind.sum == OuterSum::kComputed,
                           .masquerade = point.nat && point.kind.is_labs()}));
    if (const Status made = make_device(overlay, point); !made) {
        const bool lacking = made.error().code == ErrorCode::kKernelLacks;
        outcome.unavailable = lacking
                                  ? fmt::format("this kernel has no {} devices", point.kind.name)
                                  : made.error().message;
        return {};
    }
    if (point.nat && !point.kind.is_labs()) {
        TRY(process::run_checked(
            {"iptables", "-w", "-t", "nat", "-A", "POSTROUTING", "-o", names.underlay, "-p", "udp",
             "--dport", fmt::format("{}", point.kind.port), "-j", "MASQUERADE", "--random-fully"},
            {.netns = names.node_a}));
    }
    const auto set = bench.dut().set_features(point.kind.device, {{kFeature, point.offload}});
    return set ? Status() : Status(pass_on(set.error()));
}

// conntrack's tuple before NAT of the flow that this outer header is of.
std::optional<judge::OriginalTuple> original_of(const std::vector<netfilter::Entry>& entries,
                                                const frame::PacketView& outer) {
    for (const netfilter::Entry& entry : entries) {
        if (entry.original.protocol == IPPROTO_UDP &&
            entry.reply.source == outer.destination_endpoint() &&
            entry.reply.destination == outer.source_endpoint()) {
            return judge::OriginalTuple{entry.original.source, entry.original.destination};
        }
    }
    return std::nullopt;
}

// Whether a right outer UDP checksum is there or 0 as the tunnel was set.
void check_policy(const judge::FrameVerdict& verdict, OuterSum sum, TunnelOutcome& outcome) {
    for (const judge::ChecksumFinding& finding : verdict.all()) {
        if (finding.layer != judge::Layer{judge::Depth::kOuter, judge::Protocol::kUdp}) {
            continue;
        }
        const bool zero = finding.state == judge::ChecksumState::kDisabled;
        outcome.zeros += zero ? 1 : 0;
        if (zero != (sum == OuterSum::kZero)) {
            ++outcome.unlike;
            ++outcome.wrong;
        }
    }
}

void judge_frame(const matrix::FrameBytes& bytes, const std::vector<netfilter::Entry>& entries,
                 OuterSum sum, TunnelOutcome& outcome) {
    const frame::TunnelPorts tunnels = frame::TunnelPorts::well_known();
    const frame::FrameView view = frame::parse_frame(bytes, tunnels);
    if (!view.has_inner) {
        return;  // none of the datagrams that were sent
    }
    ++outcome.frames;
    const judge::FrameVerdict verdict = judge::verify(bytes, view);
    if (!verdict.any_bad()) {
        check_policy(verdict, sum, outcome);
        return;
    }
    ++outcome.wrong;
    judge::Evidence evidence{.tunnels = tunnels, .original = original_of(entries, view.outer)};
    for (const judge::ChecksumFinding& finding : verdict.all()) {
        if (finding.state != judge::ChecksumState::kBad) {
            continue;
        }
        judge::Evidence own = evidence;
        if (finding.layer.depth != judge::Depth::kOuter) {
            own.original.reset();
        } else if (own.original) {
            outcome.proven +=
                judge::checksum_for_tuple(bytes, finding, *own.original) == finding.wire ? 1 : 0;
        }
        outcome.votes[judge::word(finding.layer)].add(bytes, finding,
                                                      judge::matching_names(bytes, finding, own));
    }
    if (outcome.bad.size() < 32) {
        outcome.bad.push_back(bytes);
        outcome.explanation += judge::explain(bytes, evidence) + "\n";
    }
}

Result<TunnelOutcome> measure(TruthBench& bench, lab::Overlay& overlay, const TunnelPoint& point) {
    TunnelOutcome outcome;
    TRY(set_point(bench, overlay, point, outcome));
    if (!outcome.unavailable.empty()) {
        return outcome;
    }
    agent::DatagramOptions options{.source = {}, .destination = far_address(point.kind)};
    for (std::size_t i = 0; i < kDatagrams; ++i) {
        std::vector<std::uint8_t> payload(1 + i * 37);
        for (std::size_t at = 0; at < payload.size(); ++at) {
            payload[at] = static_cast<std::uint8_t>(at * 31 + i * 7);
        }
        options.payloads.push_back(std::move(payload));
    }
    const auto recording = TRY(bench.record([&]() -> Result<std::uint64_t> {
        const auto report = TRY(bench.dut().send_datagrams(options));
        outcome.sent = report.sent;
        return kDatagrams;
    }));
    outcome.lost = recording.tester_lost + recording.left_out;
    std::vector<netfilter::Entry> entries;
    if (point.kind.port != 0) {
        entries = TRY(bench.dut().conntrack_dump(
            {.protocol = IPPROTO_UDP, .original_destination_port = point.kind.port}));
    }
    for (const matrix::FrameBytes& bytes : recording.frames) {
        judge_frame(bytes, entries, point.kind.sum, outcome);
    }
    return outcome;
}

Cell cell_of(const TunnelPoint& point, const TunnelOutcome& outcome) {
    Cell cell{.id = point.id(),
              .toggles = {{"tunnel of the kernel", point.kind.name},
                          {"outer UDP checksum", point.kind.policy()},
                          {"tx offload of the tunnel device", point.offload ? "on" : "off"},
                          {"outer SNAT", point.nat ? "masquerade --random-fully" : "none"}}};
    if (!outcome.unavailable.empty()) {
        cell.verdict = CellVerdict::kSkip;
        cell.reason = outcome.unavailable;
        return cell;
    }
    cell.measures = {
        count_of("datagrams_sent", "datagrams sent through the tunnel", outcome.sent),
        count_of("frames_seen", "of them seen on the wire", outcome.frames),
        count_of("frames_wrong", "with a wrong checksum", outcome.wrong),
        count_of("outer_zero", "with an outer UDP checksum of 0", outcome.zeros),
        count_of("proven_by_conntrack",
                 "wrong values that are right for conntrack's original tuple", outcome.proven)};
    if (outcome.lost != 0) {
        cell.verdict = CellVerdict::kError;
        cell.reason = fmt::format("the tester's own port lost {} frames", outcome.lost);
    } else if (outcome.wrong != 0 || outcome.frames < outcome.sent || outcome.sent == 0) {
        cell.verdict = CellVerdict::kFail;
        cell.reason = fmt::format("{} of {} frames wrong, {} of {} datagrams on the wire: {}",
                                  outcome.wrong, outcome.frames, outcome.frames, outcome.sent,
                                  fmt::join(outcome.names(), ", "));
        cell.cause = outcome.proven == outcome.wrong && outcome.wrong != 0 ? "stale-port" : "";
    } else {
        cell.verdict = CellVerdict::kPass;
    }
    return cell;
}

TrafficSeen judge_outcome(const TunnelPoint& point, const TunnelOutcome& outcome) {
    Cell cell = cell_of(point, outcome);
    const bool fails = cell.verdict == CellVerdict::kFail;
    Observation seen{.observed = fails ? Observed::kWrong : Observed::kRight,
                     .frames = outcome.frames,
                     .wrong = outcome.wrong,
                     .names = outcome.names(),
                     .cell = cell.id,
                     .note = ""};
    return {std::move(cell), std::move(seen), outcome.bad, outcome.explanation};
}

void add_to_table(const TunnelPoint& point, const Observation& seen, const TunnelOutcome& outcome,
                  verdict::TruthTable& table) {
    if (!point.nat) {
        verdict::TruthRow row{
            .offload = fmt::format("{} of a {} device", kFeature, point.kind.name),
            .direction = "Tx",
            .expected = "",
            .advertised = point.offload ? "on" : "set off"};
        row.observed = {seen,
                        {.note = point.kind.port == 0 ? "no outer port to translate"
                                                      : "this lab translates IPv4 alone"}};
        table.rows.push_back(std::move(row));
        return;
    }
    verdict::TruthRow& row = table.rows.back();
    row.observed[1] = seen;
    row.finding = outcome.wrong == 0 ? ""
                                     : fmt::format(
                                           "under outer SNAT {} of {} frames are wrong "
                                           "({}); {} equal the value for conntrack's "
                                           "original tuple",
                                           outcome.wrong, outcome.frames,
                                           fmt::join(outcome.names(), ", "), outcome.proven);
}

// A tunnel that fails with its offload on and is right with it off has its cure shown.
void add_values(const std::vector<Cell>& cells, const std::vector<TunnelOutcome>& outcomes,
                std::vector<WrongValue>& values) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const Cell& cell = cells[i];
        const std::uint64_t lacking =
            outcomes[i].sent - std::min(outcomes[i].sent, outcomes[i].frames);
        if (cell.verdict != CellVerdict::kFail || cell.id.find(".tx-on.") == std::string::npos) {
            continue;
        }
        WrongValue value{.part = TruthPart::kTunnels,
                         .setting = fmt::format("{}, outer SNAT {}", cell.toggles[0].second,
                                                cell.toggles[3].second),
                         .title = fmt::format("{}", fmt::join(outcomes[i].names(), ", ")),
                         .place = "",
                         .where = cell.reason,
                         .wrong = std::min(outcomes[i].wrong + lacking, outcomes[i].sent),
                         .frames = outcomes[i].sent,
                         .observations = 2};
        if (cell.cause == "stale-port") {
            value.meaning =
                "The outer UDP checksum was computed for the source port before NAT, as "
                "conntrack's "
                "original tuple proves frame by frame; scenario vxlan-checksum shows what users "
                "see "
                "of it.";
        }
        std::string cured_id = cell.id;
        cured_id.replace(cured_id.find(".tx-on."), 7, ".tx-off.");
        const auto cured = std::ranges::find(cells, cured_id, &Cell::id);
        if (cured != cells.end() && cured->verdict == CellVerdict::kPass) {
            value.cure = fmt::format(
                "`ethtool -K DEV {} off` on the tunnel device. Seen in this run: every checksum is "
                "right then.",
                kFeature);
            value.before = cell.id;
            value.after = cured->id;
        }
        values.push_back(std::move(value));
    }
}

}  // namespace

std::size_t tunnel_steps() {
    return points().size();
}

Status judge_tunnels(Context& context, TruthBench& bench, lab::Overlay& overlay, TruthRun& run,
                     verdict::ScenarioResult& result) {
    // The wire shows what the kernel finished; the underlay must not leave it to a NIC. The lab's
    // namespaces, flags and all, go with the lab.
    const auto off = TRY(bench.dut().set_features(overlay.names().underlay, {{"tx", false}}));
    verdict::TruthTable table{
        .title = "Tunnels of the kernel under NAT of the outer header",
        .device =
            "datagrams of ordinary sockets through tunnel devices of node A, tx off on the "
            "underlay",
        .conditions = {"no NAT", "masquerade --random-fully"}};
    std::vector<Cell> cells;
    std::vector<TunnelOutcome> outcomes;
    std::uint64_t frames = 0;
    for (const TunnelPoint& point : points()) {
        TunnelOutcome outcome;
        const auto observe = [&]() -> Result<TrafficSeen> {
            outcome = TRY(measure(bench, overlay, point));
            return judge_outcome(point, outcome);
        };
        TrafficSeen traffic =
            TRY(observe_traffic(context, bench, point.id(), observe, run, result));
        frames += outcome.frames;
        add_to_table(point, traffic.seen, outcome, table);
        cells.push_back(std::move(traffic.cell));
        outcomes.push_back(std::move(outcome));
    }
    table.excluded = fmt::format("{} frames judged in all.", frames);
    add_values(cells, outcomes, run.values.wrong);
    result.truth_tables.push_back(std::move(table));
    return {};
}

}  // namespace pathproof::scenario
