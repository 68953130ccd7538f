#include "harness/monitor/refusal.h"

#include <fmt/format.h>
#include <netinet/in.h>

#include "harness/monitor/packet_socket.h"
#include "harness/netfilter/names.h"

namespace pathproof::monitor {
namespace {

using Bytes = std::span<const std::byte>;
using frame::Family;

constexpr std::uint8_t kTcpReset = 0x04;

std::uint8_t byte_at(Bytes bytes, std::size_t at) {
    return std::to_integer<std::uint8_t>(bytes[at]);
}

std::uint16_t word_at(Bytes bytes, std::size_t at) {
    return static_cast<std::uint16_t>(byte_at(bytes, at) << 8 | byte_at(bytes, at + 1));
}

// An IP header and what follows it, though it be cut short.
struct IpPacket {
    frame::IpAddress source;
    frame::IpAddress destination;
    std::uint8_t protocol = 0;
    Bytes payload;
};

// Reads an IP packet; nothing: it is no IP, or a fragment without its transport header.
std::optional<IpPacket> read_ip(Bytes bytes) {
    const frame::PacketView view = view_of(bytes);
    if (view.network == frame::Network::kNone || view.fragment == frame::Fragment::kLater) {
        return std::nullopt;
    }
    return IpPacket{view.source, view.destination, view.protocol,
                    bytes.subspan(view.network_length)};
}

std::optional<netfilter::Tuple> tuple_of(const IpPacket& packet) {
    netfilter::Tuple tuple{.source = {packet.source, 0},
                           .destination = {packet.destination, 0},
                           .protocol = packet.protocol};
    if (netfilter::has_ports(packet.protocol)) {
        if (packet.payload.size() < 4) {
            return std::nullopt;
        }
        tuple.source.port = word_at(packet.payload, 0);
        tuple.destination.port = word_at(packet.payload, 2);
    }
    return tuple;
}

// Codes of "destination unreachable": RFC 792, 1122 and 1812 for ICMP (type 3), RFC 4443 for ICMPv6
// (type 1). Empty for what is no refusal: code 4 of ICMP asks for smaller packets.
const char* unreachable_name(Family family, std::uint8_t code) {
    static constexpr const char* kIcmp[] = {"network unreachable",
                                            "host unreachable",
                                            "protocol unreachable",
                                            "port unreachable",
                                            "",
                                            "source route failed",
                                            "network unknown",
                                            "host unknown",
                                            "source host isolated",
                                            "network prohibited",
                                            "host prohibited",
                                            "network unreachable for TOS",
                                            "host unreachable for TOS",
                                            "packets prohibited",
                                            "host precedence violation",
                                            "precedence cutoff"};
    static constexpr const char* kIcmpv6[] = {
        "no route",         "packets prohibited", "beyond scope of source", "address unreachable",
        "port unreachable", "source prohibited",  "route rejected",         "source route failed"};
    const std::span<const char* const> names =
        family == Family::kIpv4 ? std::span<const char* const>(kIcmp) : std::span(kIcmpv6);
    return code < names.size() ? names[code] : "unreachable";
}

std::optional<Refusal> read_icmp(const IpPacket& outer) {
    const Family family = outer.source.family;
    const std::uint8_t unreachable = family == Family::kIpv4 ? 3 : 1;
    if (outer.payload.size() < 8 || byte_at(outer.payload, 0) != unreachable) {
        return std::nullopt;
    }
    const std::string what = unreachable_name(family, byte_at(outer.payload, 1));
    const auto quoted = read_ip(outer.payload.subspan(8));
    if (what.empty() || !quoted || quoted->source.family != family) {
        return std::nullopt;
    }
    const auto tuple = tuple_of(*quoted);
    if (!tuple) {
        return std::nullopt;
    }
    return Refusal{*tuple, outer.source, what};
}

std::optional<Refusal> read_tcp(const IpPacket& packet) {
    if (packet.payload.size() < 14 || (byte_at(packet.payload, 13) & kTcpReset) == 0) {
        return std::nullopt;
    }
    auto tuple = tuple_of(packet);
    std::swap(tuple->source, tuple->destination);
    return Refusal{*tuple, packet.source, "reset"};
}

}  // namespace

std::string describe(const Refusal& refusal) {
    if (refusal.packet.protocol == IPPROTO_TCP &&
        refusal.by == refusal.packet.destination.address && refusal.what == "reset") {
        return refusal.what;
    }
    return fmt::format("{} from {}", refusal.what, frame::to_string(refusal.by));
}

std::optional<Refusal> parse_refusal(std::span<const std::byte> bytes) {
    const auto packet = read_ip(bytes);
    if (!packet) {
        return std::nullopt;
    }
    switch (packet->protocol) {
        case IPPROTO_ICMP:
            return packet->source.family == Family::kIpv4 ? read_icmp(*packet) : std::nullopt;
        case IPPROTO_ICMPV6:
            return packet->source.family == Family::kIpv6 ? read_icmp(*packet) : std::nullopt;
        case IPPROTO_TCP: return read_tcp(*packet);
        default: return std::nullopt;
    }
}

}  // namespace pathproof::monitor
