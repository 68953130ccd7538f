#include "dataplane/load/class_frame.h"

#include <rte_icmp.h>
#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "dataplane/base/be.h"
#include "dataplane/frame/dns.h"
#include "dataplane/frame/stamp.h"
#include "dataplane/frame/transport_shape.h"

namespace pathproof::load {
namespace {

using frame::TrafficClass;
using Octets = std::vector<std::uint8_t>;

// Shortest frame on Ethernet, without FCS (IEEE 802.3 clause 4A.2.3.2.4).
constexpr std::size_t kShortestFrame = 60;
constexpr std::size_t kFcsBytes = 4;            // lengths are typed with it
constexpr std::size_t kOptBytes = 11;           // an empty OPT record (RFC 6891 section 6.1.2)
constexpr std::size_t kPaddingOptionBytes = 4;  // code and length (RFC 7830 section 3)
constexpr std::uint16_t kOptType = 41;
constexpr std::uint16_t kPaddingCode = 12;
constexpr std::uint16_t kEdnsUdpBytes = 1232;  // what DNS flag day 2020 agreed on
// MSS 1460, SACK permitted, timestamps (RFC 9293 section 3.2, RFC 2018 section 2, RFC 7323
// section 3.2).
constexpr std::array<std::uint8_t, 16> kSynOptions = {2, 4, 0x05, 0xb4, 4, 2, 8, 10};
constexpr std::size_t kTimestampValue = 8;  // in them
constexpr std::uint8_t kFlagSyn = 0x02;

std::uint16_t narrow(std::size_t value) {
    return static_cast<std::uint16_t>(value);
}

bool is_dns(TrafficClass traffic) {
    return traffic == TrafficClass::kDnsA || traffic == TrafficClass::kDnsAaaa;
}

template <typename T>
void append(Octets& out, const T& value) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&value);
    out.insert(out.end(), bytes, bytes + sizeof value);
}

// An OPT record that makes the message `bytes` longer.
void append_padding(Octets& message, std::size_t bytes) {
    message.push_back(0);
    append(message, Be16(kOptType));
    append(message, Be16(kEdnsUdpBytes));
    append(message, Be32(0));
    append(message, Be16(narrow(bytes - kOptBytes)));
    if (bytes > kOptBytes) {
        append(message, Be16(kPaddingCode));
        append(message, Be16(narrow(bytes - kOptBytes - kPaddingOptionBytes)));
    }
    message.resize(message.size() + bytes - std::min(bytes, kOptBytes + kPaddingOptionBytes));
}

Octets dns_message(const frame::DnsName& suffix, std::uint16_t type, std::size_t padding) {
    Octets message;
    const std::uint16_t counts[] = {0, 0x0100, 1, 0, 0, narrow(padding > 0 ? 1u : 0u)};
    for (const std::uint16_t word : counts) {
        append(message, Be16(word));
    }
    Octets labels(frame::kDnsStampBytes, 0);
    labels[0] = 9;
    labels[1] = 'q';
    labels[10] = 13;
    message.insert(message.end(), labels.begin(), labels.end());
    message.insert(message.end(), suffix.wire().begin(), suffix.wire().end());
    append(message, Be16(type));
    append(message, Be16(frame::kDnsClassIn));
    if (padding > 0) {
        append_padding(message, padding);
    }
    return message;
}

Result<frame::DnsName> suffix_of(const SourcePlan& plan) {
    const auto suffix =
        TRY(doing(frame::DnsName::from_text(plan.suffix), "suffix of the query names"));
    if (suffix.wire().size() + frame::kDnsStampBytes > frame::DnsName::kMostBytes) {
        return fail(ErrorCode::kBadInput,
                    "the suffix '{}' leaves no room for the {} bytes in front of it: a name has {} "
                    "at most",
                    plan.suffix, frame::kDnsStampBytes, frame::DnsName::kMostBytes);
    }
    return suffix;
}

void set_transport(frame::FrameSpec& spec, const SourcePlan& plan, TrafficClass traffic) {
    frame::PacketSpec& packet = spec.packet;
    packet.tcp_option_bytes = 0;
    switch (traffic) {
        case TrafficClass::kDnsA:
        case TrafficClass::kDnsAaaa:
        case TrafficClass::kReplay: packet.transport = frame::Transport::kUdp; return;
        case TrafficClass::kUdp:
            packet.transport = frame::Transport::kUdp;
            packet.destination.port = plan.background_port;
            return;
        case TrafficClass::kTcpSyn:
            packet.transport = frame::Transport::kTcp;
            packet.transport_checksum = plan.tcp_checksum.value_or(packet.transport_checksum);
            packet.tcp_option_bytes = kSynOptions.size();
            packet.tcp_flags = kFlagSyn;
            packet.tcp_acknowledgement = 0;
            return;
        case TrafficClass::kIcmpEcho:
            packet.transport =
                is_ipv4(packet) ? frame::Transport::kIcmp : frame::Transport::kIcmpv6;
            packet.destination.port = 0;
            packet.transport_checksum = plan.icmp_checksum.value_or(packet.transport_checksum);
            if (packet.transport_checksum == frame::ChecksumMode::kOffload) {
                packet.transport_checksum = frame::ChecksumMode::kSoftware;
            }
            return;
    }
}

Status check_padding(std::size_t padding, std::size_t shortest) {
    if (padding == 0 || padding == kOptBytes || padding >= kOptBytes + kPaddingOptionBytes) {
        return {};
    }
    return fail(ErrorCode::kBadInput,
                "a DNS query in a frame of {} bytes with its FCS cannot be made; possible are {} "
                "without EDNS0, {} with an empty OPT record, and {} and more with padding",
                shortest + padding + kFcsBytes, shortest + kFcsBytes,
                shortest + kOptBytes + kFcsBytes,
                shortest + kOptBytes + kPaddingOptionBytes + kFcsBytes);
}

// Returns by how much the shortest frame of the class is to be lengthened.
Result<std::size_t> padding_of(const MixPart& part, std::size_t shortest) {
    if (part.frame_bytes == 0) {
        return std::max(shortest, kShortestFrame) - shortest;
    }
    if (part.frame_bytes < shortest) {
        return fail(ErrorCode::kBadInput,
                    "a frame of class {} has {} bytes at least with these headers and its FCS; {} "
                    "is too few",
                    name(part.traffic), shortest + kFcsBytes, part.frame_bytes + kFcsBytes);
    }
    return part.frame_bytes - shortest;
}

Status set_payload(frame::FrameSpec& spec, const SourcePlan& plan, const MixPart& part) {
    const bool dns = is_dns(part.traffic);
    const auto type =
        part.traffic == TrafficClass::kDnsAaaa ? frame::kDnsTypeAaaa : frame::kDnsTypeA;
    frame::DnsName suffix;
    if (dns) {
        suffix = TRY(suffix_of(plan));
        spec.payload = dns_message(suffix, type, 0);
    } else {
        const bool in_header = part.traffic == TrafficClass::kTcpSyn;
        spec.payload.assign(in_header ? 0 : frame::kBinaryStampBytes, 0);
    }
    const std::size_t shortest = layout_of(spec).end;
    const std::size_t padding = TRY(padding_of(part, shortest));
    if (!dns) {
        spec.payload.resize(spec.payload.size() + padding);
        return {};
    }
    TRY(check_padding(padding, shortest));
    spec.payload = dns_message(suffix, type, padding);
    return {};
}

StampForm form_of(TrafficClass traffic) {
    if (is_dns(traffic)) {
        return StampForm::kDigits;
    }
    return traffic == TrafficClass::kTcpSyn ? StampForm::kSyn : StampForm::kBinary;
}

void place_stamp(ClassFrame& made) {
    const frame::PacketLayout& layout = made.layout.packet;
    FieldPlaces& places = made.places;
    switch (made.form) {
        case StampForm::kDigits:
            places.number = narrow(layout.payload + frame::kDnsHeaderBytes + 2);
            places.time = narrow(places.number + 10);
            places.id = layout.payload;
            return;
        case StampForm::kBinary:
            places.number = narrow(layout.payload + 4);
            places.time = narrow(layout.payload + 8);
            places.id = is_echo(made.spec.packet)
                            ? narrow(layout.transport + offsetof(rte_icmp_hdr, icmp_seq_nb))
                            : std::uint16_t{0};
            return;
        case StampForm::kSyn:
            places.number = narrow(layout.transport + offsetof(rte_tcp_hdr, sent_seq));
            places.time = narrow(layout.transport + sizeof(rte_tcp_hdr) + kTimestampValue);
            return;
    }
}

void place_headers(ClassFrame& made) {
    const frame::PacketSpec& packet = made.spec.packet;
    const frame::PacketLayout& layout = made.layout.packet;
    FieldPlaces& places = made.places;
    places.port = narrow(layout.transport + (is_echo(packet) ? offsetof(rte_icmp_hdr, icmp_ident)
                                                             : offsetof(rte_udp_hdr, src_port)));
    places.address =
        narrow(layout.network + (is_ipv4(packet) ? offsetof(rte_ipv4_hdr, src_addr)
                                                 : offsetof(rte_ipv6_hdr, src_addr) + 12));
    places.ip_checksum = is_ipv4(packet)
                             ? narrow(layout.network + offsetof(rte_ipv4_hdr, hdr_checksum))
                             : std::uint16_t{0};
    places.checksum = narrow(layout.transport + shape_of(packet).checksum_offset.value_or(0));
    if (made.spec.tunnel && frame::over_udp(made.spec.tunnel->kind)) {
        places.outer_port = made.layout.outer.transport;
        places.outer_checksum = narrow(places.outer_port + offsetof(rte_udp_hdr, dgram_cksum));
    }
}

// Writes the payload bytes that are the same in all frames of the part; the fields of each frame
// are put in later.
void write_constants(ClassFrame& made, const SourcePlan& plan) {
    std::uint8_t* const payload = made.bytes.data() + made.layout.packet.payload;
    switch (made.form) {
        case StampForm::kDigits:
            payload[frame::kDnsHeaderBytes + 11] = static_cast<std::uint8_t>('a' + plan.stream);
            made.places.query_type =
                narrow(made.layout.packet.payload + frame::kDnsHeaderBytes + frame::kDnsStampBytes +
                       frame::DnsName::from_text(plan.suffix)->wire().size());
            return;
        case StampForm::kBinary:
            payload[0] = frame::kStampMagic >> 8;
            payload[1] = frame::kStampMagic & 0xff;
            payload[2] = plan.stream;
            return;
        case StampForm::kSyn:
            std::ranges::copy(kSynOptions, made.bytes.data() + made.layout.packet.transport +
                                               sizeof(rte_tcp_hdr));
            return;
    }
}

Status check_plan(const SourcePlan& plan, const MixPart& part) {
    if (part.traffic == TrafficClass::kReplay) {
        return fail(ErrorCode::kBadInput,
                    "frames of class replay are read from a capture file, not made");
    }
    if (!plan.spec.payload.empty() || plan.spec.segment_bytes > 0 || plan.spec.packet.fragment) {
        return fail(ErrorCode::kBadInput,
                    "the specification of generated traffic has no payload, no segments and no "
                    "fragments: its classes make their own payload");
    }
    return {};
}

}  // namespace

Result<ClassFrame> class_frame(const SourcePlan& plan, const MixPart& part) {
    TRY(check_plan(plan, part));
    ClassFrame made{.traffic = part.traffic,
                    .form = form_of(part.traffic),
                    .spec = plan.spec,
                    .layout = {},
                    .places = {},
                    .bytes = {}};
    set_transport(made.spec, plan, part.traffic);
    TRY(set_payload(made.spec, plan, part));
    TRY(doing(frame::check(made.spec), "traffic class {}", name(part.traffic)));
    made.layout = layout_of(made.spec);
    made.bytes.resize(made.layout.end);
    write_without_checksums(made.bytes, made.spec, made.layout);
    place_stamp(made);
    place_headers(made);
    write_constants(made, plan);
    return made;
}

}  // namespace pathproof::load
