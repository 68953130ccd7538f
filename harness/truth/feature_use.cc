#include "harness/truth/feature_use.h"

#include <algorithm>

#include "harness/truth/condition.h"

namespace pathproof::truth {
namespace {

using matrix::Buffers;
using matrix::Encap;
using matrix::Handover;
using matrix::InnerNetwork;
using matrix::InnerTransport;
using matrix::is_ipv4;
using matrix::Length;
using matrix::Row;
using matrix::RxInput;
using matrix::RxMistake;
using matrix::Segmentation;

// The family of the packet whose checksum is left to the device.
bool left_over_ipv4(const Row& row) {
    return row.handover == Handover::kOuter ? row.encap != Encap::kVxlanOverIpv6 : is_ipv4(row);
}

bool has(const std::vector<agent::Feature>& features, const char* feature) {
    const auto found = std::ranges::find(features, feature, &agent::Feature::name);
    return found != features.end() && (found->available || found->active);
}

}  // namespace

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

}  // namespace pathproof::truth
