#include "dataplane/follow/traits.h"

#include <fmt/format.h>
#include <netinet/in.h>

namespace pathproof::follow {
namespace {

constexpr std::uint32_t kWithoutIp = 0x10000;

std::uint32_t& at(Traits& traits, Trait trait) {
    return traits[bit(trait)];
}

void take_ip(const Packet& packet, Traits& traits) {
    const std::uint8_t* const ip = packet.bytes.data() + packet.network;
    const bool v4 = packet.ip == frame::Network::kIpv4;
    const std::uint32_t header = packet.transport - packet.network;
    at(traits, Trait::kHopLimit) = packet.hop_limit();
    at(traits, Trait::kOptions) = header > (v4 ? 20U : 40U);
    at(traits, Trait::kDontFragment) = v4 && (ip[6] & 0x40) != 0;
    at(traits, Trait::kTrafficClass) = v4 ? ip[1] : (ip[0] << 4 | ip[1] >> 4) & 0xffU;
    at(traits, Trait::kSourceAddress) = address_trait(packet.source());
    at(traits, Trait::kDestinationAddress) = address_trait(packet.destination());
    at(traits, Trait::kSourcePort) = packet.source_port;
    at(traits, Trait::kDestinationPort) = packet.destination_port;
    if (!packet.has_transport || packet.broken) {
        return;
    }
    const bool tcp = packet.protocol == IPPROTO_TCP;
    const bool udp = packet.protocol == IPPROTO_UDP;
    if (tcp) {
        at(traits, Trait::kTcpFlags) = packet.flags;
        at(traits, Trait::kTcpOptionBytes) = (packet.bytes[packet.transport + 12] >> 4) * 4U - 20U;
    }
    if (udp) {
        const std::uint32_t sum = packet.checksum_at();
        at(traits, Trait::kNoUdpChecksum) = packet.bytes[sum] == 0 && packet.bytes[sum + 1] == 0;
    }
    if (tcp || udp) {
        at(traits, Trait::kLeftToNic) = is_left_to_nic(packet);
    }
}

std::string flags_text(std::uint32_t flags) {
    constexpr const char* kNames[] = {"FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"};
    std::string text;
    for (std::size_t i = 0; i < std::size(kNames); ++i) {
        if ((flags >> i & 1) != 0) {
            text += (text.empty() ? "" : "+") + std::string(kNames[i]);
        }
    }
    return text.empty() ? "none" : text;
}

}  // namespace

std::uint32_t address_trait(frame::Bytes address) {
    if (address.size() == 4) {
        return static_cast<std::uint32_t>(address[0]) << 24 | address[1] << 16U | address[2] << 8U |
               address[3];
    }
    const std::uint64_t sum = digest(address, 7);
    return static_cast<std::uint32_t>(sum ^ sum >> 32) | 1U;
}

Traits traits_of(const Packet& packet) {
    Traits traits{};
    at(traits, Trait::kFrameBytes) = packet.length;
    at(traits, Trait::kInterface) =
        static_cast<std::uint32_t>(packet.file) << 16 | (packet.interface & 0xffffU);
    if (packet.headless) {
        return traits;
    }
    at(traits, Trait::kPayloadBytes) = packet.payload_length();
    at(traits, Trait::kFamily) = static_cast<std::uint32_t>(packet.ip);
    at(traits, Trait::kProtocol) =
        packet.ip == frame::Network::kNone ? kWithoutIp | packet.ethertype : packet.protocol;
    at(traits, Trait::kTunnel) = static_cast<std::uint32_t>(packet.tunnel);
    at(traits, Trait::kVlans) = packet.vlans;
    if (packet.vlans != 0) {
        at(traits, Trait::kVlan) = packet.vlan[0] & 0xfffU;
        at(traits, Trait::kVlanPriority) = packet.vlan[0] >> 13U;
    }
    at(traits, Trait::kFragment) = static_cast<std::uint32_t>(packet.fragment);
    if (packet.ethernet < packet.bytes.size()) {
        at(traits, Trait::kGroup) = packet.bytes[packet.ethernet] & 1U;
    }
    if (packet.ip != frame::Network::kNone) {
        take_ip(packet, traits);
    }
    return traits;
}

std::string trait_text(Trait trait, std::uint32_t value, const std::string& address) {
    const auto with = [&](const char* what) {
        return fmt::format("{} {}", value != 0 ? "with" : "without", what);
    };
    switch (trait) {
        case Trait::kSourcePort: return fmt::format("from port {}", value);
        case Trait::kDestinationPort: return fmt::format("to port {}", value);
        case Trait::kFamily:
            if (value == static_cast<std::uint32_t>(frame::Network::kIpv4)) {
                return "IPv4";
            }
            return value == static_cast<std::uint32_t>(frame::Network::kIpv6) ? "IPv6"
                                                                              : "without IP";
        case Trait::kProtocol:
            return value >= kWithoutIp ? ethertype_text(static_cast<std::uint16_t>(value))
                                       : protocol_text(static_cast<std::uint8_t>(value));
        case Trait::kTunnel:
            return value == 0
                       ? "in no tunnel"
                       : fmt::format("in {}", frame::name(static_cast<frame::Tunnel>(value)));
        case Trait::kVlans:
            return value > 1 ? fmt::format("with {} VLAN tags", value)
                             : with(value != 0 ? "a VLAN tag" : "VLAN tag");
        case Trait::kVlan: return fmt::format("of VLAN {}", value);
        case Trait::kVlanPriority: return fmt::format("of VLAN priority {}", value);
        case Trait::kFragment:
            if (value == 0) {
                return "not fragmented";
            }
            return value == 1 ? "first fragments" : "later fragments";
        case Trait::kOptions: return with("IP options or extension headers");
        case Trait::kDontFragment: return with("DF");
        case Trait::kTrafficClass: return fmt::format("of traffic class 0x{:02x}", value);
        case Trait::kTcpFlags: return "with TCP flags " + flags_text(value);
        case Trait::kNoUdpChecksum:
            return value != 0 ? "without a UDP checksum" : "with a UDP checksum (or not UDP)";
        case Trait::kLeftToNic:
            return value != 0 ? "with a checksum left to the NIC"
                              : "with a checksum that was finished";
        case Trait::kGroup: return value != 0 ? "to a group of stations" : "to one station";
        case Trait::kSourceAddress: return "from " + address;
        case Trait::kDestinationAddress: return "to " + address;
        case Trait::kInterface:
            return fmt::format("of interface {} in file {} of their side", value & 0xffffU,
                               (value >> 16) + 1);
        case Trait::kFrameBytes:
        case Trait::kPayloadBytes:
        case Trait::kTcpOptionBytes:
        case Trait::kHopLimit: break;
    }
    return number_text(trait, std::to_string(value));
}

std::string number_text(Trait trait, const std::string& phrase) {
    switch (trait) {
        case Trait::kFrameBytes: return fmt::format("of {} bytes", phrase);
        case Trait::kPayloadBytes: return fmt::format("with {} bytes of payload", phrase);
        case Trait::kTcpOptionBytes: return fmt::format("with {} bytes of TCP options", phrase);
        case Trait::kHopLimit: return fmt::format("with a hop limit of {}", phrase);
        case Trait::kSourcePort: return fmt::format("from a port of {}", phrase);
        case Trait::kDestinationPort: return fmt::format("to a port of {}", phrase);
        default: return phrase;
    }
}

}  // namespace pathproof::follow
