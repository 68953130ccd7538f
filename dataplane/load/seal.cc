#include "dataplane/load/seal.h"

#include <rte_ip.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "dataplane/frame/template.h"
#include "dataplane/frame/transport_shape.h"

namespace pathproof::load {
namespace {

using frame::ChecksumMode;
using frame::PartialSum;

void store_word(std::uint8_t* at, std::uint16_t host) {
    at[0] = static_cast<std::uint8_t>(host >> 8);
    at[1] = static_cast<std::uint8_t>(host);
}

std::uint16_t load_word(const std::uint8_t* at) {
    return static_cast<std::uint16_t>(at[0] << 8 | at[1]);
}

// Returns the destination address that the pseudo-header has (RFC 8200 section 8.1).
const frame::IpAddress& final_destination(const frame::PacketSpec& packet) {
    const bool routed =
        std::ranges::find(packet.extensions, frame::Extension::kRouting) != packet.extensions.end();
    return routed ? packet.final_destination : packet.destination.address;
}

frame::IpAddress source_address(const std::uint8_t* bytes, const frame::PacketSpec& packet,
                                const frame::PacketLayout& layout) {
    frame::IpAddress address{.family = packet.source.address.family, .bytes = {}};
    const std::size_t offset =
        is_ipv4(packet) ? offsetof(rte_ipv4_hdr, src_addr) : offsetof(rte_ipv6_hdr, src_addr);
    std::memcpy(address.bytes.data(), bytes + layout.network + offset, address.size());
    return address;
}

// A packet in a frame whose checksum fields are being filled.
class PacketSeal {
  public:
    PacketSeal(std::uint8_t* bytes, const frame::FrameSpec& spec, const frame::PacketSpec& packet,
               const frame::PacketLayout& layout)
        : bytes_(bytes), spec_(spec), packet_(packet), layout_(layout) {
        if (is_ipv4(packet)) {
            ip_field_ = bytes + layout.network + offsetof(rte_ipv4_hdr, hdr_checksum);
        }
        if (const auto offset = shape_of(packet).checksum_offset) {
            field_ = bytes + layout.transport + *offset;
        }
    }

    // Fields that a NIC completes are given what it will put there, so that an envelope's sum
    // counts it; leave_to_nic() puts in what the NIC wants to find.
    void fill() {
        if (ip_field_ != nullptr) {
            fill_ip_header();
        }
        if (field_ != nullptr) {
            fill_transport();
        }
    }
    void leave_to_nic() {
        if (ip_field_ != nullptr && packet_.ip_checksum == ChecksumMode::kOffload) {
            store_word(ip_field_, 0);
        }
        if (field_ != nullptr && packet_.transport_checksum == ChecksumMode::kOffload) {
            store_word(field_, frame::folded(pseudo_sum(bytes_, packet_, layout_)));
        }
    }

  private:
    std::uint16_t value_of(ChecksumMode mode, const frame::FieldValues& values) const {
        return mode == ChecksumMode::kOffload ? values.right : frame::field_value(mode, values);
    }
    void fill_ip_header() {
        store_word(ip_field_, 0);
        const PartialSum sum = frame::sum_bytes({bytes_ + layout_.network, network_bytes(packet_)});
        store_word(ip_field_, value_of(packet_.ip_checksum, {.right = frame::checksum_of(sum),
                                                             .offload = 0,
                                                             .stale = 0,
                                                             .seed = spec_.seed}));
    }
    void fill_transport() {
        store_word(field_, 0);
        const PartialSum pseudo = pseudo_sum(bytes_, packet_, layout_);
        const PartialSum sum = frame::sum_bytes(
            {bytes_ + layout_.transport, static_cast<std::size_t>(layout_.end - layout_.transport)},
            pseudo);
        const std::uint16_t port = load_word(bytes_ + layout_.transport);
        const PartialSum stale =
            sum + frame::without_word(port) + frame::sum_word(spec_.stale_source_port);
        store_word(field_, value_of(packet_.transport_checksum, {.right = checksum(sum),
                                                                 .offload = frame::folded(pseudo),
                                                                 .stale = checksum(stale),
                                                                 .seed = spec_.seed}));
    }
    std::uint16_t checksum(PartialSum sum) const {
        return packet_.transport == frame::Transport::kUdp ? frame::udp_checksum_of(sum)
                                                           : frame::checksum_of(sum);
    }

    std::uint8_t* bytes_;
    const frame::FrameSpec& spec_;
    const frame::PacketSpec& packet_;
    const frame::PacketLayout& layout_;
    std::uint8_t* ip_field_ = nullptr;
    std::uint8_t* field_ = nullptr;
};

}  // namespace

frame::PartialSum pseudo_sum(const std::uint8_t* bytes, const frame::PacketSpec& packet,
                             const frame::PacketLayout& layout) noexcept {
    const frame::TransportShape shape = shape_of(packet);
    if (shape.pseudo_header == frame::PseudoHeader::kNone) {
        return 0;
    }
    return frame::pseudo_header_sum(source_address(bytes, packet, layout),
                                    final_destination(packet), shape.protocol,
                                    static_cast<std::uint32_t>(layout.end - layout.transport));
}

void seal(std::uint8_t* bytes, const frame::FrameSpec& spec,
          const frame::FrameLayout& layout) noexcept {
    PacketSeal packet(bytes, spec, spec.packet, layout.packet);
    packet.fill();
    if (spec.tunnel) {
        PacketSeal outer(bytes, spec, spec.tunnel->outer, layout.outer);
        outer.fill();
        outer.leave_to_nic();
    }
    packet.leave_to_nic();
}

}  // namespace pathproof::load
