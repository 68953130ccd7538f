#include "harness/truth/condition.h"

#include <array>

namespace pathproof::truth {
namespace {

using matrix::Encap;
using matrix::Fragmentation;
using matrix::Handover;
using matrix::InnerNetwork;
using matrix::InnerTransport;
using matrix::OuterChecksum;
using matrix::Row;
using matrix::Segmentation;
using matrix::Trailer;
using matrix::TunnelPort;
using matrix::Vlan;

constexpr std::array kByShape = {
    Column{Condition::kPlain, "plain", "plain"},
    Column{Condition::kOptions, "IP options, extension headers", "ip-options-extension-headers"},
    Column{Condition::kVlan, "VLAN", "vlan"},
    Column{Condition::kPadded, "short or padded", "short-or-padded"},
    Column{Condition::kFragments, "fragments", "fragments"},
    Column{Condition::kVxlanHome, "VXLAN on 4789", "vxlan-on-4789"},
    Column{Condition::kVxlanElsewhere, "VXLAN elsewhere", "vxlan-elsewhere"},
    Column{Condition::kGeneveGpe, "GENEVE, VXLAN-GPE", "geneve-vxlan-gpe"},
    Column{Condition::kOverIp, "GRE, IP in IP", "gre-ip-in-ip"},
    Column{Condition::kSegmentation, "TSO, USO", "tso-uso"}};

// Nobody asks a device for the checksum of a plain fragment, so there is no column of them.
constexpr std::array kByRequest = {Column{Condition::kTcpSegmentation, "TSO", "tso"},
                                   Column{Condition::kUdpSegmentation, "USO", "uso"},
                                   Column{Condition::kSoftware, "nothing offloaded", "software"},
                                   Column{Condition::kTunnelOuter, "tunnel outer", "tunnel-outer"},
                                   Column{Condition::kTunnelInner, "tunnel inner", "tunnel-inner"},
                                   Column{Condition::kVlan, "VLAN", "vlan"},
                                   Column{Condition::kOptions, "options", "options"},
                                   Column{Condition::kUdp, "plain UDP", "udp"},
                                   Column{Condition::kTcp, "plain TCP", "tcp"}};

bool is_tcp(const Row& row) {
    return row.transport == InnerTransport::kTcp || row.transport == InnerTransport::kTcpOptions;
}

bool is_vxlan(const Row& row) {
    return row.encap == Encap::kVxlanOverIpv4 || row.encap == Encap::kVxlanOverIpv6;
}

bool is_over_ip(const Row& row) {
    return row.encap == Encap::kIpInIp || row.encap == Encap::kGre;
}

bool fits(Condition condition, const Row& row) {
    const bool tunnelled = row.encap != Encap::kNone;
    switch (condition) {
        case Condition::kTcpSegmentation:
            return row.segmentation != Segmentation::kNone &&
                   row.segmentation != Segmentation::kUdp;
        case Condition::kUdpSegmentation: return row.segmentation == Segmentation::kUdp;
        case Condition::kSegmentation: return row.segmentation != Segmentation::kNone;
        case Condition::kSoftware: return !asks_for_checksum(row);
        case Condition::kVxlanHome: return is_vxlan(row) && row.tunnel_port == TunnelPort::k4789;
        case Condition::kVxlanElsewhere: return is_vxlan(row);
        case Condition::kGeneveGpe: return tunnelled && !is_vxlan(row) && !is_over_ip(row);
        case Condition::kOverIp: return is_over_ip(row);
        case Condition::kTunnelOuter: return tunnelled && row.handover == Handover::kOuter;
        case Condition::kTunnelInner: return tunnelled;
        case Condition::kFragments: return row.fragmentation != Fragmentation::kNone;
        case Condition::kPadded: return row.trailer != Trailer::kNone;
        case Condition::kVlan: return row.vlan != Vlan::kNone;
        case Condition::kOptions:
            return row.network != InnerNetwork::kIpv4 && row.network != InnerNetwork::kIpv6;
        case Condition::kTcp: return is_tcp(row);
        case Condition::kUdp:
        case Condition::kPlain: break;
    }
    return true;
}

}  // namespace

std::size_t Columns::index_of(const Row& row) const {
    std::size_t best = columns_.size();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        const Condition condition = columns_[i].condition;
        const bool earlier = best == columns_.size() || condition < columns_[best].condition;
        if (earlier && fits(condition, row)) {
            best = i;
        }
    }
    return best;
}

const Columns& columns_by_shape() {
    static constexpr Columns columns(kByShape);
    return columns;
}

const Columns& columns_by_request() {
    static constexpr Columns columns(kByRequest);
    return columns;
}

bool asks_for_checksum(const Row& row) {
    const bool sum = is_tcp(row) || row.transport == InnerTransport::kUdp;
    const bool outer = row.outer_checksum == OuterChecksum::kComputed;
    switch (row.handover) {
        case Handover::kSoftware: return false;
        case Handover::kInner: return sum;
        case Handover::kOuter: return outer;
        case Handover::kBoth: break;
    }
    return sum || outer;
}

}  // namespace pathproof::truth
