#include "dataplane/calibration/material.h"

#include <algorithm>
#include <array>

#include "dataplane/judge/verifier.h"

namespace pathproof::calibration {
namespace {

constexpr std::uint8_t kMarker = 0xbe;

// Writes the marker over a field that the NIC shall fill in. Those of software are as intended.
void mark(FrameBytes& bytes, const FrameBytes& intended, const judge::ChecksumFinding& finding) {
    const std::size_t at = finding.field_offset;
    const std::size_t size = judge::field_size(finding.layer.protocol);
    const bool there = at != 0 && at + size <= bytes.size() && at + size <= intended.size();
    if (there && !std::equal(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                             bytes.begin() + static_cast<std::ptrdiff_t>(at + size),
                             intended.begin() + static_cast<std::ptrdiff_t>(at))) {
        std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), size, kMarker);
    }
}

// The first intended frame has the headers of the super-frame; a tag to be inserted moves them.
void mark_fields(matrix::Probe& probe) {
    for (std::size_t i = 0; i < probe.handed.size(); ++i) {
        matrix::HandedFrame& handed = probe.handed[i];
        FrameBytes intended = probe.intended[i];
        if (handed.vlan_tci != 0) {
            constexpr std::ptrdiff_t kAddresses = 12;
            intended.erase(intended.begin() + kAddresses, intended.begin() + kAddresses + 4);
        }
        const judge::FrameVerdict verdict = judge::verify(intended, probe.tunnels);
        for (const judge::ChecksumFinding& finding : verdict.all()) {
            mark(handed.bytes, intended, finding);
        }
    }
}

Status add_send_rows(Material& material, const MaterialOptions& options) {
    const matrix::DutLimits limits = matrix::software_nic_limits();
    const matrix::Matrix rows =
        matrix::make_matrix(limits, matrix::Direction::kTransmit, options.strength, options.seed);
    const matrix::ProbeMaker maker(limits, matrix::Direction::kTransmit, {}, options.seed);
    material.feasible_tuples += rows.feasible_tuples;
    for (std::uint32_t number = 0; number < rows.rows.size(); ++number) {
        const matrix::Row& row = rows.rows[number];
        SendRow made{.row = row, .nic = nic_for(row), .probes = {}};
        softnic::SoftNic healthy(made.nic);
        for (std::uint32_t index = 0; index < options.probes; ++index) {
            Result<SentProbe> probe = make_sent(maker, row, {number, index}, healthy);
            if (!probe) {
                return pass_on(probe.error());
            }
            made.probes.push_back(std::move(*probe));
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
            Result<matrix::Probe> probe = maker.make(row, {number, index});
            if (!probe) {
                return pass_on(probe.error());
            }
            made.probes.push_back(std::move(*probe));
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
            case frame::Tunnel::kVxlan:
                limits.vxlan_ports.push_back(port);
                break;
            case frame::Tunnel::kVxlanGpe:
                limits.vxlan_gpe_ports.push_back(port);
                break;
            case frame::Tunnel::kGeneve:
                limits.geneve_ports.push_back(port);
                break;
            default:
                break;
        }
    }
    return limits;
}

Result<SentProbe> make_sent(const matrix::ProbeMaker& maker, const matrix::Row& row,
                            const matrix::Label& label, softnic::SoftNic& healthy) {
    Result<matrix::Probe> probe = maker.make(row, label);
    if (!probe) {
        return pass_on(probe.error());
    }
    mark_fields(*probe);
    SentProbe sent{.probe = std::move(*probe), .frames = {}, .healthy = {}};
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
    if (Status added = add_send_rows(material, options); !added) {
        return pass_on(added.error());
    }
    if (Status added = add_receive_rows(material, options); !added) {
        return pass_on(added.error());
    }
    return material;
}

}  // namespace pathproof::calibration
