#include "dataplane/calibration/material.h"

#include <algorithm>
#include <array>

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
        const bool there = std::ranges::find(matrix.rows, row) != matrix.rows.end();
        if (!there && !matrix::objection(row, matrix.limits, matrix.direction)) {
            matrix.rows.push_back(row);
        }
    }
}

Status add_send_rows(Material& material, const MaterialOptions& options) {
    const matrix::DutLimits limits = matrix::software_nic_limits();
    matrix::Matrix rows =
        matrix::make_matrix(limits, matrix::Direction::kTransmit, options.strength, options.seed);
    add_one_at_a_time(rows);
    const matrix::ProbeMaker maker(limits, matrix::Direction::kTransmit, {}, options.seed);
    material.feasible_tuples += rows.feasible_tuples;
    for (std::uint32_t number = 0; number < rows.rows.size(); ++number) {
        const matrix::Row& row = rows.rows[number];
        SendRow made{.row = row, .nic = nic_for(row), .probes = {}};
        softnic::SoftNic healthy(made.nic);
        for (std::uint32_t index = 0; index < options.probes; ++index) {
            SentProbe probe = TRY(make_sent(maker, row, {number, index}, healthy));
            made.probes.push_back(std::move(probe));
        }
        material.send.push_back(std::move(made));
    }
    return {};
}

Status add_receive_rows(Material& material, const MaterialOptions& options) {
    const matrix::DutLimits limits = matrix::software_nic_limits();
    const matrix::Matrix rows =
        matrix::make_matrix(limits, matrix::Direction::kReceive, options.strength, options.seed);
    const matrix::ProbeMaker maker(limits, matrix::Direction::kReceive, {}, options.seed);
    material.feasible_tuples += rows.feasible_tuples;
    for (std::uint32_t number = 0; number < rows.rows.size(); ++number) {
        const matrix::Row& row = rows.rows[number];
        ReceiveRow made{.row = row, .nic = nic_for(row), .probes = {}};
        for (std::uint32_t index = 0; index < options.probes; ++index) {
            matrix::Probe probe = TRY(maker.make(row, {number, index}));
            made.probes.push_back(std::move(probe));
        }
        material.receive.push_back(std::move(made));
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

Result<Material> make_material(const MaterialOptions& options) {
    Material material;
    TRY(add_send_rows(material, options));
    TRY(add_receive_rows(material, options));
    return material;
}

}  // namespace pathproof::calibration
