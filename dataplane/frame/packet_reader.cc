#include "dataplane/frame/packet_reader.h"

#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <rte_ether.h>
#include <rte_icmp.h>
#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include <algorithm>

#include "dataplane/base/be.h"

namespace pathproof::frame {
namespace {

// Number of extension headers that are followed: as many as a sane sender writes (RFC 8200 section
// 4.1 lists seven). More are not followed, so that offsets of headers always fit 16 bits.
constexpr int kMostExtensionHeaders = 8;

std::uint16_t host(rte_be16_t value) {
    return __builtin_bswap16(value);
}
std::uint32_t host(rte_be32_t value) {
    return __builtin_bswap32(value);
}

// Reads an address of 16 bytes. In `rte_ipv6_hdr` it is an array up to DPDK 24.07 and a struct
// since.
IpAddress ipv6_address(const void* bytes) {
    IpAddress address{.family = Family::kIpv6, .bytes = {}};
    std::memcpy(address.bytes.data(), bytes, 16);
    return address;
}

// Reads the layers of one Ethernet frame, each step only if the one before found its header.
class PacketReader {
  public:
    // The packet lies in `frame` from `offset` on; `frame` ends where the packet's own carrier
    // ends.
    PacketReader(Bytes frame, std::uint32_t offset, PacketView& packet) noexcept
        : frame_(frame), packet_(packet), end_(static_cast<std::uint32_t>(frame.size())) {
        packet_.ethernet_offset = offset;
    }

    void read() noexcept {
        if (!read_ethernet()) {
            packet_.malformed = Malformed::kShortEthernet;
            return;
        }
        read_network();
    }

    void read_ip(std::uint16_t ethertype) noexcept {
        packet_.has_ethernet = false;
        packet_.ethertype = ethertype;
        packet_.network_offset = packet_.ethernet_offset;
        read_network();
    }

  private:
    void read_network() noexcept {
        if (packet_.ethertype == RTE_ETHER_TYPE_IPV4) {
            read_ipv4();
        } else if (packet_.ethertype == RTE_ETHER_TYPE_IPV6) {
            read_ipv6();
        }
    }

    bool read_ethernet() noexcept {
        const auto header = view<rte_ether_hdr>(frame_, packet_.ethernet_offset);
        if (!header) {
            return false;
        }
        packet_.ethertype = host(header->ether_type);
        packet_.network_offset = packet_.ethernet_offset + sizeof(rte_ether_hdr);
        while (packet_.vlans < packet_.vlan.size() && is_vlan(packet_.ethertype)) {
            const auto tag = view<rte_vlan_hdr>(frame_, packet_.network_offset);
            if (!tag) {
                return false;
            }
            packet_.vlan[packet_.vlans++] = host(tag->vlan_tci);
            packet_.ethertype = host(tag->eth_proto);
            packet_.network_offset += sizeof(rte_vlan_hdr);
        }
        return true;
    }

    void read_ipv4() noexcept {
        const auto header = view<rte_ipv4_hdr>(frame_, packet_.network_offset);
        if (!header || header->version_ihl >> 4 != 4) {
            packet_.malformed = Malformed::kShortIp;
            return;
        }
        const std::uint32_t length = (header->version_ihl & 0xfu) * 4;
        if (length < sizeof(rte_ipv4_hdr) || length > end_ - packet_.network_offset) {
            packet_.malformed = Malformed::kShortIp;
            return;
        }
        packet_.network = Network::kIpv4;
        packet_.network_length = length;
        packet_.protocol = header->next_proto_id;
        packet_.source = IpAddress::v4(host(header->src_addr));
        packet_.destination = IpAddress::v4(host(header->dst_addr));
        packet_.final_destination = packet_.destination;
        packet_.final_destination_known = true;
        packet_.fragment = fragment_of(host(header->fragment_offset) & RTE_IPV4_HDR_OFFSET_MASK,
                                       host(header->fragment_offset) & RTE_IPV4_HDR_MF_FLAG);
        end_network(host(header->total_length), length);
        read_transport();
    }

    void read_ipv6() noexcept {
        const auto header = view<rte_ipv6_hdr>(frame_, packet_.network_offset);
        if (!header || host(header->vtc_flow) >> 28 != 6) {
            packet_.malformed = Malformed::kShortIp;
            return;
        }
        packet_.network = Network::kIpv6;
        packet_.network_length = sizeof(rte_ipv6_hdr);
        packet_.protocol = header->proto;
        packet_.source = ipv6_address(&header->src_addr);
        packet_.destination = ipv6_address(&header->dst_addr);
        packet_.final_destination = packet_.destination;
        packet_.final_destination_known = true;
        end_network(sizeof(rte_ipv6_hdr) + host(header->payload_len), sizeof(rte_ipv6_hdr));
        if (read_extension_headers()) {
            read_transport();
        }
    }

    // `length` is what the header says of the whole packet.
    void end_network(std::uint32_t length, std::uint32_t least) noexcept {
        const std::uint32_t there = end_ - packet_.network_offset;
        if (length < least || length > there) {
            packet_.malformed = Malformed::kShortIp;
            length = there;
        }
        packet_.network_end = packet_.network_offset + length;
        packet_.trailer_length = end_ - packet_.network_end;
    }

    static Fragment fragment_of(std::uint16_t offset, std::uint16_t more) noexcept {
        if (offset != 0) {
            return Fragment::kLater;
        }
        return more != 0 ? Fragment::kFirst : Fragment::kWhole;
    }

    std::uint32_t at() const noexcept { return packet_.network_offset + packet_.network_length; }
    Bytes ip_packet() const noexcept { return frame_.first(packet_.network_end); }

    void too_short_for_transport() noexcept {
        if (packet_.malformed == Malformed::kNone) {
            packet_.malformed = Malformed::kShortTransport;
        }
    }

    // True if what follows is a transport header.
    bool read_extension_headers() noexcept {
        for (int count = 0; count <= kMostExtensionHeaders; ++count) {
            switch (packet_.protocol) {
                case IPPROTO_HOPOPTS:
                case IPPROTO_DSTOPTS:
                case IPPROTO_ROUTING:
                    if (count == kMostExtensionHeaders || !read_options_or_routing()) {
                        break;
                    }
                    continue;
                case IPPROTO_FRAGMENT:
                    if (count == kMostExtensionHeaders || !read_fragment_header()) {
                        break;
                    }
                    if (packet_.fragment == Fragment::kLater) {
                        return true;  // what follows is data, whatever its first byte says
                    }
                    continue;
                default: return true;
            }
            break;
        }
        if (packet_.malformed == Malformed::kNone) {
            packet_.transport = Transport::kOther;
        }
        return false;
    }

    bool read_options_or_routing() noexcept {
        struct Start {
            std::uint8_t next_header;
            std::uint8_t length;  // in 8 bytes, without the first 8
        };
        const auto start = view<Start>(ip_packet(), at());
        const std::uint32_t length = start ? 8 + 8u * start->length : 0;
        if (!start || length > packet_.network_end - at()) {
            too_short_for_transport();
            return false;
        }
        if (packet_.protocol == IPPROTO_ROUTING) {
            follow_route(frame_.subspan(at(), length));
        }
        packet_.protocol = start->next_header;
        packet_.network_length += length;
        return true;
    }

    void follow_route(Bytes header) noexcept {
        const std::uint8_t type = header[2];
        const std::uint8_t segments_left = header[3];
        if (segments_left == 0) {
            return;
        }
        const std::size_t addresses = (header.size() - 8) / 16;
        const bool in_order = type == 0 || type == 2;  // RFC 2460 section 4.4, RFC 6275 section 6.4
        const bool reversed = type == 4;  // RFC 8754 section 2: segment list [0] is the last
        packet_.final_destination_known = (in_order || reversed) && addresses > 0;
        if (packet_.final_destination_known) {
            const std::size_t last = reversed ? 0 : addresses - 1;
            packet_.final_destination = ipv6_address(header.data() + 8 + 16 * last);
        }
    }

    bool read_fragment_header() noexcept {
        struct FragmentHeader {
            std::uint8_t next_header;
            std::uint8_t reserved;
            Be16 offset_and_more;
            Be32 identification;
        };
        const auto header = view<FragmentHeader>(ip_packet(), at());
        if (!header) {
            too_short_for_transport();
            return false;
        }
        const std::uint16_t field = header->offset_and_more.value();
        packet_.fragment = fragment_of(field & 0xfff8, field & 1);
        packet_.protocol = header->next_header;
        packet_.network_length += sizeof(FragmentHeader);
        return true;
    }

    void read_transport() noexcept {
        if (packet_.fragment == Fragment::kLater) {
            return;
        }
        packet_.transport_offset = at();
        const bool ipv4 = packet_.network == Network::kIpv4;
        if (packet_.protocol == IPPROTO_UDP) {
            read_udp();
        } else if (packet_.protocol == IPPROTO_TCP) {
            read_tcp();
        } else if (packet_.protocol == IPPROTO_ICMP && ipv4) {
            read_icmp(Transport::kIcmp);
        } else if (packet_.protocol == IPPROTO_ICMPV6 && !ipv4) {
            read_icmp(Transport::kIcmpv6);
        } else {
            read_rarer_transport();
        }
    }

    void read_rarer_transport() noexcept {
        switch (packet_.protocol) {
            case IPPROTO_SCTP: return read_sctp();
            case IPPROTO_UDPLITE: return read_udp_lite();
            case IPPROTO_GRE: return read_gre();
            default: packet_.transport = Transport::kOther;
        }
    }

    std::uint32_t room() const noexcept { return packet_.network_end - packet_.transport_offset; }

    void set_transport(Transport transport, std::uint32_t length, std::uint32_t header) noexcept {
        packet_.transport = transport;
        packet_.transport_length = length;
        packet_.covered_length = length;
        packet_.payload_offset = packet_.transport_offset + header;
        packet_.payload_length = length - header;
    }

    void read_udp() noexcept {
        const auto header = view<rte_udp_hdr>(ip_packet(), packet_.transport_offset);
        if (!header) {
            return too_short_for_transport();
        }
        packet_.source_port = host(header->src_port);
        packet_.destination_port = host(header->dst_port);
        std::uint32_t length = host(header->dgram_len);
        // A first fragment has the length of the whole datagram.
        const bool fits = length <= room() || packet_.fragment == Fragment::kFirst;
        if (length < sizeof(rte_udp_hdr) || !fits) {
            too_short_for_transport();
            length = room();
        }
        set_transport(Transport::kUdp, std::min(length, room()), sizeof(rte_udp_hdr));
    }

    void read_tcp() noexcept {
        const auto header = view<rte_tcp_hdr>(ip_packet(), packet_.transport_offset);
        if (!header) {
            return too_short_for_transport();
        }
        packet_.source_port = host(header->src_port);
        packet_.destination_port = host(header->dst_port);
        std::uint32_t length = (header->data_off >> 4) * 4u;
        if (length < sizeof(rte_tcp_hdr) || length > room()) {
            too_short_for_transport();
            length = sizeof(rte_tcp_hdr);
        }
        set_transport(Transport::kTcp, room(), length);
    }

    void read_icmp(Transport transport) noexcept {
        const auto header = view<rte_icmp_hdr>(ip_packet(), packet_.transport_offset);
        if (!header) {
            return too_short_for_transport();
        }
        const bool echo =
            transport == Transport::kIcmp
                ? header->icmp_type == ICMP_ECHO || header->icmp_type == ICMP_ECHOREPLY
                : header->icmp_type == 128 || header->icmp_type == 129;
        if (echo) {
            packet_.source_port = packet_.destination_port = host(header->icmp_ident);
        }
        set_transport(transport, room(), sizeof(rte_icmp_hdr));
    }

    void read_sctp() noexcept {
        struct SctpHeader {  // RFC 9260 section 3.1
            Be16 source_port;
            Be16 destination_port;
            Be32 verification_tag;
            Be32 checksum;
        };
        const auto header = view<SctpHeader>(ip_packet(), packet_.transport_offset);
        if (!header) {
            return too_short_for_transport();
        }
        packet_.source_port = header->source_port.value();
        packet_.destination_port = header->destination_port.value();
        set_transport(Transport::kSctp, room(), sizeof(SctpHeader));
    }

    // RFC 3828 section 3.1: the length is that of the IP payload; where UDP has it stands the
    // coverage, 0 for all.
    void read_udp_lite() noexcept {
        const auto header = view<rte_udp_hdr>(ip_packet(), packet_.transport_offset);
        if (!header) {
            return too_short_for_transport();
        }
        packet_.source_port = host(header->src_port);
        packet_.destination_port = host(header->dst_port);
        const std::uint32_t coverage = host(header->dgram_len);
        set_transport(Transport::kUdpLite, room(), sizeof(rte_udp_hdr));
        if (coverage == 0) {
            return;
        }
        const bool fits = coverage <= room() || packet_.fragment == Fragment::kFirst;
        if (coverage < sizeof(rte_udp_hdr) || !fits) {
            return too_short_for_transport();
        }
        packet_.covered_length = std::min(coverage, room());
    }

    void read_gre() noexcept {
        const auto flags = view<Be16>(ip_packet(), packet_.transport_offset);
        if (!flags) {
            return too_short_for_transport();
        }
        if ((flags->value() & kGreUnknown) != 0) {
            packet_.transport = Transport::kOther;
            return;
        }
        const std::uint32_t length = gre_length(flags->value());
        if (length > room()) {
            return too_short_for_transport();
        }
        set_transport(Transport::kGre, room(), length);
    }

    Bytes frame_;
    PacketView& packet_;
    std::uint32_t end_;
};

}  // namespace

void read_packet(Bytes frame, std::uint32_t offset, PacketView& packet) noexcept {
    PacketReader(frame, offset, packet).read();
}

void read_ip_packet(Bytes frame, std::uint32_t offset, std::uint16_t ethertype,
                    PacketView& packet) noexcept {
    PacketReader(frame, offset, packet).read_ip(ethertype);
}

}  // namespace pathproof::frame
