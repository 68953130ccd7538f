#include "harness/truth/defects.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "dataplane/base/contains.h"
#include "dataplane/base/counts.h"
#include "dataplane/matrix/causes.h"
#include "harness/truth/locate.h"

namespace pathproof::truth {
namespace {

using matrix::FindingKind;
using matrix::RxFindingKind;

// A receiver that judges a layer has spoken of it by then.
constexpr std::uint64_t kEnoughFrames = 24;

using Key = std::pair<std::string, std::string>;  // place, title

// Defects of one direction, in the order in which they are found first.
class Gathering {
  public:
    explicit Gathering(profile::Direction direction) : direction_(direction) {}

    Defect& add(const Key& key, std::size_t number, const matrix::Row& row, std::uint64_t frames) {
        const auto [at, added] = index_.try_emplace(key, defects_.size());
        if (added) {
            defects_.push_back({.direction = direction_, .place = key.first, .title = key.second});
        }
        Defect& defect = defects_[at->second];
        if (defect.rows.empty() || defect.rows.back() != number) {
            defect.rows.push_back(number);
        }
        defect.frames += frames;
        defect.tunnel_ports.insert(tunnel_port_of(row));
        return defect;
    }

    std::vector<Defect>& all() { return defects_; }

  private:
    profile::Direction direction_;
    std::map<Key, std::size_t> index_;
    std::vector<Defect> defects_;
};

void add_by_place(std::vector<Defect>&& defects, Findings& findings) {
    std::ranges::sort(defects, {}, [](const Defect& defect) {
        return std::pair<const std::string&, const std::string&>(defect.place, defect.title);
    });
    std::ranges::move(defects, std::back_inserter(findings.defects));
}

// Returns whether a wrong checksum has no single name: its frames fit several, or none.
bool is_nameless(const matrix::TxFinding& finding) {
    return finding.kind == FindingKind::kChecksum &&
           finding.checksum == judge::ChecksumName::kUnknown;
}

// Rows that passed and could have shown the defect: those in which the port was asked for the same
// checksum; of one that nobody asked for, all.
std::vector<matrix::Row> passing_rows(const RowsRun& run, const Defect& defect) {
    const std::string layer = layer_part(defect.place);
    const bool was_asked = std::ranges::any_of(
        defect.rows, [&](std::size_t row) { return contains(run.sent[row].asked, layer); });
    std::vector<matrix::Row> rows;
    for (std::size_t i = 0; i < run.sent.size(); ++i) {
        const TxRow& row = run.sent[i];
        const bool ran = row.lacking.empty() && row.result.probes > 0;
        const bool failed = contains(defect.rows, i);
        if (ran && !failed && (!was_asked || contains(row.asked, layer))) {
            rows.push_back(row.row);
        }
    }
    return rows;
}

template <typename Rows>
std::vector<matrix::Row> rows_at(const Rows& rows, const std::vector<std::size_t>& numbers) {
    std::vector<matrix::Row> chosen;
    for (const std::size_t number : numbers) {
        chosen.push_back(rows[number].row);
    }
    return chosen;
}

void keep_another(Defect& defect, const matrix::Specimen& specimen) {
    if (!specimen.wire.empty() && defect.more.size() + 1 < kEvidenceFrames) {
        defect.more.push_back(specimen);
    }
}

void find_sent(const RowsRun& run, Findings& findings) {
    const std::vector<SentRow> rows = sent_rows(run);
    std::vector<Defect> defects = gather_sent(rows, names_by_place(rows));
    for (Defect& defect : defects) {
        defect.where = locate(rows_at(run.sent, defect.rows), passing_rows(run, defect));
    }
    add_by_place(std::move(defects), findings);
    std::map<std::string, std::vector<std::size_t>> refused;
    for (const SentRow& row : rows) {
        for (const matrix::TxFinding& finding : row.findings) {
            if (finding.kind == FindingKind::kRefused) {
                refused[finding.title].push_back(row.number);
            }
        }
    }
    for (auto& [reason, numbers] : refused) {
        findings.refusals.push_back({reason, std::move(numbers)});
    }
}

// Returns whether the receiver reads the tunnel of the row's frames. A row with two tunnels is read
// if the receiver knows one of them at least.
bool is_read(const matrix::Row& row, const frame::TunnelPorts& known) {
    const bool over_ip = row.encap == matrix::Encap::kIpInIp || row.encap == matrix::Encap::kGre;
    if (row.encap == matrix::Encap::kNone) {
        return true;
    }
    const bool no_ports = known == frame::TunnelPorts(known.ip_tunnels());
    if (over_ip || no_ports) {
        return over_ip && known.ip_tunnels() == frame::IpTunnels::kFollowed;
    }
    return row.tunnel_port != matrix::TunnelPort::k8223;
}

// Returns whether a row's frames are bad at the place that the claim is about.
bool is_bad_at(const matrix::Row& row, const std::string& place) {
    using matrix::RxInput;
    const bool outer = place.starts_with("outer.");
    const bool ip = place.ends_with(".ipv4");
    switch (row.rx_input) {
        case RxInput::kGood: return false;
        case RxInput::kBadInnerTransport: return !outer && !ip;
        case RxInput::kBadInnerIp: return !outer && ip;
        case RxInput::kBadInnerBoth: return !outer;
        case RxInput::kBadOuterTransport: return outer && !ip;
        case RxInput::kBadOuterIp: return outer && ip;
        case RxInput::kBadBothTransports: return !ip;
    }
    return false;
}

// Rows received without this finding that could have shown it: a wrong claim that a bad layer is
// good needs a bad frame.
std::vector<matrix::Row> clean_rows(const RowsRun& run, const Defect& defect) {
    const bool of_claim = defect.place != "frame";
    const bool needs_bad = defect.title == judge::name(judge::RxFault::kGoodOnBad) ||
                           defect.title == judge::name(judge::RxFault::kHealed);
    std::vector<matrix::Row> rows;
    for (std::size_t i = 0; i < run.received.size(); ++i) {
        const RxRow& row = run.received[i];
        const bool failed = contains(defect.rows, i);
        const bool same = !of_claim || place_of(row.row, defect.layer, run) == defect.place;
        const bool ran = row.result.frames > 0;
        if (ran && !failed && same && (!needs_bad || is_bad_at(row.row, defect.place))) {
            rows.push_back(row.row);
        }
    }
    return rows;
}

matrix::Deliveries deliveries_of(const RowsRun& run) {
    matrix::Deliveries all;
    for (const RxRow& row : run.received) {
        add_counts(all, row.result.deliveries);
    }
    return all;
}

void find_received(const RowsRun& run, Findings& findings) {
    Gathering gathering(profile::Direction::kReceive);
    const std::string lost_title = judge::name(
        deliveries_of(run).drops_bad() ? judge::RxFault::kDropBad : judge::RxFault::kDropGood);
    for (std::size_t i = 0; i < run.received.size(); ++i) {
        const RxRow& row = run.received[i];
        for (const matrix::RxFinding& finding : row.result.findings) {
            const bool lost = finding.kind == RxFindingKind::kNotDelivered;
            const std::string title = lost ? lost_title : finding.title;
            const std::string place = lost ? "frame" : place_of(row.row, finding.place, run);
            Defect& defect = gathering.add({place, title}, i, row.row, finding.frames);
            defect.layer = finding.place;
            if (defect.specimen.wire.empty()) {
                defect.specimen = {finding.label, finding.specimen, finding.specimen, {}};
            } else {
                keep_another(defect, {finding.label, finding.specimen, finding.specimen, {}});
            }
        }
    }
    for (Defect& defect : gathering.all()) {
        defect.where = locate(rows_at(run.received, defect.rows), clean_rows(run, defect));
    }
    add_by_place(std::move(gathering.all()), findings);
}

// A promised claim that no frame at all got. For a kind of frame it may be unknown, and is no
// defect.
void find_silence(const RowsRun& run, const port::PortInfo& device, Findings& findings) {
    for (std::size_t layer = 0; layer < judge::kRxLayers; ++layer) {
        for (std::size_t protocol = 0; protocol < judge::kProtocolCount; ++protocol) {
            const std::string offload = rx_offload_for(static_cast<judge::RxLayer>(layer),
                                                       static_cast<judge::Protocol>(protocol));
            Defect silence{.direction = profile::Direction::kReceive,
                           .title = judge::name(judge::RxFault::kUnknownAlways),
                           .where = "everywhere"};
            std::uint64_t claimed = 0;
            for (std::size_t i = 0; i < run.received.size(); ++i) {
                const ClaimCount& count = run.received[i].claims[layer][protocol];
                claimed += count.claimed;
                silence.frames += count.verifiable;
                if (count.verifiable != 0) {
                    silence.rows.push_back(i);
                }
            }
            if (!contains(device.rx_offloads, offload) || claimed != 0 ||
                silence.frames < kEnoughFrames) {
                continue;
            }
            silence.layer = judge::name(static_cast<judge::RxLayer>(layer));
            silence.place = place_of(run.received[silence.rows.front()].row, silence.layer, run);
            silence.note = fmt::format("{} is offered, and no claim was made in any of {} frames",
                                       offload, silence.frames);
            findings.defects.push_back(std::move(silence));
        }
    }
}

// The port's own claims, frame by frame, are as good a count as the true ones: a wrong claim is a
// finding of its own.
void hold_counters(const RowsRun& run, const std::vector<CounterDelta>& counters,
                   Findings& findings) {
    for (const CounterDelta& counter : counters) {
        if (counter.delta == run.called_bad || counter.delta == run.seen_bad) {
            continue;
        }
        const auto lie = judge::counter_lie(counter.name, counter.delta, run.seen_bad);
        findings.defects.push_back({.direction = profile::Direction::kPath,
                                    .place = "counter",
                                    .title = judge::name(judge::RxFault::kCounterLies),
                                    .where = counter.name,
                                    .frames = counter.delta > run.seen_bad
                                                  ? counter.delta - run.seen_bad
                                                  : run.seen_bad - counter.delta,
                                    .note = lie.value_or("")});
    }
}

}  // namespace

std::string Defect::signature() const {
    std::string text = profile::name(direction);
    for (const std::string& part : {place, title}) {
        text += part.empty() ? "" : "." + part;
    }
    return text;
}

std::vector<SentRow> sent_rows(const RowsRun& run) {
    std::vector<SentRow> rows;
    for (std::size_t i = 0; i < run.sent.size(); ++i) {
        rows.push_back({i, &run.sent[i].row, run.sent[i].result.findings});
    }
    return rows;
}

namespace {

// Returns, by place, the one name that all rows' nameless checksums have among their candidates. At
// least three rows, whose payloads differ, must agree.
std::map<std::string, std::string> names_by_candidates(std::span<const SentRow> rows) {
    constexpr std::size_t kEnoughRows = 3;
    struct Open {
        std::vector<judge::ChecksumName> candidates;
        std::size_t rows = 0;
    };
    std::map<std::string, Open> places;
    for (const SentRow& row : rows) {
        for (const matrix::TxFinding& finding : row.findings) {
            if (!is_nameless(finding)) {
                continue;
            }
            Open& open = places[finding.place];
            if (open.rows++ == 0) {
                open.candidates = finding.candidates;
            }
            std::erase_if(open.candidates, [&](judge::ChecksumName name) {
                return !contains(finding.candidates, name);
            });
        }
    }
    std::map<std::string, std::string> names;
    for (const auto& [place, open] : places) {
        if (open.rows >= kEnoughRows && open.candidates.size() == 1) {
            names.emplace(place, judge::name(open.candidates.front()));
        }
    }
    return names;
}

}  // namespace

NamesByPlace names_by_place(std::span<const SentRow> rows) {
    NamesByPlace names;
    for (const SentRow& row : rows) {
        for (const matrix::TxFinding& finding : row.findings) {
            if (finding.kind == FindingKind::kChecksum && !is_nameless(finding)) {
                names[finding.place].insert(finding.title);
            }
        }
    }
    for (const auto& [place, name] : names_by_candidates(rows)) {
        if (!names.contains(place)) {
            names[place].insert(name);
        }
    }
    return names;
}

std::vector<matrix::TxFinding> causes_of(std::span<const matrix::TxFinding> findings,
                                         const NamesByPlace& names) {
    std::vector<matrix::TxFinding> causes;
    for (const auto& [finding, named] : matrix::causes_among(findings)) {
        matrix::TxFinding& cause = causes.emplace_back(*finding);
        if (!named) {
            cause.title = judge::name(judge::ChecksumName::kUnknown);
        }
        const auto known = names.find(cause.place);
        if (!is_nameless(cause) || known == names.end()) {
            continue;
        }
        const auto candidate = std::ranges::find_if(
            cause.candidates,
            [&](judge::ChecksumName name) { return known->second.contains(judge::name(name)); });
        if (candidate != cause.candidates.end()) {
            cause.checksum = *candidate;
            cause.title = judge::name(*candidate);
        }
    }
    return causes;
}

std::vector<std::string> conditions_of(std::span<const matrix::Row> rows) {
    std::vector<std::string> all;
    const auto add = [&](const char* key, const auto& value_of) {
        std::set<std::string> values;
        for (const matrix::Row& row : rows) {
            values.insert(value_of(row));
        }
        if (values.size() == 1 && !values.begin()->empty()) {
            all.push_back(fmt::format("{}={}", key, *values.begin()));
        }
    };
    add("vlan", [](const matrix::Row& row) {
        constexpr const char* kVlans[] = {"none", "single", "inserted", "double", "inner"};
        return std::string(kVlans[static_cast<std::size_t>(row.vlan)]);
    });
    add("l4", [](const matrix::Row& row) {
        constexpr const char* kProtocols[] = {"udp", "udp", "tcp", "tcp", "sctp", "icmp", "other"};
        return std::string(kProtocols[static_cast<std::size_t>(row.transport)]);
    });
    add("inner_family", [](const matrix::Row& row) { return is_ipv4(row) ? "4" : "6"; });
    add("fragment", [](const matrix::Row& row) {
        return row.fragmentation == matrix::Fragmentation::kNone ? "no" : "yes";
    });
    add("segmented", [](const matrix::Row& row) {
        if (row.segmentation == matrix::Segmentation::kNone) {
            return "no";
        }
        return row.segmentation == matrix::Segmentation::kUdp ? "uso" : "tso";
    });
    add("buffers", [](const matrix::Row& row) {
        return row.buffers == matrix::Buffers::kOne ? "one" : "many";
    });
    add("encapsulation", [](const matrix::Row& row) {
        constexpr const char* kTunnels[] = {"none",   "vxlan", "vxlan", "geneve",   "geneve",
                                            "geneve", "ipip",  "gre",   "vxlan-gpe"};
        return std::string(kTunnels[static_cast<std::size_t>(row.encap)]);
    });
    return all;
}

std::vector<Defect> gather_sent(std::span<const SentRow> rows, const NamesByPlace& names) {
    Gathering gathering(profile::Direction::kTransmit);
    for (const SentRow& row : rows) {
        for (const matrix::TxFinding& cause : causes_of(row.findings, names)) {
            if (cause.kind == FindingKind::kRefused) {
                continue;
            }
            Defect& defect =
                gathering.add({cause.place, cause.title}, row.number, *row.row, cause.frames);
            defect.observations = std::max(defect.observations, row.observations);
            if (defect.specimen.wire.empty() && defect.specimen.intended.empty()) {
                defect.specimen = cause.specimen;
                defect.wire_value = cause.wire_value;
                defect.right_value = cause.right_value;
                defect.name = name_of(cause);
                defect.checksum = cause.checksum;
            } else {
                keep_another(defect, cause.specimen);
            }
        }
    }
    for (Defect& defect : gathering.all()) {
        std::vector<matrix::Row> of_matrix;
        for (const SentRow& row : rows) {
            if (contains(defect.rows, row.number)) {
                of_matrix.push_back(*row.row);
            }
        }
        defect.conditions = conditions_of(of_matrix);
    }
    return std::move(gathering.all());
}

namespace {

// The bytes by which the frame is longer or shorter, and where.
std::string length_name(const matrix::Specimen& specimen) {
    const auto [shorter, longer] =
        std::minmax(specimen.wire, specimen.intended,
                    [](const auto& a, const auto& b) { return a.size() < b.size(); });
    const std::size_t bytes = longer.size() - shorter.size();
    const bool at_end = std::equal(shorter.begin(), shorter.end(), longer.begin());
    const char* const end = specimen.wire.size() < specimen.intended.size() ? "CUT" : "PADDED";
    return fmt::format("{}({})", at_end ? end : "SHIFTED", bytes);
}

}  // namespace

std::string name_of(const matrix::TxFinding& finding) {
    if (finding.kind == FindingKind::kLength && !finding.specimen.wire.empty()) {
        return length_name(finding.specimen);
    }
    if (finding.kind == FindingKind::kSurplus || finding.title == "DUPLICATE") {
        return "DOUBLED";
    }
    const bool segment = finding.kind == FindingKind::kSegment &&
                         finding.checksum == judge::ChecksumName::kUnknown &&
                         !finding.place.empty();
    const bool named_by_place =
        finding.kind == FindingKind::kField || finding.kind == FindingKind::kLength;
    return segment || named_by_place ? finding.title + "(" + finding.place + ")" : finding.title;
}

std::string layer_part(const std::string& place) {
    const std::size_t first = place.find('.');
    const std::size_t second = first == std::string::npos ? first : place.find('.', first + 1);
    return place.substr(0, second);
}

std::uint16_t tunnel_port_of(const matrix::Row& row) {
    switch (row.tunnel_port) {
        case matrix::TunnelPort::k4789: return 4789;
        case matrix::TunnelPort::k8472: return 8472;
        case matrix::TunnelPort::k4790: return 4790;
        case matrix::TunnelPort::k6081: return 6081;
        case matrix::TunnelPort::k8223: return 8223;
        case matrix::TunnelPort::kTwo:
        case matrix::TunnelPort::kPlainTo4789:
        case matrix::TunnelPort::kPlainTo4790:
        case matrix::TunnelPort::kPlainTo6081:
        case matrix::TunnelPort::kNone: break;
    }
    return 0;
}

std::string place_of(const matrix::Row& row, const std::string& layer, const RowsRun& run) {
    const std::string depth = row.encap == matrix::Encap::kNone ? "plain." : "inner.";
    const bool unread = !is_read(row, run.tunnels);
    // GRE and IP in IP have no checksum of their own: the first is that of the packet inside.
    const bool over_ip = row.encap == matrix::Encap::kGre || row.encap == matrix::Encap::kIpInIp;
    if (layer == "outer.ip" || (unread && layer == "ip")) {
        return row.encap == matrix::Encap::kVxlanOverIpv6 ? "outer.ipv6" : "outer.ipv4";
    }
    if (!over_ip && (layer == "outer.l4" || (unread && layer == "l4"))) {
        return "outer.udp";
    }
    if (layer == "ip") {
        return depth + "ipv4";
    }
    if (layer != "l4" && layer != "outer.l4") {
        return layer.empty() ? "frame" : layer;
    }
    switch (row.transport) {
        case matrix::InnerTransport::kUdp:
        case matrix::InnerTransport::kUdpZero: return depth + "udp";
        case matrix::InnerTransport::kTcp:
        case matrix::InnerTransport::kTcpOptions: return depth + "tcp";
        case matrix::InnerTransport::kSctp: return depth + "sctp";
        case matrix::InnerTransport::kIcmp: return depth + (is_ipv4(row) ? "icmp" : "icmpv6");
        case matrix::InnerTransport::kUnknown: break;
    }
    return depth + "l4";
}

std::string rx_offload_for(judge::RxLayer layer, judge::Protocol protocol) {
    const bool outer = layer == judge::RxLayer::kOuterIp || layer == judge::RxLayer::kOuterL4;
    switch (protocol) {
        case judge::Protocol::kIpv4: return outer ? "OUTER_IPV4_CKSUM" : "IPV4_CKSUM";
        case judge::Protocol::kUdp: return outer ? "OUTER_UDP_CKSUM" : "UDP_CKSUM";
        case judge::Protocol::kTcp: return outer ? "" : "TCP_CKSUM";
        case judge::Protocol::kSctp: return outer ? "" : "SCTP_CKSUM";
        case judge::Protocol::kIcmp:
        case judge::Protocol::kIcmpv6:
        case judge::Protocol::kUdpLite:
        case judge::Protocol::kGre: break;
    }
    return {};
}

Findings find_defects(const RowsRun& run, const port::PortInfo& device,
                      const std::vector<CounterDelta>& counters) {
    Findings findings;
    find_sent(run, findings);
    find_received(run, findings);
    find_silence(run, device, findings);
    hold_counters(run, counters, findings);
    std::ranges::stable_sort(findings.defects, std::greater(), &Defect::frames);
    return findings;
}

std::vector<Defect> take_silences(Findings& findings) {
    std::vector<Defect> silences;
    std::vector<Defect> others;
    for (Defect& defect : findings.defects) {
        const bool silent = defect.title == judge::name(judge::RxFault::kUnknownAlways);
        (silent ? silences : others).push_back(std::move(defect));
    }
    findings.defects = std::move(others);
    return silences;
}

}  // namespace pathproof::truth
