#include "harness/truth/rows.h"

#include <rte_ethdev.h>
#include <rte_mbuf_core.h>

#include <algorithm>

#include "dataplane/base/contains.h"
#include "dataplane/port/device.h"
#include "dataplane/softnic/engine.h"
#include "harness/truth/batch.h"
#include "harness/truth/kernel_exchange.h"

namespace pathproof::truth {
namespace {

using matrix::Direction;
using matrix::Probe;

constexpr std::size_t kBatchFrames = 192;
constexpr std::size_t kBatchBytes = 1u << 20;
constexpr std::uint16_t kMostBuffers = 16;
constexpr frame::TunnelPorts kNoTunnels(frame::IpTunnels::kIgnored);

matrix::DutLimits limits_of(const port::PortInfo& port, std::uint32_t mtu) {
    return matrix::dpdk_port_limits(mtu,
                                    contains(port.tx_offloads, "MULTI_SEGS") ? kMostBuffers : 1);
}

// The checksums that the port is asked to make.
std::vector<std::string> asked_of(const matrix::Row& row, std::uint64_t flags) {
    const std::string depth = row.encap == matrix::Encap::kNone ? "plain." : "inner.";
    std::vector<std::string> asked;
    const auto add = [&](bool wanted, std::string place) {
        if (wanted) {
            asked.push_back(std::move(place));
        }
    };
    const std::uint64_t l4 = flags & RTE_MBUF_F_TX_L4_MASK;
    add(l4 == RTE_MBUF_F_TX_UDP_CKSUM || (flags & RTE_MBUF_F_TX_UDP_SEG) != 0, depth + "udp");
    add(l4 == RTE_MBUF_F_TX_TCP_CKSUM || (flags & RTE_MBUF_F_TX_TCP_SEG) != 0, depth + "tcp");
    add(l4 == RTE_MBUF_F_TX_SCTP_CKSUM, depth + "sctp");
    add((flags & RTE_MBUF_F_TX_IP_CKSUM) != 0, depth + "ipv4");
    add((flags & RTE_MBUF_F_TX_OUTER_IP_CKSUM) != 0, "outer.ipv4");
    add((flags & RTE_MBUF_F_TX_OUTER_UDP_CKSUM) != 0, "outer.udp");
    return asked;
}

// Asks a port that knows no tunnels for inner checksums (DPDK programmer's guide, "Mbuf Library",
// meta information): all headers before the inner IP header count as l2_len. Returns whether they
// fit the seven bits of the field.
bool ask_without_tunnel(frame::OffloadRequest& request) {
    constexpr std::uint64_t kTunnelFlags =
        RTE_MBUF_F_TX_TUNNEL_MASK | RTE_MBUF_F_TX_OUTER_IPV4 | RTE_MBUF_F_TX_OUTER_IPV6;
    request.mbuf_flags &= ~kTunnelFlags;
    request.l2_len =
        static_cast<std::uint16_t>(request.l2_len + request.outer_l2_len + request.outer_l3_len);
    request.outer_l2_len = 0;
    request.outer_l3_len = 0;
    return frame::check(request).has_value();
}

// Offloads that the request needs and the port does not offer.
std::vector<std::string> lacking_for(const frame::OffloadRequest& request,
                                     const port::PortInfo& device) {
    std::vector<std::string> lacking;
    for (const std::string& offload : port::tx_names(request.port_offloads)) {
        if (!contains(device.tx_offloads, offload)) {
            lacking.push_back(offload);
        }
    }
    return lacking;
}

// Adapts the probe to the terms that the port understands.
void suit(Probe& probe, const port::PortInfo& device, std::vector<std::string>& lacking) {
    const bool knows_tunnels = contains(device.tx_offloads, "OUTER_IPV4_CKSUM");
    for (matrix::HandedFrame& handed : probe.handed) {
        const bool tunnelled = handed.request.outer_l3_len != 0;
        if (tunnelled && !knows_tunnels && !ask_without_tunnel(handed.request) && lacking.empty()) {
            lacking.push_back("OUTER_IPV4_CKSUM");
        }
    }
}

// A plain datagram to a tunnel's port: a receiver that goes by the port calls it an outer packet,
// one that looks for inner headers an only one. Both say it of the same checksums.
judge::RxClaims of_the_only_packet(judge::RxClaims claims) {
    const auto either = [](judge::RxClaim a, judge::RxClaim b) {
        return a == judge::RxClaim::kUnknown ? b : a;
    };
    return {.ip = either(claims.ip, claims.outer_ip), .l4 = either(claims.l4, claims.outer_l4)};
}

bool to_tunnel_port(const matrix::Row& row) {
    return row.tunnel_port == matrix::TunnelPort::kPlainTo4789 ||
           row.tunnel_port == matrix::TunnelPort::kPlainTo4790 ||
           row.tunnel_port == matrix::TunnelPort::kPlainTo6081;
}

bool has_inner(const judge::FrameVerdict& verdict) {
    const auto all = verdict.all();
    return std::ranges::any_of(all, [](const judge::ChecksumFinding& finding) {
        return finding.layer.depth == judge::Depth::kInner;
    });
}

judge::RxLayer layer_of(const judge::Layer& layer) {
    const bool outer = layer.depth == judge::Depth::kOuter;
    if (layer.protocol == judge::Protocol::kIpv4) {
        return outer ? judge::RxLayer::kOuterIp : judge::RxLayer::kIp;
    }
    return outer ? judge::RxLayer::kOuterL4 : judge::RxLayer::kL4;
}

void count_claims(RxRow& row, const judge::FrameVerdict& verdict, const judge::RxClaims& claims) {
    const auto claimed = by_layer(claims);
    for (const judge::ChecksumFinding& finding : verdict.all()) {
        const bool bad = finding.state == judge::ChecksumState::kBad;
        const auto layer = static_cast<std::size_t>(layer_of(finding.layer));
        // An mbuf has no word for a good outer IP header.
        const bool can_say = layer != static_cast<std::size_t>(judge::RxLayer::kOuterIp) || bad;
        if (!can_say || (!bad && finding.state != judge::ChecksumState::kGood)) {
            continue;
        }
        ClaimCount& count = row.claims[layer][static_cast<std::size_t>(finding.layer.protocol)];
        ++count.verifiable;
        count.claimed += claimed[layer] != judge::RxClaim::kUnknown ? 1 : 0;
    }
}

// The frames of one direction, gathered into batches of rows.
class Rows {
  public:
    Rows(const Path& path, const RowSettings& settings, RowsRun& run)
        : path_(path), settings_(settings), tunnels_(tunnels_read_by(path.device)), run_(run) {}

    // Callback after each batch with the number of rows done.
    using Done = std::function<void(std::size_t)>;
    Status send(const matrix::Matrix& matrix, const Done& done);
    Status receive(const matrix::Matrix& matrix, const Done& done);

  private:
    Result<std::vector<Probe>> probes_of(const matrix::ProbeMaker& maker, const matrix::Row& row,
                                         std::size_t number) const;
    // Returns whether the probes of a row, given by its number, go out; it may adapt them to the
    // port.
    using Wanted = std::function<bool(std::size_t, std::vector<Probe>&)>;
    // Takes each probe and what became of it, by number of its row.
    using Judge = std::function<void(std::size_t, const Probe&, const ProbeOutcome&)>;
    Status exchange(const matrix::Matrix& matrix, const Wanted& wanted, const Judge& judged,
                    const Done& done);
    void object(const std::string& objection) {
        if (!contains(run_.objections, objection)) {
            run_.objections.push_back(objection);
        }
    }
    void judge_received(RxRow& row, matrix::RxCell& cell, const Probe& probe,
                        const ProbeOutcome& outcome);

    const Path& path_;
    const RowSettings& settings_;
    const frame::TunnelPorts tunnels_;  // as the port under test reads them
    RowsRun& run_;
};

Result<std::vector<Probe>> Rows::probes_of(const matrix::ProbeMaker& maker, const matrix::Row& row,
                                           std::size_t number) const {
    std::vector<Probe> probes;
    for (std::uint32_t index = 0; index < settings_.probes; ++index) {
        auto probe = TRY(maker.make(row, {static_cast<std::uint32_t>(number), index}));
        probes.push_back(settings_.plain ? matrix::as_plain(std::move(probe)) : std::move(probe));
    }
    return probes;
}

std::size_t bytes_of(const std::vector<Probe>& probes) {
    std::size_t bytes = 0;
    for (const Probe& probe : probes) {
        for (const matrix::FrameBytes& frame : probe.intended) {
            bytes += frame.size();
        }
    }
    return bytes;
}

bool is_full(const std::vector<Probe>& probes) {
    return probes.size() >= kBatchFrames || bytes_of(probes) >= kBatchBytes;
}

Status Rows::exchange(const matrix::Matrix& matrix, const Wanted& wanted, const Judge& judged,
                      const Done& done) {
    const bool sends = matrix.direction == Direction::kTransmit;
    const matrix::ProbeMaker maker(matrix.limits, matrix.direction, {}, settings_.seed);
    std::vector<Probe> waiting;
    for (std::size_t number = 0; number < matrix.rows.size(); ++number) {
        auto probes = TRY(probes_of(maker, matrix.rows[number], number));
        if (wanted(number, probes)) {
            std::ranges::move(probes, std::back_inserter(waiting));
        }
        if (!is_full(waiting) && number + 1 < matrix.rows.size()) {
            continue;
        }
        if (!waiting.empty()) {
            const auto outcome = TRY(exchange_batch(
                path_.exchange, sends ? Way::kFromDevice : Way::kToDevice, maker, waiting));
            std::ranges::for_each(outcome.objections,
                                  [&](const std::string& text) { object(text); });
            for (std::size_t i = 0; i < waiting.size(); ++i) {
                judged(waiting[i].label.row, waiting[i], outcome.probes[i]);
            }
            waiting.clear();
        }
        done(number + 1);
    }
    return {};
}

Status Rows::send(const matrix::Matrix& matrix, const Done& done) {
    const port::PortInfo& device = path_.device;
    const TagType tag = tag_type_at(path_.far);
    std::vector<matrix::TxCell> cells;
    const Judge judge = [&](std::size_t row, const Probe& probe, const ProbeOutcome& outcome) {
        if (!outcome.refusal.empty()) {
            cells[row].refused(probe, outcome.refusal);
            return;
        }
        std::vector<matrix::FrameBytes> wire;
        for (std::size_t i = 0; i < outcome.arrived.size(); ++i) {
            const bool surplus = i >= probe.intended.size();
            wire.push_back(as_on_the_wire(outcome.arrived[i],
                                          surplus ? matrix::FrameBytes() : probe.intended[i], tag));
        }
        cells[row].add(probe, wire);
    };
    const Wanted wanted = [&](std::size_t number, std::vector<Probe>& probes) {
        const matrix::Row& row = matrix.rows[number];
        cells.emplace_back(row);
        TxRow sent{.row = row};
        const frame::OffloadRequest& request = probes.front().handed.front().request;
        sent.offloads = port::tx_names(request.port_offloads);
        sent.asked = asked_of(row, request.mbuf_flags);
        sent.lacking = lacking_for(request, device);
        if (is_put_together(row, path_.far)) {
            sent.lacking.push_back("a far port that leaves IPv4 fragments alone");
        }
        for (Probe& probe : probes) {
            suit(probe, device, sent.lacking);
        }
        run_.sent.push_back(std::move(sent));
        return run_.sent.back().lacking.empty();
    };
    TRY(exchange(matrix, wanted, judge, done));
    for (std::size_t number = 0; number < cells.size(); ++number) {
        run_.sent[number].result = cells[number].result();
    }
    return {};
}

// Several frames of one probe are fragments: those whose bytes are equal first, the others in
// order.
std::vector<const traffic::ArrivedFrame*> paired(const Probe& probe, const ProbeOutcome& outcome,
                                                 TagType tag) {
    std::vector<const traffic::ArrivedFrame*> arrived(probe.handed.size());
    std::vector<bool> taken(outcome.arrived.size());
    const auto pair_up = [&](auto fits) {
        for (std::size_t i = 0; i < probe.handed.size(); ++i) {
            for (std::size_t n = 0; n < taken.size() && arrived[i] == nullptr; ++n) {
                if (!taken[n] && fits(probe.handed[i].bytes, outcome.arrived[n])) {
                    taken[n] = true;
                    arrived[i] = &outcome.arrived[n];
                }
            }
        }
    };
    pair_up([&](const matrix::FrameBytes& sent, const traffic::ArrivedFrame& came) {
        return as_on_the_wire(came, sent, tag) == sent;
    });
    pair_up([](const auto&, const auto&) { return true; });
    return arrived;
}

void Rows::judge_received(RxRow& row, matrix::RxCell& cell, const Probe& probe,
                          const ProbeOutcome& outcome) {
    const TagType tag = tag_type_at(path_.device);
    const auto arrived = paired(probe, outcome, tag);
    for (std::size_t i = 0; i < probe.handed.size(); ++i) {
        const matrix::FrameBytes& sent = probe.handed[i].bytes;
        judge::FrameVerdict verdict = judge::verify(sent, tunnels_);
        const bool one_packet = to_tunnel_port(row.row) && !has_inner(verdict);
        const frame::TunnelPorts& tunnels = one_packet ? kNoTunnels : tunnels_;
        verdict = one_packet ? judge::verify(sent, tunnels) : verdict;
        matrix::Arrival arrival;
        if (arrived[i] != nullptr) {
            arrival.bytes = as_on_the_wire(*arrived[i], sent, tag);
            arrival.claims = matrix::claims_of(softnic::verdict_of(arrived[i]->mbuf_flags));
            arrival.claims = one_packet ? of_the_only_packet(arrival.claims) : arrival.claims;
            count_claims(row, verdict, arrival.claims);
            run_.called_bad += contains(by_layer(arrival.claims), judge::RxClaim::kBad) ? 1 : 0;
            run_.seen_bad += verdict.any_bad() ? 1 : 0;
        }
        cell.add(probe.label, sent, tunnels, arrival);
    }
}

Status Rows::receive(const matrix::Matrix& matrix, const Done& done) {
    std::vector<matrix::RxCell> cells(matrix.rows.size());
    for (const matrix::Row& row : matrix.rows) {
        run_.received.push_back({.row = row});
    }
    const Judge judge = [&](std::size_t row, const Probe& probe, const ProbeOutcome& outcome) {
        if (!outcome.refusal.empty()) {
            object(fmt::format("the far port did not send: {}", outcome.refusal));
            return;
        }
        judge_received(run_.received[row], cells[row], probe, outcome);
    };
    const Wanted wanted = [&](std::size_t number, const std::vector<Probe>&) {
        return !is_put_together(matrix.rows[number], path_.device);
    };
    TRY(exchange(matrix, wanted, judge, done));
    for (std::size_t number = 0; number < cells.size(); ++number) {
        run_.received[number].result = cells[number].result();
    }
    return {};
}

}  // namespace

std::uint64_t RowsRun::frames() const {
    std::uint64_t frames = 0;
    for (const TxRow& row : sent) {
        frames += row.result.seen;
    }
    for (const RxRow& row : received) {
        frames += row.result.frames;
    }
    return frames;
}

frame::TunnelPorts tunnels_read_by(const port::PortInfo& port) {
    if (port.driver == kKernelDriver) {
        return frame::TunnelPorts(frame::IpTunnels::kFollowed);
    }
    const bool outer = contains(port.rx_offloads, "OUTER_IPV4_CKSUM") ||
                       contains(port.rx_offloads, "OUTER_UDP_CKSUM");
    return outer ? frame::TunnelPorts::well_known() : kNoTunnels;
}

Result<RowsRun> run_rows(const Path& path, const RowSettings& settings,
                         const RowProgress& progress) {
    const matrix::DutLimits limits = limits_of(path.device, settings.mtu);
    const matrix::Matrix sent =
        matrix::make_matrix(limits, Direction::kTransmit, settings.strength, settings.seed);
    matrix::Matrix received =
        settings.only_also
            ? matrix::Matrix{.direction = Direction::kReceive, .limits = limits}
            : matrix::make_matrix(limits, Direction::kReceive, settings.strength, settings.seed);
    received.rows.insert(received.rows.end(), settings.also_received.begin(),
                         settings.also_received.end());
    for (matrix::Row& row : received.rows) {
        row.rx_input = settings.plain ? matrix::RxInput::kGood : row.rx_input;
        row.rx_mistake = settings.plain ? matrix::RxMistake::kNone : row.rx_mistake;
    }
    const std::size_t sends = settings.directions == Directions::kReceived ? 0 : sent.rows.size();
    const std::size_t receives =
        settings.directions == Directions::kSent ? 0 : received.rows.size();
    const auto tell = [&](std::size_t done) { progress(done, sends + receives); };
    RowsRun run{.tunnels = tunnels_read_by(path.device)};
    Rows rows(path, settings, run);
    Status done;
    if (sends != 0) {
        done = rows.send(sent, tell);
    }
    if (done && receives != 0) {
        done = rows.receive(received, [&](std::size_t number) { tell(sends + number); });
    }
    if (!done) {
        return pass_on(done.error());
    }
    return run;
}

}  // namespace pathproof::truth
