#include "harness/scenario/offload_truth/rows.h"

#include <algorithm>
#include <array>

namespace pathproof::scenario {
namespace {

using namespace matrix;

constexpr std::array<const char*, kConditions> kNames = {
    "TSO",          "USO",  "nothing offloaded", "fragments", "tunnel outer",
    "tunnel inner", "VLAN", "options",           "plain UDP", "plain TCP"};
constexpr std::array<const char*, kConditions> kWords = {
    "tso",          "uso",  "software", "fragments", "tunnel-outer",
    "tunnel-inner", "vlan", "options",  "udp",       "tcp"};

bool is_tcp(const Row& row) {
    return row.transport == InnerTransport::kTcp || row.transport == InnerTransport::kTcpOptions;
}

// Whether a virtio_net_hdr can ask for the checksum that the row leaves to the device.
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

// The family of the packet whose checksum is left to the device.
bool left_over_ipv4(const Row& row) {
    return row.handover == Handover::kOuter ? row.encap != Encap::kVxlanOverIpv6 : is_ipv4(row);
}

bool has(const std::vector<agent::Feature>& features, const char* feature) {
    const auto found = std::ranges::find(features, feature, &agent::Feature::name);
    return found != features.end() && (found->available || found->active);
}

}  // namespace

const char* name(Condition condition) {
    return kNames[static_cast<std::size_t>(condition)];
}

const char* word(Condition condition) {
    return kWords[static_cast<std::size_t>(condition)];
}

Condition condition_of(const Row& row) {
    if (row.segmentation != Segmentation::kNone) {
        return row.segmentation == Segmentation::kUdp ? Condition::kUdpSegmentation
                                                      : Condition::kTcpSegmentation;
    }
    if (!asks_for_checksum(row)) {
        return Condition::kSoftware;
    }
    if (row.fragmentation != Fragmentation::kNone) {
        return Condition::kFragments;
    }
    if (row.encap != Encap::kNone) {
        return row.handover == Handover::kOuter ? Condition::kTunnelOuter : Condition::kTunnelInner;
    }
    if (row.vlan != Vlan::kNone) {
        return Condition::kVlan;
    }
    if (row.network != InnerNetwork::kIpv4 && row.network != InnerNetwork::kIpv6) {
        return Condition::kOptions;
    }
    return is_tcp(row) ? Condition::kTcp : Condition::kUdp;
}

std::vector<Row> plain_rows(Row row, std::initializer_list<RxInput> inputs) {
    std::vector<Row> rows;
    for (const InnerTransport transport : {InnerTransport::kUdp, InnerTransport::kTcp}) {
        for (const InnerNetwork network : {InnerNetwork::kIpv4, InnerNetwork::kIpv6}) {
            for (const Length length : {Length::k1, Length::k256, Length::kMtu}) {
                for (const RxInput input : inputs) {
                    row.network = network;
                    row.transport = transport;
                    row.length = length;
                    row.rx_input = input;
                    row.rx_mistake =
                        input == RxInput::kGood ? RxMistake::kNone : RxMistake::kPlusOne;
                    rows.push_back(row);
                }
            }
        }
    }
    return rows;
}

std::vector<std::string> features_used(const Row& row,
                                       const std::vector<agent::Feature>& features) {
    std::vector<std::string> used;
    const auto use = [&](const char* feature) {
        if (has(features, feature)) {
            used.emplace_back(feature);
        }
    };
    const bool segmented = row.segmentation != Segmentation::kNone;
    if (segmented || asks_for_checksum(row)) {
        use("tx-checksum-ip-generic");
        use(left_over_ipv4(row) ? "tx-checksum-ipv4" : "tx-checksum-ipv6");
    }
    if (row.segmentation == Segmentation::kUdp) {
        use("tx-udp-segmentation");
    } else if (segmented) {
        use(is_ipv4(row) ? "tx-tcp-segmentation" : "tx-tcp6-segmentation");
        use("tx-tcp-ecn-segmentation");  // the matrix's super-frames have CWR set
    }
    if (segmented) {
        use("tx-generic-segmentation");
    }
    if (segmented || row.buffers != Buffers::kOne) {
        use("tx-scatter-gather");
    }
    return used;
}

const std::vector<Untestable>& untestable_features() {
    static constexpr const char* kNoTunnel =
        "a virtio_net_hdr on a packet socket describes no super-frame in a tunnel";
    static constexpr const char* kVxlanDevice =
        "no frame of a packet socket makes use of it: see the table of super-frames in a VXLAN "
        "tunnel of the kernel";
    static const std::vector<Untestable> all = {
        {"tx-checksum-sctp", "a virtio_net_hdr cannot ask for a CRC32c"},
        {"tx-tcp-mangleid-segmentation",
         "a virtio_net_hdr cannot allow the IPv4 identification to stand still"},
        {"tx-vlan-hw-insert", "a virtio_net_hdr has no tag to insert"},
        {"tx-udp_tnl-segmentation", kVxlanDevice},
        {"tx-udp_tnl-csum-segmentation", kVxlanDevice},
        {"tx-gre-segmentation", kNoTunnel},
        {"tx-gre-csum-segmentation", kNoTunnel},
        {"tx-ipxip4-segmentation", kNoTunnel},
        {"tx-ipxip6-segmentation", kNoTunnel},
        {"tx-gso-partial", kNoTunnel}};
    return all;
}

}  // namespace pathproof::scenario
