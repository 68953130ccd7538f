#include "dataplane/judge/field_map.h"

#include <algorithm>

#include "dataplane/base/be.h"
#include "dataplane/frame/packet_reader.h"

namespace pathproof::judge {
namespace {

using frame::Bytes;
using frame::FrameView;
using frame::Network;
using frame::PacketView;
using frame::Transport;

struct Entry {
    const char* name;
    std::uint32_t length;
    FieldKind kind = FieldKind::kHeader;
};
using Header = std::span<const Entry>;

constexpr Entry kEthernet[] = {{"eth.destination", 6}, {"eth.source", 6}};
constexpr Entry kIpv4[] = {{"ip.version_ihl", 1},  {"ip.tos", 1},
                           {"ip.total_length", 2}, {"ip.id", 2},
                           {"ip.fragment", 2},     {"ip.ttl", 1},
                           {"ip.protocol", 1},     {"ip.checksum", 2, FieldKind::kChecksum},
                           {"ip.source", 4},       {"ip.destination", 4}};
constexpr Entry kIpv6[] = {{"ip.class_and_flow", 4}, {"ip.payload_length", 2},
                           {"ip.next_header", 1},    {"ip.hop_limit", 1},
                           {"ip.source", 16},        {"ip.destination", 16}};
constexpr Entry kUdp[] = {{"udp.source_port", 2},
                          {"udp.destination_port", 2},
                          {"udp.length", 2},
                          {"udp.checksum", 2, FieldKind::kChecksum}};
constexpr Entry kUdpLite[] = {{"udplite.source_port", 2},
                              {"udplite.destination_port", 2},
                              {"udplite.coverage", 2},
                              {"udplite.checksum", 2, FieldKind::kChecksum}};
constexpr Entry kTcp[] = {{"tcp.source_port", 2}, {"tcp.destination_port", 2},
                          {"tcp.sequence", 4},    {"tcp.acknowledgement", 4},
                          {"tcp.data_offset", 1}, {"tcp.flags", 1},
                          {"tcp.window", 2},      {"tcp.checksum", 2, FieldKind::kChecksum},
                          {"tcp.urgent", 2}};
constexpr Entry kIcmp[] = {{"icmp.type", 1},
                           {"icmp.code", 1},
                           {"icmp.checksum", 2, FieldKind::kChecksum},
                           {"icmp.rest", 4}};
constexpr Entry kSctp[] = {{"sctp.source_port", 2},
                           {"sctp.destination_port", 2},
                           {"sctp.verification_tag", 4},
                           {"sctp.checksum", 4, FieldKind::kChecksum}};
constexpr Entry kVxlan[] = {
    {"flags", 1}, {"reserved", 2}, {"next_protocol", 1}, {"vni", 3}, {"reserved2", 1}};
constexpr Entry kGeneve[] = {
    {"version_and_length", 1}, {"flags", 1}, {"protocol", 2}, {"vni", 3}, {"reserved", 1}};

Header transport_header(Transport transport) {
    switch (transport) {
        case Transport::kUdp: return kUdp;
        case Transport::kUdpLite: return kUdpLite;
        case Transport::kTcp: return kTcp;
        case Transport::kIcmp:
        case Transport::kIcmpv6: return kIcmp;
        case Transport::kSctp: return kSctp;
        case Transport::kGre:
        case Transport::kNone:
        case Transport::kOther: break;
    }
    return {};
}

// Puts fields down one behind the other; no byte is left out and none is beyond the frame.
class FieldMap {
  public:
    FieldMap(Bytes frame, const FrameView& view) : frame_(frame), view_(view) {}

    std::vector<Field> make() && {
        const std::string outer = view_.has_inner ? "outer." : "";
        add_packet(view_.outer, outer);
        if (view_.has_inner) {
            add_tunnel();
            add_packet(view_.inner, "inner.");
            finish_packet(view_.inner, "inner.");
        }
        finish_packet(view_.outer, outer);
        return std::move(fields_);
    }

  private:
    void add(std::string name, std::size_t length, FieldKind kind = FieldKind::kHeader) {
        const std::size_t there = std::min(length, frame_.size() - at_);
        if (there > 0) {
            fields_.push_back({std::move(name), static_cast<std::uint32_t>(at_),
                               static_cast<std::uint32_t>(there), kind});
            at_ += there;
        }
    }
    void add_up_to(const std::string& name, std::size_t end, FieldKind kind = FieldKind::kHeader) {
        if (end > at_) {
            add(name, end - at_, kind);
        }
    }
    void add_header(const std::string& before, Header header) {
        for (const Entry& entry : header) {
            add(before + entry.name, entry.length, entry.kind);
        }
    }

    void add_ethernet(const PacketView& packet, const std::string& before) {
        if (!packet.has_ethernet) {
            return;
        }
        add_header(before, kEthernet);
        for (unsigned tag = 1; tag <= packet.vlans; ++tag) {
            add(before + "eth.vlan" + std::to_string(tag) + ".type", 2);
            add(before + "eth.vlan" + std::to_string(tag) + ".control", 2);
        }
        add(before + "eth.type", 2);
    }

    void add_packet(const PacketView& packet, const std::string& before) {
        add_ethernet(packet, before);
        if (packet.network == Network::kNone) {
            return;
        }
        const bool ipv4 = packet.network == Network::kIpv4;
        add_header(before, ipv4 ? Header(kIpv4) : Header(kIpv6));
        add_up_to(before + (ipv4 ? "ip.options" : "ip.extensions"),
                  packet.network_offset + packet.network_length);
        add_header(before, transport_header(packet.transport));
        if (packet.transport == Transport::kTcp) {
            add_up_to(before + "tcp.options", packet.payload_offset);
        } else if (packet.transport == Transport::kGre) {
            add_gre(packet, before);
        }
    }

    void add_gre(const PacketView& packet, const std::string& before) {
        const std::uint16_t flags = frame::view<Be16>(frame_, packet.transport_offset)->value();
        add(before + "gre.flags", 2);
        add(before + "gre.protocol", 2);
        if ((flags & frame::kGreChecksum) != 0) {
            add(before + "gre.checksum", 2, FieldKind::kChecksum);
            add(before + "gre.reserved", 2);
        }
        if ((flags & frame::kGreKey) != 0) {
            add(before + "gre.key", 4);
        }
        if ((flags & frame::kGreSequence) != 0) {
            add(before + "gre.sequence", 4);
        }
    }

    void add_tunnel() {
        const bool geneve = view_.tunnel == frame::Tunnel::kGeneve;
        if (geneve || view_.tunnel == frame::Tunnel::kVxlan ||
            view_.tunnel == frame::Tunnel::kVxlanGpe) {
            add_header("tunnel.", geneve ? Header(kGeneve) : Header(kVxlan));
            add_up_to("tunnel.options", view_.tunnel_offset + view_.tunnel_length);
        }
    }

    // Adds the fields behind the headers: payload, the rest of the IP packet, Ethernet padding.
    void finish_packet(const PacketView& packet, const std::string& before) {
        if (packet.network == Network::kNone) {
            add_up_to(before + "payload", before == "inner." ? carrier_end() : frame_.size(),
                      FieldKind::kPayload);
            return;
        }
        const std::size_t data_end = packet.transport_length == 0
                                         ? packet.network_end
                                         : packet.transport_offset + packet.transport_length;
        add_up_to(before + "payload", data_end, FieldKind::kPayload);
        add_up_to(before + "ip.rest", packet.network_end, FieldKind::kPayload);
        add_up_to(before + "trailer", packet.network_end + packet.trailer_length,
                  FieldKind::kTrailer);
    }
    std::size_t carrier_end() const {
        const PacketView& outer = view_.outer;
        return outer.transport_length == 0 ? outer.network_end
                                           : outer.transport_offset + outer.transport_length;
    }

    Bytes frame_;
    const FrameView& view_;
    std::vector<Field> fields_;
    std::size_t at_ = 0;
};

}  // namespace

std::vector<Field> fields_of(std::span<const std::uint8_t> frame, const frame::FrameView& view) {
    return FieldMap(frame, view).make();
}

std::uint64_t value_of(std::span<const std::uint8_t> frame, const Field& field) {
    std::uint64_t value = 0;
    const std::size_t length = std::min<std::size_t>(field.length, sizeof value);
    for (std::size_t i = 0; i < length && field.offset + i < frame.size(); ++i) {
        value = value << 8 | frame[field.offset + i];
    }
    return value;
}

}  // namespace pathproof::judge
