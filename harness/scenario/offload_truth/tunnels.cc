#include "harness/scenario/offload_truth/tunnels.h"

#include <fmt/ranges.h>
#include <netinet/in.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "dataplane/judge/explain.h"
#include "harness/agent/host_change.h"
#include "harness/agent/offload_frames.h"
#include "harness/lab/snat.h"
#include "harness/scenario/measures.h"
#include "harness/scenario/offload_truth/addressed.h"
#include "harness/scenario/offload_truth/part.h"
#include "harness/setting/cures.h"

namespace pathproof::scenario {
namespace {

using frame::Endpoint;
using truth::TruthPart;
using truth::TruthRun;
using truth::WrongValue;
using verdict::Cell;
using verdict::CellVerdict;
using verdict::Observation;
using verdict::Observed;

constexpr std::size_t kDatagrams = 24;
constexpr const char* kFeature = setting::kTunnelChecksums;

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
        const bool is_v4 = family == frame::Family::kIpv4;
        switch (sum) {
            case OuterSum::kComputed: return is_v4 ? "udpcsum" : "noudp6zerocsumtx";
            case OuterSum::kZero: return is_v4 ? "noudpcsum" : "udp6zerocsumtx";
            case OuterSum::kNoUdp: break;
        }
        return "no outer UDP";
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
    std::string unavailable;  // why the host cannot have it
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

constexpr std::uint16_t kFarPort = 7000;
// Inner addresses of a tunnel that is not the lab's own (RFC 2544).
constexpr const char* kInnerOwn = "198.18.1.1/30";
constexpr const char* kInnerFar = "198.18.1.2";

// Returns the words behind `type` that make a device with these outer addresses.
std::string type_of(const TunnelKind& kind, const std::string& local, const std::string& remote,
                    const std::string& underlay) {
    const std::string name = kind.name;
    if (name.starts_with("vxlan")) {
        return fmt::format("vxlan id 44 dstport {} local {} remote {} dev {} {}", kind.port, local,
                           remote, underlay, kind.policy());
    }
    return kind.port != 0
               ? fmt::format("geneve id 43 remote {} dstport {} udpcsum", remote, kind.port)
               : fmt::format("{} local {} remote {}", name, local, remote);
}

// A line of the nat table.
std::string masquerade(const TunnelKind& kind, const std::string& underlay) {
    return fmt::format("-A POSTROUTING -o {} -p udp --dport {} {}\n", underlay, kind.port,
                       lab::target_of(lab::Snat::kMasqueradeRandomFully));
}

// A host that makes the tunnel devices and translates their outer headers.
class TunnelHost {
  public:
    TunnelHost() = default;
    TunnelHost(const TunnelHost&) = delete;
    TunnelHost& operator=(const TunnelHost&) = delete;
    virtual ~TunnelHost() = default;
    // "datagrams of ordinary sockets through ...", for the table.
    virtual std::string words() const = 0;
    virtual std::string device(const TunnelKind& kind) const { return kind.device; }
    virtual Endpoint far(const TunnelKind& /*kind*/) const {
        return {*frame::parse_ip(kInnerFar), kFarPort};
    }
    // Deletes what an earlier point made, and makes the device, with its offload, and the rules anew. Gives why
    // this host cannot have the point; empty: it is set.
    virtual Result<std::string> set(const TunnelPoint& point) = 0;
};

// Reports what a host cannot have as a lack, not as an error of the run, unless the host is gone.
Result<std::string> as_lack(const Status& tried, const std::string& what) {
    return tried || tried.error().code != ErrorCode::kUnavailable
               ? Result<std::string>(tried ? ""
                                           : fmt::format("{}: {}", what, tried.error().message))
               : pass_on(tried.error());
}

// Node A of the overlay lab, whose own vxlan device is one of the tunnels.
class LabTunnels final : public TunnelHost {
  public:
    explicit LabTunnels(lab::Overlay& overlay) : overlay_(overlay) {}
    std::string words() const override {
        return "tunnel devices of node A, tx off on the underlay";
    }
    Endpoint far(const TunnelKind& kind) const override {
        return kind.is_labs() ? Endpoint{frame::IpAddress::v4(0xc6120002), kFarPort}
                              : TunnelHost::far(kind);
    }
    Result<std::string> set(const TunnelPoint& point) override {
        const TunnelKind& kind = point.kind;
        setting::Settings settings = overlay_.tunnel(kind.sum == OuterSum::kComputed);
        if (!kind.is_labs()) {
            settings.push_back(other_device(kind));
        }
        if (point.nat) {
            settings.push_back(kind.is_labs() ? overlay_.outer_snat() : other_snat(kind));
        }
        settings.push_back(
            setting::feature(lab::HostRole::kNodeA, kind.device, kFeature, point.offload));
        const Status set = overlay_.set_anew(settings);
        if (!set && set.error().code == ErrorCode::kKernelLacks) {
            return fmt::format("this kernel has no {} devices", kind.name);
        }
        return as_lack(set, fmt::format("no {} device", kind.name));
    }

  private:
    setting::Setting other_snat(const TunnelKind& kind) const {
        return setting::rules(lab::HostRole::kNodeA, "other-snat", "nat",
                              masquerade(kind, overlay_.names().underlay));
    }

    // Makes the tunnel's device, with the addresses that the underlay needs for it.
    setting::Setting other_device(const TunnelKind& kind) const {
        const lab::OverlayNames& names = overlay_.names();
        const bool v6 = kind.family == frame::Family::kIpv6;
        const std::string before =
            v6 ? fmt::format(
                     "address replace {0}/64 dev {2} nodad\n"
                     "neigh replace {1} lladdr 02:70:70:01:05:0c nud permanent dev {2}\n",
                     kOwn6, kThere6, names.underlay)
               : "";
        const std::string neighbour =
            kind.port != 0
                ? fmt::format("neigh replace {} lladdr 02:70:70:01:05:0b nud permanent dev {}\n",
                              kInnerFar, kind.device)
                : "";
        const std::string type =
            v6 ? type_of(kind, kOwn6, kThere6, names.underlay)
               : type_of(kind, frame::to_string(names.node_a_address),
                         frame::to_string(names.node_b_address), names.underlay);
        return setting::links(
            lab::HostRole::kNodeA, "other-tunnel", names.underlay,
            {{before + fmt::format("link add name {0} mtu 1400 type {1}\nlink set {0} up\n"
                                   "address add {2} dev {0}\n{3}",
                                   kind.device, type, kInnerOwn, neighbour),
              fmt::format("link delete dev {}", kind.device)}});
    }

    lab::Overlay& overlay_;
};

// A device of a host that this run made, such as a guest: its offloads stay as found, for its NIC
// has to finish what the kernel leaves to it.
class DeviceTunnels final : public TunnelHost {
  public:
    explicit DeviceTunnels(TruthBench& bench) : bench_(bench) {}
    std::string words() const override {
        return fmt::format("tunnel devices on {}, whose offloads are as found",
                           bench_.device().name);
    }
    std::string device(const TunnelKind& kind) const override {
        return kind.is_labs() ? "ppvx" : kind.device;
    }
    Result<std::string> set(const TunnelPoint& point) override {
        if (addressed_) {
            addressed_->put_back(kept_);
        } else {
            TRY(address());
        }
        const frame::Family family = point.kind.family;
        if (!addressed_->why_not(family).empty()) {
            return addressed_->why_not(family);
        }
        const std::string no_device =
            TRY(as_lack(make_device(point.kind, frame::to_string(AddressedDevice::own(family)),
                                    frame::to_string(AddressedDevice::tester(family))),
                        fmt::format("no {} device", point.kind.name)));
        if (!no_device.empty()) {
            return no_device;
        }
        TRY(bench_.dut().apply({{.kind = agent::HostChange::Kind::kFeature,
                                 .device = device(point.kind),
                                 .name = kFeature,
                                 .value = point.offload ? "on" : "off"}}));
        return point.nat || has_rules_ ? set_rules(point) : no_device;
    }

  private:
    // Sets what all tunnels need: the outer addresses, and neighbours that are not asked for.
    Status address() {
        addressed_.emplace(TRY(AddressedDevice::take(bench_.host(), bench_.device().name)));
        for (const frame::Family family : {frame::Family::kIpv4, frame::Family::kIpv6}) {
            TRY(addressed_->why_not(family).empty() ? addressed_->know_tester(family) : Status());
        }
        kept_ = addressed_->changes();
        return {};
    }

    Result<std::string> set_rules(const TunnelPoint& point) {
        const std::string& underlay = bench_.device().name;
        const std::string lack = TRY(as_lack(
            bench_.dut().apply(
                {{.kind = agent::HostChange::Kind::kRules,
                  .name = "nat",
                  .value = point.nat ? setting::whole_table("nat", masquerade(point.kind, underlay))
                                     : setting::whole_table("nat", "")}}),
            "no NAT"));
        has_rules_ = has_rules_ || lack.empty();
        if (lack.empty()) {
            TRY(bench_.dut().conntrack_flush());
        }
        return lack;
    }

    Status make_device(const TunnelKind& kind, const std::string& local,
                       const std::string& remote) {
        constexpr std::uint32_t kMostEnvelope = 70;  // VXLAN over IPv6
        return addressed_->add_device(
            {.name = device(kind),
             .mtu = std::min(1400u, bench_.device().longest_packet - kMostEnvelope),
             .type = type_of(kind, local, remote, bench_.device().name),
             .address = kInnerOwn,
             .neighbour = kind.port == 0 ? "" : kInnerFar});
    }

    TruthBench& bench_;
    std::optional<AddressedDevice> addressed_;
    std::size_t kept_ = 0;  // of its changes, those for all tunnels
    bool has_rules_ = false;
};

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

// Checks that a right outer UDP checksum is there, or 0, as the tunnel was set.
void check_policy(const judge::FrameVerdict& verdict, OuterSum sum, TunnelOutcome& outcome) {
    const auto* outer = verdict.find({judge::Depth::kOuter, judge::Protocol::kUdp});
    if (outer == nullptr) {
        return;
    }
    const bool zero = outer->state == judge::ChecksumState::kDisabled;
    outcome.zeros += zero ? 1 : 0;
    if (zero != (sum == OuterSum::kZero)) {
        ++outcome.unlike;
        ++outcome.wrong;
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

Result<TunnelOutcome> measure(TruthBench& bench, TunnelHost& host, const TunnelPoint& point) {
    TunnelOutcome outcome;
    outcome.unavailable = TRY(host.set(point));
    if (!outcome.unavailable.empty()) {
        return outcome;
    }
    agent::DatagramOptions options{.source = {}, .destination = host.far(point.kind)};
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
    if (point.nat) {
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
                          {"outer SNAT", lab::outer_snat_text(point.nat)}}};
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
                     .cell = cell.id};
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
                         .where = cell.reason,
                         .wrong = std::min(outcomes[i].wrong + lacking, outcomes[i].sent),
                         .frames = outcomes[i].sent,
                         .observations = 2};
        if (cell.cause == "stale-port") {
            value.meaning =
                "The outer UDP checksum was computed for the source port before NAT, as "
                "conntrack's original tuple proves frame by frame; scenario vxlan-checksum shows "
                "what users see of it.";
        }
        std::string cured_id = cell.id;
        cured_id.replace(cured_id.find(".tx-on."), 7, ".tx-off.");
        const auto cured = std::ranges::find(cells, cured_id, &Cell::id);
        if (cured != cells.end() && cured->verdict == CellVerdict::kPass) {
            value.cure = fmt::format(
                "{} on the tunnel device. Seen in this run: every checksum is right then.",
                setting::cure("tx-checksum-off").quoted({{"$TUNNEL", "DEV"}}));
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

Status judge_tunnels(Context& context, TruthBench& bench, lab::Overlay* overlay, TruthRun& run,
                     verdict::ScenarioResult& result) {
    std::unique_ptr<TunnelHost> host;
    if (overlay != nullptr) {
        // The wire shows what the kernel finished; the underlay must not leave it to a NIC. The
        // lab's namespaces, flags and all, go with the lab.
        TRY(overlay->hosts().keep(
            {setting::feature(lab::HostRole::kNodeA, overlay->names().underlay, "tx", false)}));
        host = std::make_unique<LabTunnels>(*overlay);
    } else {
        host = std::make_unique<DeviceTunnels>(bench);
    }
    verdict::TruthTable table{.title = "Tunnels of the kernel under NAT of the outer header",
                              .device = "datagrams of ordinary sockets through " + host->words(),
                              .conditions = {"no NAT", lab::outer_snat_text(true)}};
    std::vector<Cell> cells;
    std::vector<TunnelOutcome> outcomes;
    std::uint64_t frames = 0;
    for (const TunnelPoint& point : points()) {
        TunnelOutcome outcome;
        const auto observe = [&]() -> Result<TrafficSeen> {
            outcome = TRY(measure(bench, *host, point));
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
