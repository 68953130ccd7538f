#include "dataplane/matrix/matrix.h"

#include <fmt/format.h>

#include <algorithm>

namespace pathproof::matrix {
namespace {

Values to_values(const Row& row) {
    const auto values = values_of(row);
    return {values.begin(), values.end()};
}

Row to_row(const Values& values) {
    return row_of(std::span<const std::uint8_t, kDimensions>(values.data(), kDimensions));
}

// be2net's be_lancer_xmit_workarounds(): a short IPv4 frame, padded, whose tag the NIC inserts.
DirectedRow short_with_inserted_tag(Length length, Trailer trailer) {
    return {"be2net: total length of short frames changed by VLAN insertion (E41)",
            {.vlan = Vlan::kOneInserted,
             .length = length,
             .trailer = trailer,
             .handover = Handover::kInner}};
}

// RTL8168evl and others: the padding of a short frame summed as data.
DirectedRow short_and_padded(InnerTransport transport, Length length) {
    return {"padding that is not zero in the checksum of short frames (E41, E42)",
            {.transport = transport,
             .length = length,
             .trailer = Trailer::kNonZero,
             .handover = Handover::kInner}};
}

// hns3: UDP over IPv4 in VXLAN over IPv6 with every checksum offloaded.
DirectedRow all_offloads_over_ipv6(Handover handover) {
    return {"hns3: a wrong field changed in VXLAN over IPv6 with three offloads (E39)",
            {.encap = Encap::kVxlanOverIpv6,
             .outer_checksum = OuterChecksum::kComputed,
             .tunnel_port = TunnelPort::k4789,
             .handover = handover}};
}

}  // namespace

std::vector<DirectedRow> directed_rows(Direction direction) {
    if (direction == Direction::kReceive) {
        return {};
    }
    return {short_and_padded(InnerTransport::kUdp, Length::k2),
            short_and_padded(InnerTransport::kTcp, Length::k0),
            short_with_inserted_tag(Length::k1, Trailer::kZero),
            short_with_inserted_tag(Length::k17, Trailer::kNonZero),
            short_with_inserted_tag(Length::k2, Trailer::kNone),
            all_offloads_over_ipv6(Handover::kBoth),
            all_offloads_over_ipv6(Handover::kInner),
            // RFC 1624 section 3: a header whose checksum computes to 0, which equation 2 sends as
            // 0xffff.
            {"an IPv4 header checksum of 0 sent as 0xffff (E60)",
             {.values = PayloadValues::kSumsToZero, .handover = Handover::kInner}},
            {"inner and outer IPv4 header checksums of 0 sent as 0xffff (E60)",
             {.encap = Encap::kVxlanOverIpv4,
              .outer_checksum = OuterChecksum::kDisabled,
              .tunnel_port = TunnelPort::k4789,
              .values = PayloadValues::kSumsToZero,
              .handover = Handover::kBoth}},
            // An ESXi host that pads inner frames with what is left in memory.
            {"padding inside the tunnel in the checksum (E27)",
             {.encap = Encap::kVxlanOverIpv4,
              .outer_checksum = OuterChecksum::kDisabled,
              .tunnel_port = TunnelPort::k4789,
              .length = Length::k17,
              .trailer = Trailer::kInnerNonZero,
              .handover = Handover::kInner}},
            {"an end-around carry out of adding the carries in (RFC 1071 section 1)",
             {.values = PayloadValues::kAllOnes, .handover = Handover::kInner}}};
}

Matrix make_matrix(const DutLimits& limits, Direction direction, Strength strength,
                   std::uint64_t seed) {
    Matrix matrix{.direction = direction, .strength = strength, .limits = limits};
    std::vector<Values> directed;
    for (const DirectedRow& wanted : directed_rows(direction)) {
        if (const auto why = objection(wanted.row, limits, direction)) {
            matrix.left_out.push_back(fmt::format("{}: {}", wanted.why, *why));
        } else {
            directed.push_back(to_values(wanted.row));
        }
    }
    const CoveringArray array = cover(space_for(limits, direction), strength, seed, directed);
    matrix.feasible_tuples = array.feasible_tuples;
    std::ranges::transform(array.rows, std::back_inserter(matrix.rows), to_row);
    return matrix;
}

}  // namespace pathproof::matrix
