#include "dataplane/pairs/query_frames.h"

#include "dataplane/base/random.h"

namespace pathproof::pairs {
namespace {

// The DNS id of a query: drawn from the seed, and the same in every run with it.
std::uint16_t query_id(std::uint64_t seed, std::uint64_t number) {
    return static_cast<std::uint16_t>(mixed(seed * 0x9e3779b97f4a7c15 + number));
}

frame::TunnelSpec tunnel_spec(const VxlanCarrier& carrier) {
    frame::TunnelSpec tunnel;
    tunnel.vni = carrier.vni;
    tunnel.outer.source_mac = carrier.source_mac;
    tunnel.outer.destination_mac = carrier.destination_mac;
    tunnel.outer.source = carrier.source;
    tunnel.outer.destination = carrier.destination;
    tunnel.outer.transport_checksum =
        carrier.udp_checksum ? frame::ChecksumMode::kSoftware : frame::ChecksumMode::kZero;
    return tunnel;
}

}  // namespace

Result<PairBook> PairBook::make(const PairPlan& plan) {
    // All names are of one length: what holds for the first holds for all.
    TRY(doing(frame::sequence_name(0, plan.suffix), "query names under '{}'", plan.suffix));
    const auto suffix =
        TRY(doing(frame::DnsName::from_text(plan.suffix), "query names under '{}'", plan.suffix));
    return PairBook(plan, suffix);
}

judge::QueryFacts PairBook::query(std::uint64_t number) const noexcept {
    const std::size_t member = number % 2;
    return {.client = plan_.client(number / 2, member),
            .id = query_id(plan_.seed, number),
            .qtype = plan_.members[member].qtype};
}

frame::FrameSpec frame_spec(const PairMember& member, const frame::Endpoint& service) {
    frame::FrameSpec spec;
    spec.packet.source_mac = member.source_mac;
    spec.packet.destination_mac = member.destination_mac;
    spec.packet.source = {member.first_client, 0};
    spec.packet.destination = service;
    if (member.carrier) {
        spec.tunnel = tunnel_spec(*member.carrier);
    }
    return spec;
}

}  // namespace pathproof::pairs
