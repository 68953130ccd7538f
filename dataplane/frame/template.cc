#include "dataplane/frame/template.h"

#include <rte_icmp.h>
#include <rte_ip.h>
#include <rte_mbuf_core.h>
#include <rte_udp.h>

#include <cstddef>
#include <cstring>

#include "dataplane/base/contains.h"
#include "dataplane/base/random.h"
#include "dataplane/frame/crc32c.h"
#include "dataplane/frame/transport_shape.h"

namespace pathproof::frame {
namespace {

std::size_t source_port_offset(const PacketSpec& packet) {
    return is_echo(packet) ? offsetof(rte_icmp_hdr, icmp_ident) : offsetof(rte_udp_hdr, src_port);
}

std::size_t source_address_offset(const PacketSpec& packet) {
    return is_ipv4(packet) ? offsetof(rte_ipv4_hdr, src_addr) : offsetof(rte_ipv6_hdr, src_addr);
}

std::uint16_t transport_checksum(Transport transport, PartialSum sum) {
    return transport == Transport::kUdp ? udp_checksum_of(sum) : checksum_of(sum);
}

// rte_ipv4_phdr_cksum() and its IPv6 sister leave the length to a NIC that cuts TCP, and since DPDK
// 23.07 to one that cuts UDP: they are asked which they are.
bool leaves_length_to(std::uint64_t segmentation) {
    rte_ipv4_hdr header{};
    header.version_ihl = RTE_IPV4_VHL_DEF;
    header.total_length = 0xffff;
    return rte_ipv4_phdr_cksum(&header, segmentation) != rte_ipv4_phdr_cksum(&header, 0);
}

// Puts `bytes` (an even number) at an even place of the frame; returns what that adds to sums over
// it.
PartialSum replace(std::uint8_t* at, Bytes bytes) {
    PartialSum added = 0;
    for (std::size_t i = 0; i < bytes.size(); i += 2) {
        std::uint16_t old_word;
        std::uint16_t new_word;
        std::memcpy(&old_word, at + i, 2);
        std::memcpy(&new_word, bytes.data() + i, 2);
        added += static_cast<std::uint16_t>(~old_word);
        added += new_word;
    }
    std::memcpy(at, bytes.data(), bytes.size());
    return added;
}

PartialSum replace_word(std::uint8_t* at, std::uint16_t host) {
    const std::uint8_t word[] = {static_cast<std::uint8_t>(host >> 8),
                                 static_cast<std::uint8_t>(host)};
    return replace(at, word);
}

void store_word(std::uint8_t* at, std::uint16_t host) {
    at[0] = static_cast<std::uint8_t>(host >> 8);
    at[1] = static_cast<std::uint8_t>(host);
}

// It depends on the seed and the frame only.
std::uint16_t random_but_wrong(const FieldValues& values) {
    std::uint64_t state = values.seed ^ std::uint64_t{values.right} << 32;
    for (;;) {
        state = drawn(state);
        const auto value = static_cast<std::uint16_t>(state);
        if (value != 0 && value != 0xffff && value != values.right) {
            return value;
        }
    }
}

// Returns the destination address that the pseudo-header has (RFC 8200 section 8.1).
const IpAddress& final_destination(const PacketSpec& packet) {
    const bool routed = contains(packet.extensions, Extension::kRouting);
    return routed ? packet.final_destination : packet.destination.address;
}

// Returns the value of SCTP's field in a mode that check() allows for SCTP.
std::uint32_t sctp_field_value(ChecksumMode mode, std::uint32_t right) {
    switch (mode) {
        case ChecksumMode::kOffload:
        case ChecksumMode::kZero: return 0;
        case ChecksumMode::kComplement: return ~right;
        case ChecksumMode::kSoftware:
        case ChecksumMode::kPseudo:
        case ChecksumMode::kPlusOne:
        case ChecksumMode::kStaleSourcePort:
        case ChecksumMode::kSwapped:
        case ChecksumMode::kRandom: break;
    }
    return right;
}

// Behind the label's length and the q.
constexpr std::size_t kDigitsInMessage = kDnsHeaderBytes + 2;
static_assert(kDigitsInMessage % 2 == 0);

}  // namespace

std::uint16_t field_value(ChecksumMode mode, const FieldValues& values) noexcept {
    const std::uint16_t right = values.right;
    switch (mode) {
        case ChecksumMode::kSoftware: return right;
        case ChecksumMode::kOffload:
        case ChecksumMode::kPseudo: return values.offload;
        case ChecksumMode::kZero: return 0;
        case ChecksumMode::kComplement: return static_cast<std::uint16_t>(~right);
        case ChecksumMode::kPlusOne:
            return static_cast<std::uint16_t>(right == 0xffff ? 1 : right + 1);
        case ChecksumMode::kStaleSourcePort: return values.stale;
        case ChecksumMode::kSwapped: return __builtin_bswap16(right);
        case ChecksumMode::kRandom: return random_but_wrong(values);
    }
    return right;
}

Result<FrameTemplate> FrameTemplate::make(const FrameSpec& spec) {
    TRY(check(spec));
    FrameTemplate made;
    made.spec_ = spec;
    made.layout_ = layout_of(spec);
    made.offload_ = offload_request(spec);
    made.bytes_.resize(made.layout_.end);
    write_without_checksums(made.bytes_, spec, made.layout_);
    made.packet_sums_ = made.sums_of(spec.packet, made.layout_.packet);
    if (spec.tunnel) {
        made.outer_sums_ = made.sums_of(spec.tunnel->outer, made.layout_.outer);
    }
    return made;
}

Result<FrameTemplate> FrameTemplate::make_dns(const FrameSpec& spec, std::string_view suffix,
                                              std::uint16_t type) {
    if (spec.packet.transport != Transport::kUdp || !spec.payload.empty()) {
        return fail(
            ErrorCode::kBadInput,
            "a DNS query template is UDP and makes its own payload; leave the payload empty");
    }
    const auto name = TRY(doing(sequence_name(0, suffix), "suffix of the query names"));
    FrameSpec query = spec;
    query.payload.resize(kDnsHeaderBytes + name.wire().size() + 4);
    write_query(query.payload, {.name = name, .type = type});
    FrameTemplate made = TRY(make(query));
    made.dns_ = true;
    return made;
}

FrameTemplate::Sums FrameTemplate::sums_of(const PacketSpec& packet,
                                           const PacketLayout& layout) const {
    const Bytes frame = bytes_;
    Sums sums;
    if (is_ipv4(packet)) {
        sums.header = sum_bytes(frame.subspan(layout.network, network_bytes(packet)));
    }
    const auto length = static_cast<std::uint32_t>(layout.end - layout.transport);
    const TransportShape shape = shape_of(packet);
    if (shape.pseudo_header == PseudoHeader::kSummed) {
        const auto sum_with = [&](std::uint32_t counted) {
            return pseudo_header_sum(packet.source.address, final_destination(packet),
                                     shape.protocol, counted);
        };
        sums.pseudo = sum_with(length);
        const bool tcp = spec_.packet.transport == Transport::kTcp;
        const bool left_out = spec_.segment_bytes > 0 &&
                              leaves_length_to(tcp ? RTE_MBUF_F_TX_TCP_SEG : RTE_MBUF_F_TX_UDP_SEG);
        sums.preset = sum_with(left_out ? 0 : length);
    }
    sums.transport = sum_bytes(frame.subspan(layout.transport, length));
    return sums;
}

FrameTemplate::Change FrameTemplate::apply(std::uint8_t* out,
                                           const FramePatch& patch) const noexcept {
    const PacketLayout& layout = layout_.packet;
    Change change{.source_port = spec_.packet.source.port};
    if (patch.source && patch.source->family == spec_.packet.source.address.family) {
        change.address = replace(out + layout.network + source_address_offset(spec_.packet),
                                 {patch.source->bytes.data(), patch.source->size()});
    }
    if (patch.source_port && shape_of(spec_.packet).header_bytes > 0) {
        change.source_port = *patch.source_port;
        change.transport += replace_word(out + layout.transport + source_port_offset(spec_.packet),
                                         *patch.source_port);
    }
    if (patch.dns && dns_) {
        std::array<std::uint8_t, 8> digits;
        write_sequence(digits, patch.dns->sequence);
        change.transport += replace_word(out + layout.payload, patch.dns->id);
        change.transport += replace(out + layout.payload + kDigitsInMessage, digits);
    }
    return change;
}

PartialSum FrameTemplate::fill(std::uint8_t* out, const PacketSpec& packet,
                               const PacketLayout& layout, const Sums& sums,
                               const Change& change) const noexcept {
    PartialSum on_wire = 0;
    const auto put = [&](std::size_t offset, ChecksumMode mode, const FieldValues& values) {
        const std::uint16_t value = field_value(mode, values);
        store_word(out + offset, value);
        // A sum around a field that the NIC completes must count what it will be (local checksum
        // offload).
        on_wire += sum_word(mode == ChecksumMode::kOffload ? values.right : value);
    };
    if (is_ipv4(packet)) {
        put(layout.network + offsetof(rte_ipv4_hdr, hdr_checksum), packet.ip_checksum,
            {.right = checksum_of(sums.header + change.address), .seed = spec_.seed});
    }
    if (packet.transport == Transport::kSctp) {
        return on_wire + fill_sctp(out, packet, layout);
    }
    const TransportShape shape = shape_of(packet);
    if (!shape.checksum_offset) {
        return on_wire;
    }
    const bool summed = shape.pseudo_header == PseudoHeader::kSummed;
    const PartialSum pseudo = summed ? sums.pseudo + change.address : 0;
    const PartialSum sum = pseudo + sums.transport + change.transport;
    const PartialSum stale_sum =
        sum + without_word(change.source_port) + sum_word(spec_.stale_source_port);
    const bool preset = packet.transport_checksum == ChecksumMode::kOffload;
    put(layout.transport + *shape.checksum_offset, packet.transport_checksum,
        {.right = transport_checksum(packet.transport, sum),
         .offload = folded(summed && preset ? sums.preset + change.address : pseudo),
         .stale = transport_checksum(packet.transport, stale_sum),
         .seed = spec_.seed});
    return on_wire;
}

PartialSum FrameTemplate::fill_sctp(std::uint8_t* out, const PacketSpec& packet,
                                    const PacketLayout& layout) noexcept {
    Crc32c crc;
    crc.add({out + layout.transport, static_cast<std::size_t>(layout.end - layout.transport)});
    const std::uint32_t right = crc.sctp_checksum();
    const ChecksumMode mode = packet.transport_checksum;
    std::uint8_t* const field = out + layout.transport + kSctpChecksumOffset;
    const auto words_of = [](std::uint32_t value) {
        return sum_word(static_cast<std::uint16_t>(value >> 16)) +
               sum_word(static_cast<std::uint16_t>(value));
    };
    const std::uint32_t value = sctp_field_value(mode, right);
    store_word(field, static_cast<std::uint16_t>(value >> 16));
    store_word(field + 2, static_cast<std::uint16_t>(value));
    return words_of(mode == ChecksumMode::kOffload ? right : value);
}

void FrameTemplate::render(std::uint8_t* out, const FramePatch& patch) const noexcept {
    std::memcpy(out, bytes_.data(), bytes_.size());
    const Change inner = apply(out, patch);
    const PartialSum fields = fill(out, spec_.packet, layout_.packet, packet_sums_, inner);
    if (!spec_.tunnel) {
        return;
    }
    const PacketSpec& outer = spec_.tunnel->outer;
    Change around{.transport = inner.address + inner.transport + fields,
                  .source_port = outer.source.port};
    if (patch.outer_source_port && shape_of(outer).header_bytes > 0) {
        around.source_port = *patch.outer_source_port;
        around.transport += replace_word(out + layout_.outer.transport, *patch.outer_source_port);
    }
    fill(out, outer, layout_.outer, outer_sums_, around);
}

}  // namespace pathproof::frame
