#include "harness/truth/defects.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "dataplane/base/contains.h"
#include "dataplane/base/counts.h"
#include "dataplane/calibration/row_run.h"
#include "harness/truth/locate.h"

namespace pathproof::truth {
namespace {

using matrix::FindingKind;
using matrix::RxFindingKind;

// A receiver that judges a layer has spoken of it by then.
constexpr std::uint64_t kEnoughFrames = 24;

// "outer.udp.length" -> "outer.udp"
std::string layer_of(const std::string& place) {
    const std::size_t first = place.find('.');
    const std::size_t second = first == std::string::npos ? first : place.find('.', first + 1);
    return place.substr(0, second);
}

using Key = std::pair<std::string, std::string>;  // place, title

class Gathering {
  public:
    explicit Gathering(profile::Direction direction) : direction_(direction) {}

    Defect& add(const Key& key, std::size_t row, std::uint64_t frames) {
        const auto [at, added] = defects_.try_emplace(key);
        Defect& defect = at->second;
        if (added) {
            defect.direction = direction_;
            defect.place = key.first;
            defect.title = key.second;
        }
        if (defect.rows.empty() || defect.rows.back() != row) {
            defect.rows.push_back(row);
        }
        defect.frames += frames;
        return defect;
    }

    std::map<Key, Defect>& all() { return defects_; }

  private:
    profile::Direction direction_;
    std::map<Key, Defect> defects_;
};

// A row whose few frames fit several names shows the one that other rows name at the same place.
std::string settled(const matrix::TxFinding& finding,
                    const std::map<std::string, std::set<std::string>>& named) {
    if (finding.kind != FindingKind::kChecksum ||
        finding.checksum != judge::ChecksumName::kUnknown) {
        return finding.title;
    }
    const auto known = named.find(finding.place);
    for (const judge::ChecksumName candidate : finding.candidates) {
        if (known != named.end() && known->second.contains(judge::name(candidate))) {
            return judge::name(candidate);
        }
    }
    return finding.title;
}

std::map<std::string, std::set<std::string>> names_by_place(const RowsRun& run) {
    std::map<std::string, std::set<std::string>> named;
    for (const TxRow& row : run.sent) {
        for (const matrix::TxFinding& finding : row.result.findings) {
            if (finding.kind == FindingKind::kChecksum &&
                finding.checksum != judge::ChecksumName::kUnknown) {
                named[finding.place].insert(finding.title);
            }
        }
    }
    return named;
}

// Rows that passed and could have shown the defect: those in which the port was asked for the same
// checksum; of one that nobody asked for, all.
std::vector<matrix::Row> passing_rows(const RowsRun& run, const Defect& defect) {
    const std::string layer = layer_of(defect.place);
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

void gather_sent(const RowsRun& run, Findings& findings) {
    Gathering gathering(profile::Direction::kTransmit);
    std::map<std::string, std::vector<std::size_t>> refused;
    const auto named = names_by_place(run);
    for (std::size_t i = 0; i < run.sent.size(); ++i) {
        const matrix::TxCellResult& result = run.sent[i].result;
        for (const matrix::TxFinding& finding : result.findings) {
            if (finding.kind == FindingKind::kRefused) {
                refused[finding.title].push_back(i);
                continue;
            }
            if (!is_cause(result, finding)) {
                continue;
            }
            Defect& defect =
                gathering.add({finding.place, settled(finding, named)}, i, finding.frames);
            if (defect.specimen.wire.empty() && defect.specimen.intended.empty()) {
                defect.specimen = finding.specimen;
                defect.wire_value = finding.wire_value;
                defect.right_value = finding.right_value;
            } else {
                keep_another(defect, finding.specimen);
            }
        }
    }
    for (auto& [key, defect] : gathering.all()) {
        defect.where = locate(rows_at(run.sent, defect.rows), passing_rows(run, defect));
        findings.defects.push_back(std::move(defect));
    }
    for (auto& [reason, rows] : refused) {
        findings.refusals.push_back({reason, std::move(rows)});
    }
}

// Whether the receiver reads the tunnel of the row's frames. Of two tunnels at once it knows one at
// least.
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

// Whether a row's frames are bad where the claim is about.
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

void gather_received(const RowsRun& run, Findings& findings) {
    Gathering gathering(profile::Direction::kReceive);
    const bool drops_bad = deliveries_of(run).drops_bad();
    for (std::size_t i = 0; i < run.received.size(); ++i) {
        const RxRow& row = run.received[i];
        for (const matrix::RxFinding& finding : row.result.findings) {
            const bool lost = finding.kind == RxFindingKind::kNotDelivered;
            const std::string title = !lost       ? finding.title
                                      : drops_bad ? judge::name(judge::RxFault::kDropBad)
                                                  : judge::name(judge::RxFault::kDropGood);
            const std::string place = lost ? "frame" : place_of(row.row, finding.place, run);
            Defect& defect = gathering.add({place, title}, i, finding.frames);
            defect.layer = finding.place;
            if (defect.specimen.wire.empty()) {
                defect.specimen = {finding.label, finding.specimen, finding.specimen, {}};
            } else {
                keep_another(defect, {finding.label, finding.specimen, finding.specimen, {}});
            }
        }
    }
    for (auto& [key, defect] : gathering.all()) {
        defect.where = locate(rows_at(run.received, defect.rows), clean_rows(run, defect));
        findings.defects.push_back(std::move(defect));
    }
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

// What the port said frame by frame is as good a count as what it should have said: a wrong claim
// is a finding of its own.
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

profile::Sighting sighting_of(const Defect& defect, const RowsRun& run,
                              const port::PortInfo& device, const std::string& dpdk_version) {
    const bool lost = defect.place == "frame";
    const bool no_layer = lost || defect.place == "counter";
    profile::Sighting sighting{
        .signature = {lost ? profile::Direction::kPath : defect.direction,
                      no_layer ? "plain." + defect.place : layer_of(defect.place), defect.title},
        .driver = device.evidence == port::Evidence::kSimulated ? "" : device.driver,
        .dpdk = dpdk_version.substr(dpdk_version.find(' ') + 1)};
    std::set<std::uint16_t> ports;
    for (const std::size_t row : defect.rows) {
        if (defect.direction == profile::Direction::kTransmit) {
            ports.insert(run.sent[row].tunnel_port);
        }
    }
    if (ports.size() == 1 && *ports.begin() != 0) {
        sighting.tunnel_port = *ports.begin();
    }
    return sighting;
}

}  // namespace

std::string Defect::signature() const {
    std::string text = profile::name(direction);
    for (const std::string& part : {place, title}) {
        text += part.empty() ? "" : "." + part;
    }
    return text;
}

bool is_cause(const matrix::TxCellResult& result, const matrix::TxFinding& finding) {
    const auto causes = calibration::causes_of(result);
    return std::ranges::any_of(causes, [&](const calibration::Verdict& cause) {
        return cause.place == finding.place && cause.title == finding.title;
    });
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
    gather_sent(run, findings);
    gather_received(run, findings);
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

verdict::KnownErratum known_erratum(const profile::ErratumMatch& match) {
    verdict::KnownErratum erratum{
        .id = match.id, .title = match.title, .certainty = profile::name(match.certainty)};
    erratum.workaround = match.workaround.empty()
                             ? match.advice
                             : fmt::format("`{}`", fmt::join(match.workaround, "`; `"));
    if (!match.sources.empty()) {
        const profile::Source& source = match.sources.front();
        erratum.source = source.url.empty() ? source.reference : source.url;
    }
    return erratum;
}

void explain_by_errata(Findings& findings, const RowsRun& run,
                       const std::vector<profile::Erratum>& errata, const port::PortInfo& device,
                       const std::string& dpdk_version) {
    for (Defect& defect : findings.defects) {
        const auto matches =
            profile::match_errata(errata, sighting_of(defect, run, device, dpdk_version));
        for (std::size_t i = 0; i < std::min(matches.size(), kMostErrata); ++i) {
            defect.errata.push_back(known_erratum(matches[i]));
        }
    }
}

}  // namespace pathproof::truth
