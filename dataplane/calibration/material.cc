#include "dataplane/calibration/material.h"

#include <array>

#include "dataplane/base/contains.h"
#include "dataplane/calibration/marker.h"

namespace pathproof::calibration {
namespace {

// Faults show unmixed where a frame has one thing out of the ordinary; in the rows of an array,
// where every other dimension is drawn, a condition may never meet a payload that tells.
std::vector<matrix::Row> one_at_a_time() {
    using matrix::Row;
    std::vector<Row> rows;
    const Row plain{.handover = matrix::Handover::kInner};
    const Row tunnel{.encap = matrix::Encap::kVxlanOverIpv4,
                     .outer_checksum = matrix::OuterChecksum::kComputed,
                     .tunnel_port = matrix::TunnelPort::k4789,
                     .handover = matrix::Handover::kBoth};
    for (const matrix::Dimension dimension :
         {matrix::Dimension::kOuterChecksum, matrix::Dimension::kTunnelPort,
          matrix::Dimension::kNat, matrix::Dimension::kVlan, matrix::Dimension::kInnerNetwork,
          matrix::Dimension::kInnerTransport, matrix::Dimension::kBuffers}) {
        for (std::size_t value = 0; value < matrix::value_names(dimension).size(); ++value) {
            for (const Row& base : {plain, tunnel}) {
                auto values = matrix::values_of(base);
                values[matrix::index_of(dimension)] = static_cast<std::uint8_t>(value);
                rows.push_back(matrix::row_of(values));
            }
        }
    }
    for (const matrix::Encap geneve : {matrix::Encap::kGeneve40, matrix::Encap::kGeneve124}) {
        Row row = tunnel;
        row.encap = geneve;
        row.tunnel_port = matrix::TunnelPort::k6081;
        rows.push_back(row);
    }
    return rows;
}

void add_one_at_a_time(matrix::Matrix& matrix) {
    for (const matrix::Row& row : one_at_a_time()) {
        const bool there = contains(matrix.rows, row);
        if (!there && !matrix::objection(row, matrix.limits, matrix.direction)) {
            matrix.rows.push_back(row);
        }
    }
}

// `make` gives the frames of one probe of a row; a healthy NIC is there for it.
template <typename Frames, typename Make>
Status add_rows(std::vector<RowWith<Frames>>& rows, const matrix::Matrix& matrix,
                std::uint32_t probes, const Make& make) {
    for (std::uint32_t number = 0; number < matrix.rows.size(); ++number) {
        const matrix::Row& row = matrix.rows[number];
        RowWith<Frames> made{.row = row, .nic = nic_for(row), .probes = {}};
        softnic::SoftNic healthy(made.nic);
        for (std::uint32_t index = 0; index < probes; ++index) {
            Frames frames = TRY(make(row, matrix::Label{number, index}, healthy));
            made.probes.push_back(std::move(frames));
        }
        rows.push_back(std::move(made));
    }
    return {};
}

}  // namespace

softnic::NicLimits nic_for(const matrix::Row& row) {
    constexpr std::array<std::uint16_t, 5> kPorts = {4789, 8472, 4790, 6081, 8223};
    const frame::TunnelPorts tunnels = matrix::tunnels_of(row);
    softnic::NicLimits limits;
    limits.vxlan_ports.clear();
    limits.vxlan_gpe_ports.clear();
    limits.geneve_ports.clear();
    for (const std::uint16_t port : kPorts) {
        switch (tunnels.kind_of(port)) {
            case frame::Tunnel::kVxlan: limits.vxlan_ports.push_back(port); break;
            case frame::Tunnel::kVxlanGpe: limits.vxlan_gpe_ports.push_back(port); break;
            case frame::Tunnel::kGeneve: limits.geneve_ports.push_back(port); break;
            default: break;
        }
    }
    return limits;
}

Result<SentProbe> make_sent(const matrix::ProbeMaker& maker, const matrix::Row& row,
                            const matrix::Label& label, softnic::SoftNic& healthy) {
    matrix::Probe probe = TRY(maker.make(row, label));
    mark_fields(probe);
    SentProbe sent{.probe = std::move(probe), .frames = {}, .healthy = {}};
    softnic::TxResult result;
    for (const matrix::HandedFrame& handed : sent.probe.handed) {
        sent.frames.push_back(matrix::to_tx_frame(handed, sent.probe));
        healthy.transmit(sent.frames.back(), result);
        if (result.refusal != softnic::Refusal::kNone) {
            return fail(ErrorCode::kFailed, "row '{}': the software NIC refuses a frame: {}",
                        matrix::describe(row), softnic::sentence(result.refusal));
        }
        sent.healthy.push_back(result.frames);
    }
    return sent;
}

Result<Material> make_material(const CalibrationOptions& options) {
    const matrix::DutLimits limits = matrix::software_nic_limits();
    const auto rows_of = [&](matrix::Direction direction) {
        return matrix::make_matrix(limits, direction, options.strength, options.seed);
    };
    matrix::Matrix sent = rows_of(matrix::Direction::kTransmit);
    add_one_at_a_time(sent);
    const matrix::Matrix received = rows_of(matrix::Direction::kReceive);
    const matrix::ProbeMaker sender(limits, sent.direction, {}, options.seed);
    const matrix::ProbeMaker receiver(limits, received.direction, {}, options.seed);
    Material material{.feasible_tuples = sent.feasible_tuples + received.feasible_tuples};
    TRY(add_rows(material.send, sent, options.probes,
                 [&](const auto& row, const auto& label, softnic::SoftNic& healthy) {
                     return make_sent(sender, row, label, healthy);
                 }));
    TRY(add_rows(material.receive, received, options.probes,
                 [&](const auto& row, const auto& label, const softnic::SoftNic& /*healthy*/) {
                     return receiver.make(row, label);
                 }));
    return material;
}

}  // namespace pathproof::calibration
