// One captured frame, read as far as following it needs: its innermost packet, and keys that stay
// the same while a path routes, translates, tags or encapsulates it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "dataplane/follow/capture_reader.h"
#include "dataplane/frame/address.h"
#include "dataplane/frame/view.h"

namespace pathproof::follow {

inline constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();

// A 64-bit value of bytes; equal bytes have equal values.
std::uint64_t digest(frame::Bytes bytes, std::uint64_t seed = 0) noexcept;
std::uint64_t mix(std::uint64_t one, std::uint64_t other) noexcept;

// A frame by its file (of its side, from 0) and number (from 1).
struct FrameName {
    std::uint16_t file = 0;
    std::uint64_t number = 0;  // 0: there is none
};

// Offsets count from the start of the frame. "Innermost": behind the tunnel header, if there is one
// that can be read; of a frame without IP, the frame itself.
struct Packet {
    frame::Bytes bytes;
    std::uint32_t length = 0;  // of the whole frame; bytes.size() unless the capture cut it
    std::int64_t time_ns = 0;
    std::uint64_t number = 0;
    std::uint16_t file = 0;
    std::uint32_t interface = 0;

    std::uint32_t ethernet = kNowhere;  // of the innermost packet; kNowhere: it has none
    std::uint32_t network = 0;          // IP header, or what follows the EtherType
    std::uint32_t transport = 0;        // without IP: as network
    std::uint32_t payload = 0;
    std::uint32_t end = 0;          // of the payload, by the headers' own lengths
    std::uint32_t carrier_end = 0;  // of what the innermost packet lies in: `end` and padding
    std::uint32_t identification = 0;
    std::uint32_t sequence = 0;  // TCP
    std::uint32_t vni = 0;
    std::uint16_t ethertype = 0;
    std::uint16_t vlan[2] = {0, 0};  // tag control information, of the innermost packet
    std::uint16_t source_port = 0;
    std::uint16_t destination_port = 0;
    std::uint8_t vlans = 0;
    std::uint8_t flags = 0;  // TCP
    std::uint8_t protocol = 0;
    frame::Network ip = frame::Network::kNone;
    frame::Tunnel tunnel = frame::Tunnel::kNone;  // around the innermost packet
    frame::Fragment fragment = frame::Fragment::kWhole;
    bool has_transport = false;  // UDP, TCP, ICMP, ICMPv6, SCTP, UDP-Lite: a header that is whole
    bool broken = false;         // lengths of headers go beyond the frame
    bool cut = false;            // by the capture's snap length
    bool headless = false;       // so short that headers are missing: it cannot be followed

    // Headers, addresses, ports and payload, without what routers change: hop limit, header
    // checksum, and the transport checksum, which is compared by itself.
    std::uint64_t strict = 0;
    // Digest of the same fields without addresses, ports and traffic class: what address
    // translation leaves.
    std::uint64_t loose = 0;
    // Payload and the sequence number it lies at, whatever header is in front.
    std::uint64_t content = 0;
    std::uint64_t payload_digest = 0;
    // Addresses, ports and protocol, in this direction; without IP: MAC addresses and EtherType.
    std::uint64_t flow = 0;

    std::uint32_t payload_length() const { return end - payload; }
    frame::Bytes payload_bytes() const {
        return payload >= bytes.size()
                   ? frame::Bytes()
                   : bytes.subspan(payload, std::min<std::size_t>(end, bytes.size()) - payload);
    }
    std::uint8_t hop_limit() const {
        return bytes[network + (ip == frame::Network::kIpv4 ? 8 : 7)];
    }
    frame::Bytes source() const {
        return ip == frame::Network::kIpv4 ? bytes.subspan(network + 12, 4)
                                           : bytes.subspan(network + 8, 16);
    }
    frame::Bytes destination() const {
        return ip == frame::Network::kIpv4 ? bytes.subspan(network + 16, 4)
                                           : bytes.subspan(network + 24, 16);
    }
    // The transport checksum field; kNowhere: there is none.
    std::uint32_t checksum_at() const;
    bool is_tcp_data() const;
};

// An ICMP or ICMPv6 message that quotes a packet.
bool is_icmp_error(const Packet& packet);

struct ReadLimits {
    // The digests cover this many bytes of the payload: fewer than all where a capture has a snap length.
    std::uint32_t payload_bytes = kNowhere;
};

// Returns whether a NIC is still to finish the checksum of a TCP segment or UDP datagram: it is
// that of the pseudo-header (CHECKSUM_PARTIAL).
bool is_left_to_nic(const Packet& packet);

// Reads a frame. What cannot be read is followed as bytes.
Packet read_packet(const CapturedFrame& frame, const ReadLimits& limits);

// "198.18.0.1:53 -> 198.18.0.2:1024 UDP", "02:00:00:00:00:01 -> ... LLDP".
std::string flow_text(const Packet& packet);
// "UDP", "TCP", "ICMP", "ARP", "LLDP", "LLC", "protocol 47", "EtherType 0x88b5".
std::string protocol_text(const Packet& packet);
std::string protocol_text(std::uint8_t ip_protocol);
std::string ethertype_text(std::uint16_t type);
std::string address_text(frame::Bytes address);
std::string mac_text(frame::Bytes six);

}  // namespace pathproof::follow
