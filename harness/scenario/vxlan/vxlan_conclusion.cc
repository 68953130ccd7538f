#include "harness/scenario/vxlan/vxlan_conclusion.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "dataplane/base/join_each.h"
#include "harness/lab/snat.h"
#include "harness/scenario/concluded.h"
#include "harness/scenario/measures.h"
#include "harness/setting/cures.h"

namespace pathproof::scenario {
namespace {

using judge::Depth;
using judge::Layer;
using judge::Protocol;
using verdict::Cell;
using verdict::CellVerdict;
using verdict::ScenarioVerdict;

constexpr Layer kOuterUdpLayer{Depth::kOuter, Protocol::kUdp};
constexpr const char* kStalePortWord = "stale-port";
constexpr const char* kLeftPartialWord = "left-partial";

// Kernel drop reasons (enum skb_drop_reason) that tell of another cause than a wrong checksum.
struct DropCause {
    const char* reason;  // its beginning
    const char* word;
    const char* what;
};
constexpr DropCause kDropCauses[] = {
    {"NETFILTER_DROP", "filter", "dropped by packet filter rules (NETFILTER_DROP)"},
    {"QDISC_", "queue", "dropped by a queue discipline (QDISC_*)"},
    {"TC_", "traffic-control", "dropped by a traffic control program (TC_*)"},
    {"XDP", "xdp", "dropped by an XDP program (XDP)"},
    {"PKT_TOO_BIG", "mtu", "too long for a device (PKT_TOO_BIG)"},
    {"IP_OUTNOROUTES", "no-route", "without a route (IP_OUTNOROUTES)"},
    {"IP_INNOROUTES", "no-route", "without a route (IP_INNOROUTES)"},
    {"IP_RPFILTER", "rp-filter", "refused for their source address (IP_RPFILTER)"},
    {"NEIGH_", "no-neighbour", "without a neighbour to send them to (NEIGH_*)"},
    {"SOCKET_RCVBUFF", "socket-buffer", "dropped at a full socket buffer (SOCKET_RCVBUFF)"},
    {"CPU_BACKLOG", "backlog", "dropped at a full receive backlog (CPU_BACKLOG)"},
};

const char* on_off(bool on) {
    return on ? "on" : "off";
}

struct Found {
    std::string word;
    std::string sentence;
};

bool add(std::vector<Found>& found, std::uint64_t count, const char* word, std::string sentence) {
    if (count != 0 &&
        std::ranges::none_of(found, [&](const Found& one) { return one.word == word; })) {
        found.push_back({word, std::move(sentence)});
    }
    return count != 0;
}

std::uint64_t dropped(const OverlayFacts& facts, const std::string& beginning) {
    std::uint64_t packets = 0;
    for (const auto& [reason, count] : facts.drops) {
        packets += reason.starts_with(beginning) ? count : 0;
    }
    return packets;
}

// Lists the causes, beside wrong checksums, that took packets; a cause whose own count is zero is
// not named.
std::vector<Found> other_causes(const OverlayFacts& facts) {
    std::vector<Found> found;
    add(found, facts.links_down, "link-down",
        fmt::format("the underlay's link went down {} times", facts.links_down));
    add(found, facts.too_long, "mtu",
        fmt::format("{} frames were longer than the far port takes", facts.too_long));
    add(found, facts.too_big, "mtu",
        fmt::format("{} packets did not fit the underlay's MTU of {} (Ip.FragFails)", facts.too_big,
                    facts.underlay_mtu));
    add(found, facts.underlay_mtu < facts.tunnel_packet, "mtu",
        fmt::format("the underlay's MTU is {}, and the tunnel makes packets of up to {} bytes",
                    facts.underlay_mtu, facts.tunnel_packet));
    add(found, facts.table_full, "table-full",
        fmt::format("conntrack had no entry for {} packets and dropped them", facts.table_full));
    for (const DropCause& cause : kDropCauses) {
        std::uint64_t packets = dropped(facts, cause.reason);
        // A filter that drops what has a wrong checksum is the place, not the cause; a full table's
        // drops are its own.
        if (std::string_view(cause.word) == "filter") {
            packets -= std::min(packets, facts.bad_frames + facts.table_full);
        }
        add(found, packets, cause.word, fmt::format("{} packets were {}", packets, cause.what));
    }
    return found;
}

std::vector<Found> causes_of(const OverlayFacts& facts) {
    std::vector<Found> found;
    add(found, facts.checksums.stale_port_named ? facts.checksums.stale_port : 0, kStalePortWord,
        fmt::format("{} wrong values are right for the port before NAT",
                    facts.checksums.stale_port));
    add(found, facts.checksums.left_partial_named ? facts.checksums.left_partial : 0,
        kLeftPartialWord,
        fmt::format("{} wrong values are a bare pseudo-header sum", facts.checksums.left_partial));
    if (!facts.probes_ok() || facts.not_carried != 0 || !facts.objection.empty()) {
        const auto others = other_causes(facts);
        found.insert(found.end(), others.begin(), others.end());
    }
    return found;
}

std::string survivors(const OverlayFacts& facts) {
    Clauses alive;
    Clauses dead;
    for (const auto& [probe, word] : {std::pair{&facts.ping, "ping"},
                                      {&facts.dns_udp, "DNS over UDP"},
                                      {&facts.dns_tcp, "DNS over TCP"},
                                      {&facts.transfer, "the TCP transfer"}}) {
        (probe->ok ? alive : dead).push_back(word);
    }
    if (dead.empty()) {
        return "every probe works";
    }
    const char* works = alive == Clauses{"ping"} ? " works" : " work";
    return (alive.empty() ? "nothing works" : in_a_row(alive) + works) +
           "; failing: " + in_a_row(dead);
}

// Frames with a wrong checksum that was joined to nothing, those not kept included; else, where a
// probe fails and no cause is found at all, the probes that fail.
std::uint64_t unexplained(const OverlayFacts& facts, bool any_cause) {
    const std::uint64_t kept = facts.checksums.frames;
    const std::uint64_t frames =
        facts.checksums.unexplained + (facts.bad_frames > kept ? facts.bad_frames - kept : 0);
    // A name takes three different values: fewer wrong ones stay without.
    const std::uint64_t unnamed =
        (facts.checksums.stale_port_named ? 0 : facts.checksums.stale_port) +
        (facts.checksums.left_partial_named ? 0 : facts.checksums.left_partial);
    const auto failing = static_cast<std::uint64_t>(!facts.ping.ok + !facts.dns_udp.ok +
                                                    !facts.dns_tcp.ok + !facts.transfer.ok);
    if (frames + unnamed != 0) {
        return frames + unnamed;
    }
    return any_cause ? 0 : failing;
}

// Names the part of the cell's set-up that did not take place; empty: all of it did.
std::string missing_stimulus(const OverlayFacts& facts) {
    const OverlayPoint& point = facts.point;
    if (point.masquerade && (facts.translated == 0 || facts.translated < facts.tunnel_flows)) {
        return fmt::format(
            "NAT did not take place: {} of {} flows of the tunnel got another source port",
            facts.translated, facts.tunnel_flows);
    }
    if (!point.masquerade && facts.translated != 0) {
        return fmt::format("{} flows of the tunnel were translated, and no NAT was set up",
                           facts.translated);
    }
    const bool leaves_work = point.underlay_tx && (point.vxlan_tx || point.udp_checksum);
    if (leaves_work && facts.handed_partial == 0) {
        return "no frame came with a checksum left to the NIC, though its tx offload is on";
    }
    if (!leaves_work && facts.handed_partial != 0) {
        return fmt::format(
            "{} frames came with a checksum left to the NIC, though its tx offload is off",
            facts.handed_partial);
    }
    return "";
}

verdict::Measure probe_measure(const char* name, const char* label,
                               const agent::ProbeResult& probe) {
    return {.name = name, .label = label, .value = probe.ok, .note = probe.outcome};
}

std::vector<verdict::Measure> measures_of(const OverlayFacts& facts) {
    std::vector<verdict::Measure> measures = {
        probe_measure("probe_icmp", "ping", facts.ping),
        probe_measure("probe_dns_udp", "DNS over UDP", facts.dns_udp),
        probe_measure("probe_dns_tcp", "DNS over TCP", facts.dns_tcp),
        probe_measure("probe_tcp_1mb", "1 MB over TCP", facts.transfer),
        count_of("wire_frames", "frames that crossed the wire", facts.frames, "frames"),
        count_of("wire_not_carried", "lost by the wire's ports or not taken by the far one",
                 facts.not_carried, "frames"),
        count_of("wire_bad_frames", "frames that left it with a wrong checksum", facts.bad_frames,
                 "frames"),
        count_of("wire_bad_outer_udp", "wrong outer UDP checksums", facts.bad_outer_udp),
        count_of("wire_bad_inner_udp", "wrong inner UDP checksums", facts.bad_inner_udp),
        count_of("wire_bad_inner_tcp", "wrong inner TCP checksums", facts.bad_inner_tcp),
        count_of("wire_bad_inner_icmp", "wrong inner ICMP checksums", facts.bad_inner_icmp),
        count_of("wire_good_inner_icmp", "right inner ICMP checksums", facts.good_inner_icmp),
        count_of("wire_handed_partial", "frames whose sender left a checksum to its NIC",
                 facts.handed_partial, "frames"),
        count_of("wire_completed", "checksums of those completed by the wire", facts.completed),
        count_of("tunnel_flows", "flows that left through the tunnel", facts.tunnel_flows),
        count_of("translated_flows", "of them with another source port after NAT",
                 facts.translated),
        count_of("deleted_entries", "of their entries, deleted by somebody meanwhile",
                 facts.deleted),
        count_of("conntrack_no_room", "packets dropped by conntrack for want of an entry",
                 facts.table_full),
        count_of("links_down", "times that the underlay's link went down", facts.links_down),
        count_of("ip_frag_fails", "Ip.FragFails of the nodes", facts.too_big),
        count_of("underlay_mtu", "MTU of the underlay, the smaller one", facts.underlay_mtu,
                 "bytes"),
        count_of("tunnel_packet", "longest packet that the tunnel makes", facts.tunnel_packet,
                 "bytes"),
        count_of("peer_udp_in_csum_errors", "Udp.InCsumErrors of the nodes", facts.node_udp_errors),
        count_of("pod_tcp_in_csum_errors", "Tcp.InCsumErrors of the pods", facts.pod_tcp_errors),
        count_of("pod_udp_in_csum_errors", "Udp.InCsumErrors of the pods", facts.pod_udp_errors),
        count_of("cause_stale_port", "wrong values that are right for the port before NAT",
                 facts.checksums.stale_port),
        count_of("cause_left_partial", "wrong values that are a bare pseudo-header sum",
                 facts.checksums.left_partial),
        count_of(verdict::kUnexplained, "wrong checksums or failing probes without a cause",
                 unexplained(facts, !causes_of(facts).empty())),
    };
    if (!facts.drops_unknown.empty()) {
        measures.push_back({.name = "drops",
                            .label = "kernel drops",
                            .value = nullptr,
                            .note = facts.drops_unknown});
    }
    for (const auto& [reason, packets] : facts.drops) {
        measures.push_back(
            count_of("drop." + reason, "kernel drops, " + reason, packets, "packets"));
    }
    return measures;
}

Cell::Role role_of(const OverlayFacts& facts) {
    if (facts.id == kFlagOff) {
        return Cell::Role::kCure;
    }
    return facts.point.wire == softnic::WireMode::kPassThrough ? Cell::Role::kDemonstration
                                                               : Cell::Role::kMatrix;
}

// The broken wire must leave what was left to it, and nothing else: what software finished arrives
// as on a healthy one.
void judge_demonstration(const OverlayFacts& facts, Cell& cell) {
    const bool must_show = facts.point.underlay_tx;
    const std::string shown = must_show ? kLeftPartialWord : "";
    const bool as_expected =
        cell.cause == shown || cell.cause == kStalePortWord + (must_show ? "+" + shown : "");
    const bool explained = unexplained(facts, !cell.cause.empty()) == 0;
    cell.verdict = as_expected && explained ? CellVerdict::kPass : CellVerdict::kFail;
    cell.reason = fmt::format(
        "the wire that completes nothing was to {}: {}",
        must_show ? "leave partial checksums" : "leave none, for software had completed them",
        cell.reason.empty() ? survivors(facts) : cell.reason);
}

const Cell* first_with(const std::vector<Cell>& cells, CellVerdict verdict) {
    return first_of(cells, [&](const Cell& cell) { return cell.verdict == verdict; });
}

bool passed(const verdict::ScenarioResult& result, const OverlayPoint& point) {
    const Cell* cell = verdict::find_cell(result, point.id());
    return cell != nullptr && cell->verdict == CellVerdict::kPass;
}

// The points that differ from kSuspect in one toggle which takes the cause away, and what that is.
std::vector<std::pair<OverlayPoint, const char*>> control_points() {
    OverlayPoint no_nat = kSuspect;
    no_nat.masquerade = false;
    OverlayPoint no_checksum = kSuspect;
    no_checksum.udp_checksum = false;
    OverlayPoint no_offload = kSuspect;
    no_offload.vxlan_tx = false;
    return {{no_offload, "tx offload of the vxlan device"},
            {no_nat, "SNAT of the outer source port"},
            {no_checksum, "an outer UDP checksum"}};
}

verdict::Proof packet_proof(const join::ChecksumFindings& findings) {
    verdict::Proof proof{
        .title =
            "Packet by packet: the wrong outer checksum beside the right one for the source port "
            "before NAT",
        .columns = {"on the wire (after NAT)", "carries", "checksum on the wire", "right value",
                    "conntrack's original tuple", "right value for that tuple", "equal"}};
    std::uint64_t equal = 0;
    std::uint64_t looked_at = 0;
    for (const join::ChecksumProof& each : findings.proofs) {
        if (each.layer != kOuterUdpLayer) {
            continue;
        }
        const bool same = each.cause == join::ChecksumCause::kStalePort;
        ++looked_at;
        equal += same ? 1 : 0;
        if (proof.rows.size() < 12) {
            proof.rows.push_back(
                {each.on_wire, each.carries, fmt::format("0x{:04x}", each.wire),
                 fmt::format("0x{:04x}", each.right),
                 each.original.empty() ? "no entry" : each.original,
                 each.original.empty() ? "-" : fmt::format("0x{:04x}", each.predicted),
                 same ? "yes" : "no"});
        }
    }
    proof.conclusion = fmt::format(
        "{} of {} wrong outer UDP checksums equal the value for conntrack's original tuple{}.",
        equal, looked_at,
        looked_at > proof.rows.size() ? fmt::format(", {} of them shown", proof.rows.size()) : "");
    return proof;
}

// Tells where the wrong packets ended, by the counters that rose.
std::string drop_place(const OverlayFacts& facts) {
    std::string place;
    if (facts.node_udp_errors != 0) {
        place = fmt::format(" The receiving nodes dropped {} packets for it (Udp.InCsumErrors).",
                            facts.node_udp_errors);
    }
    if (const std::uint64_t filtered = dropped(facts, "NETFILTER_DROP"); filtered != 0) {
        place += fmt::format(" Packet filter rules dropped {} packets (NETFILTER_DROP).", filtered);
    }
    return place;
}

std::string flag_off_text(const Cell& off) {
    if (off.verdict == CellVerdict::kPass) {
        return "all four probes work and no checksum is wrong";
    }
    const auto bad = std::ranges::find(off.measures, "wire_bad_frames", &verdict::Measure::name);
    // The cure is not to blame for other losses once no wrong checksum is left.
    const bool none_wrong = bad != off.measures.end() && bad->value.is_zero();
    return (none_wrong ? "with it no frame carried a wrong one, and it is not shown all the same: "
                       : "it did NOT help: ") +
           off.reason;
}

std::string flag_back_text(const Cell* back, bool same_again) {
    if (back == nullptr) {
        return "what the flag back on does was not measured";
    }
    if (same_again) {
        return "with the flag back on the same failure is back";
    }
    return "with the flag back on the failure did NOT come back as it was" +
           (back->reason.empty() ? "" : ": " + back->reason);
}

void tell_cure(const OverlayFacts& failing, const OverlayNaming& naming,
               verdict::ScenarioResult& result) {
    const Cell* off = verdict::find_cell(result, kFlagOff);
    const Cell* back = verdict::find_cell(result, kFlagBack);
    if (off == nullptr) {
        return;
    }
    const bool cured = off->verdict == CellVerdict::kPass;
    const bool same_again = back != nullptr && back->verdict == CellVerdict::kFail &&
                            back->cause == judge_overlay(failing).cause;
    result.before_cell = failing.id;
    result.after_cell = kFlagOff;
    result.cure = fmt::format("{}. Seen in this run: {}; {}.",
                              setting::cure("tx-checksum-off").text({{"$TUNNEL", naming.vxlan}}),
                              flag_off_text(*off), flag_back_text(back, same_again));
    result.cure_shown = cured && same_again && naming.flag_restored;
}

void explain(const OverlayFacts& failing, const OverlayNaming& naming,
             verdict::ScenarioResult& result) {
    result.headline = fmt::format(
        "Between pods on the overlay, {}. Of {} packets on the wire {} left with a wrong outer UDP "
        "checksum; {} wrong "
        "values are the right ones for the source port that the packet had before NAT.",
        survivors(failing), failing.frames, failing.bad_outer_udp, failing.checksums.stale_port);
    std::vector<std::string> needed;
    for (const auto& [point, what] : control_points()) {
        if (passed(result, point)) {
            needed.emplace_back(what);
        }
    }
    result.cause = fmt::format(
        "The outer UDP checksum is the one for the source port that the vxlan device chose; SNAT "
        "gave {} of {} flows of "
        "the tunnel another port, and the checksum stayed.",
        failing.translated, failing.tunnel_flows);
    if (passed(result, control_points().front().first)) {
        result.cause +=
            " With tx offload of the vxlan device off it is right: while the inner checksum is "
            "still to be completed "
            "(CHECKSUM_PARTIAL) the kernel takes the outer one to be unfinished too and leaves it "
            "alone.";
    }
    result.cause += drop_place(failing);
    tell_cure(failing, naming, result);
    if (failing.ping.ok && failing.good_inner_icmp != 0 && failing.bad_inner_icmp == 0) {
        result.explanation.push_back(
            fmt::format("Why ping works: the kernel fills in an ICMP checksum itself, so nothing "
                        "inside the packet is left to "
                        "complete and the outer checksum is finished last, after NAT. All {} ICMP "
                        "echo packets crossed the wire "
                        "with right checksums inside.",
                        failing.good_inner_icmp));
    }
    if (!needed.empty()) {
        result.explanation.push_back(fmt::format(
            "What it takes: {}. The controls below take each of these away, and are healthy.",
            fmt::join(needed, "; ")));
    }
    OverlayPoint partial = kSuspect;
    partial.masquerade = false;
    partial.underlay_tx = true;
    partial.wire = softnic::WireMode::kPassThrough;
    if (const Cell* shown = verdict::find_cell(result, partial.id());
        shown != nullptr && shown->verdict == CellVerdict::kPass &&
        shown->cause == kLeftPartialWord) {
        result.explanation.push_back(fmt::format(
            "The second way to the same symptom was produced and told apart: a NIC (here the "
            "software wire) that does "
            "not complete partial checksums. There the wrong value is the bare pseudo-header sum, "
            "and it needs no NAT. "
            "It would be cured by `ethtool -K {} tx off` on the underlay device (not tried here).",
            naming.underlay));
    }
}

}  // namespace

std::string OverlayPoint::id() const {
    std::string text = fmt::format("vx-tx-{}.{}.{}.eth0-tx-{}", on_off(vxlan_tx),
                                   udp_checksum ? "udpcsum" : "noudpcsum",
                                   masquerade ? "masquerade" : "no-nat", on_off(underlay_tx));
    if (wire == softnic::WireMode::kPassThrough) {
        text += ".wire-leaves-partial";
    }
    return text;
}

std::vector<std::pair<std::string, std::string>> OverlayPoint::toggles() const {
    std::vector<std::pair<std::string, std::string>> set = {
        {"vxlan device tx offload", on_off(vxlan_tx)},
        {"outer UDP checksum", on_off(udp_checksum)},
        {"outer SNAT", lab::outer_snat_text(masquerade)},
        {"underlay tx offload", on_off(underlay_tx)}};
    // The matrix proper has a healthy NIC's wire in all its cells; only the others say what theirs
    // is.
    if (wire != softnic::WireMode::kHealthyNic) {
        set.emplace_back("software wire in place of a NIC", "leaves partial checksums");
    }
    return set;
}

bool shows_stale_port(const OverlayFacts& facts) {
    return judge_overlay(facts).verdict == CellVerdict::kFail && facts.checksums.stale_port_named &&
           facts.checksums.stale_port != 0;
}

Cell judge_overlay(const OverlayFacts& facts) {
    const std::vector<Found> found = causes_of(facts);
    Cell cell{.id = facts.id,
              .toggles = facts.point.toggles(),
              .role = role_of(facts),
              .verdict = CellVerdict::kPass,
              .cause = join_each(found, &Found::word, "+"),
              .measures = measures_of(facts),
              .evidence = facts.evidence};
    if (facts.id == kFlagOff || facts.id == kFlagBack) {
        cell.toggles.emplace_back(
            "cure, applied to the running lab",
            facts.point.vxlan_tx ? "flag back on"
                                 : setting::with_names(setting::cure("tx-checksum-off").command,
                                                       {{"$TUNNEL", "vx"}}));
    }
    const std::string why = found.empty() ? "" : ": " + join_each(found, &Found::sentence);
    if (!facts.objection.empty() || facts.not_carried != 0 || facts.frames == 0 ||
        facts.completed_by_value != 0) {
        cell.verdict = CellVerdict::kError;
        cell.reason = fmt::format(
            "the wire itself is no witness ({} frames came to it, {} were lost or not taken{}{}){}",
            facts.frames, facts.not_carried, facts.objection.empty() ? "" : "; ", facts.objection,
            why);
        return cell;
    }
    const std::string missing = missing_stimulus(facts);
    const bool clean = facts.probes_ok() && facts.bad_frames == 0;
    if (!clean) {
        cell.verdict = CellVerdict::kFail;
        cell.reason =
            fmt::format("{}; {} of {} frames carry a wrong checksum{}{}", survivors(facts),
                        facts.bad_frames, facts.frames, found.empty() ? ": no cause fits" : why,
                        missing.empty() ? "" : "; " + missing);
    }
    // A cell without its stimulus says nothing of the failure it looks for, unless the failure is
    // there all the same.
    const bool there_all_the_same = cell.role != Cell::Role::kDemonstration &&
                                    facts.translated != 0 &&
                                    cell.cause.find(kStalePortWord) != std::string::npos;
    if (!missing.empty() && (clean || !there_all_the_same)) {
        cell.verdict = CellVerdict::kInconclusive;
        cell.reason = clean ? missing : cell.reason;
    } else if (cell.role == Cell::Role::kDemonstration) {
        judge_demonstration(facts, cell);
    }
    return cell;
}

void conclude_vxlan_checksum(const std::vector<OverlayFacts>& measured, const OverlayNaming& naming,
                             verdict::ScenarioResult& result) {
    const OverlayFacts* failing = nullptr;
    // A point of the matrix that fails from another cause or where this one is not.
    const Cell* foreign = nullptr;
    std::uint64_t frames = 0;
    bool suspect_measured = false;
    result.cells.reserve(measured.size());
    for (const OverlayFacts& facts : measured) {
        Cell cell = judge_overlay(facts);
        for (const verdict::Measure& measure : cell.measures) {
            result.unexplained += measure.name == verdict::kUnexplained ? measure.value.count() : 0;
        }
        OverlayPoint as_suspect = facts.point;
        as_suspect.underlay_tx = kSuspect.underlay_tx;
        const bool suspect = as_suspect == kSuspect && facts.id == facts.point.id();
        suspect_measured |=
            suspect && (cell.verdict == CellVerdict::kPass || cell.verdict == CellVerdict::kFail);
        // The suspect itself before its twin with the underlay's offload on.
        if (suspect && shows_stale_port(facts) && (failing == nullptr || facts.point == kSuspect)) {
            failing = &facts;
        }
        result.cells.push_back(std::move(cell));
        const Cell& kept = result.cells.back();
        frames += kept.role == Cell::Role::kMatrix ? facts.frames : 0;
        if (kept.role == Cell::Role::kMatrix && facts.id != kFlagBack) {
            foreign =
                kept.verdict == CellVerdict::kFail && !(suspect && kept.cause == kStalePortWord)
                    ? &kept
                    : foreign;
        }
    }
    for (const auto& [point, what] : control_points()) {
        if (const Cell* cell = verdict::find_cell(result, point.id()); cell != nullptr) {
            result.controls.push_back(*cell);
            result.controls.back().id = "control." + cell->id;
            result.controls.back().role = Cell::Role::kControl;
        }
    }
    for (const char* step : {kFlagOff, kFlagBack}) {
        if (const Cell* cell = verdict::find_cell(result, step);
            failing == nullptr && cell != nullptr && cell->verdict == CellVerdict::kFail) {
            foreign = cell;  // nothing was there to be cured
        }
    }
    const Cell* failed_control = first_with(result.controls, CellVerdict::kFail);
    const Cell* error = first_with(result.cells, CellVerdict::kError);
    const Cell* unsure = first_with(result.cells, CellVerdict::kInconclusive);
    result.verdict = ScenarioVerdict::kInconclusive;
    if (error != nullptr) {
        result.headline =
            fmt::format("Not every cell could be measured: {}: {}.", error->id, error->reason);
    } else if (failed_control != nullptr) {
        result.headline = fmt::format(
            "The failure that is looked for is not the only one here: {} fails, and lacks its "
            "cause: {}.",
            failed_control->id, failed_control->reason);
    } else if (foreign != nullptr) {
        result.headline =
            fmt::format("A point fails from another cause: {}: {}.", foreign->id, foreign->reason);
    } else if (failing != nullptr) {
        result.verdict = ScenarioVerdict::kReproduced;
        result.proofs.push_back(packet_proof(failing->checksums));
        explain(*failing, naming, result);
    } else if (unsure != nullptr) {
        result.headline = fmt::format("Not every cell had what it looks for: {}: {}.", unsure->id,
                                      unsure->reason);
    } else if (!suspect_measured) {
        result.headline = "No point at which the failure could show was run.";
    } else {
        result.verdict = ScenarioVerdict::kNotReproduced;
        result.headline = fmt::format(
            "At none of {} points with a healthy wire does any of the {} frames carry a wrong "
            "checksum, and every probe works.",
            std::ranges::count(result.cells, Cell::Role::kMatrix, &Cell::role), frames);
    }
}

}  // namespace pathproof::scenario
