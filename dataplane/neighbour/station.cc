#include "dataplane/neighbour/station.h"

#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <rte_arp.h>
#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_ip.h>

#include <algorithm>
#include <cstring>

#include "dataplane/base/be.h"
#include "dataplane/frame/checksum.h"

namespace pathproof::neighbour {
namespace {

using frame::Bytes;
using frame::Family;
using frame::IpAddress;
using frame::MacAddress;
using Room = std::span<std::uint8_t>;

constexpr std::uint32_t kMostAddresses = 1U << 20;
constexpr MacAddress kBroadcast{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
constexpr std::size_t kTagBytes = 4;
constexpr std::size_t kShortestFrame = 60;  // IEEE 802.3, without FCS
// RFC 4861 sections 4.3, 4.4 and 4.6.1.
constexpr std::uint8_t kSolicitation = 135;
constexpr std::uint8_t kAdvertisement = 136;
constexpr std::uint8_t kSourceOption = 1;
constexpr std::uint8_t kTargetOption = 2;
constexpr std::uint8_t kHopLimit = 255;
constexpr std::uint8_t kSolicited = 0x40;
constexpr std::uint8_t kOverride = 0x20;

// RFC 4861 sections 4.3 and 4.4: solicitation and advertisement alike, with the one option that
// Ethernet needs.
struct [[gnu::packed]] NeighbourMessage {
    std::uint8_t type = 0;
    std::uint8_t code = 0;
    Be16 checksum;
    std::uint8_t flags = 0;
    std::array<std::uint8_t, 3> reserved{};
    std::array<std::uint8_t, 16> target{};
};
struct [[gnu::packed]] LinkOption {
    std::uint8_t type = 0;
    std::uint8_t length = 1;  // in 8 bytes
    std::array<std::uint8_t, 6> mac{};
};
static_assert(sizeof(NeighbourMessage) == 24 && sizeof(LinkOption) == 8);

MacAddress mac_of(const rte_ether_addr& address) noexcept {
    MacAddress mac;
    std::ranges::copy(address.addr_bytes, mac.bytes.begin());
    return mac;
}
rte_ether_addr ether_of(const MacAddress& mac) noexcept {
    rte_ether_addr address;
    std::ranges::copy(mac.bytes, std::begin(address.addr_bytes));
    return address;
}

// The 32 bits in which addresses of a range differ.
std::uint32_t low_bits(const IpAddress& address) noexcept {
    Be32 low;
    std::memcpy(&low, address.bytes.data() + address.size() - sizeof low, sizeof low);
    return low.value();
}

IpAddress v4_of(std::uint32_t raw) noexcept {
    return IpAddress::v4(rte_be_to_cpu_32(raw));
}
std::uint32_t raw_of(const IpAddress& address) noexcept {
    std::uint32_t raw = 0;
    std::memcpy(&raw, address.bytes.data(), sizeof raw);
    return raw;
}

IpAddress v6_of(const std::uint8_t* bytes) noexcept {
    IpAddress address{.family = Family::kIpv6};
    std::memcpy(address.bytes.data(), bytes, address.bytes.size());
    return address;
}

// RFC 4291 section 2.7.1.
IpAddress solicited_node(const IpAddress& address) noexcept {
    IpAddress group{.family = Family::kIpv6,
                    .bytes = {0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff}};
    std::copy(address.bytes.end() - 3, address.bytes.end(), group.bytes.end() - 3);
    return group;
}
IpAddress all_nodes() noexcept {
    return {.family = Family::kIpv6, .bytes = {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
}
// RFC 2464 section 7.
MacAddress group_mac(const IpAddress& group) noexcept {
    MacAddress mac{{0x33, 0x33}};
    std::copy(group.bytes.end() - 4, group.bytes.end(), mac.bytes.begin() + 2);
    return mac;
}

bool in_vlans(const frame::PacketView& packet, const Station& station) noexcept {
    constexpr std::uint16_t kId = 0x0fff;
    if (!station.vlans) {
        return true;
    }
    if (packet.vlans != station.vlans->size()) {
        return false;
    }
    for (std::size_t n = 0; n < packet.vlans; ++n) {
        if ((packet.vlan[n] & kId) != ((*station.vlans)[n] & kId)) {
            return false;
        }
    }
    return true;
}

// The tags of a frame as they stand, or those of a station.
struct Tags {
    std::array<std::uint8_t, 2 * kTagBytes> bytes{};
    std::size_t size = 0;
};

Tags tags_of(Bytes frame, const frame::PacketView& packet) noexcept {
    Tags tags{.size = packet.vlans * kTagBytes};
    std::copy_n(frame.begin() + 2 * RTE_ETHER_ADDR_LEN, tags.size, tags.bytes.begin());
    return tags;
}

// IEEE 802.1Q: the outer of two tags is a service tag.
Tags tags_of(const Station& station) noexcept {
    Tags tags;
    const std::size_t count = station.vlans ? station.vlans->size() : 0;
    for (std::size_t n = 0; n < std::min<std::size_t>(count, 2); ++n) {
        const Be16 type(count == 2 && n == 0 ? RTE_ETHER_TYPE_QINQ : RTE_ETHER_TYPE_VLAN);
        const Be16 control((*station.vlans)[n]);
        std::memcpy(tags.bytes.data() + tags.size, &type, sizeof type);
        std::memcpy(tags.bytes.data() + tags.size + sizeof type, &control, sizeof control);
        tags.size += kTagBytes;
    }
    return tags;
}

// Writes the link header; gives its length, or 0 where the frame would not fit.
std::size_t write_link(Room out, const MacAddress& to, const MacAddress& from, const Tags& tags,
                       std::uint16_t type, std::size_t behind) noexcept {
    const std::size_t length = RTE_ETHER_HDR_LEN + tags.size;
    const std::size_t whole = std::max(length + behind, kShortestFrame);
    if (out.size() < whole) {
        return 0;
    }
    std::fill_n(out.begin(), whole, std::uint8_t{0});
    std::ranges::copy(to.bytes, out.begin());
    std::ranges::copy(from.bytes, out.begin() + RTE_ETHER_ADDR_LEN);
    std::copy_n(tags.bytes.begin(), tags.size, out.begin() + 2 * RTE_ETHER_ADDR_LEN);
    const Be16 behind_tags(type);
    std::memcpy(out.data() + length - sizeof behind_tags, &behind_tags, sizeof behind_tags);
    return length;
}

std::size_t write_arp(Room out, const MacAddress& to, const Tags& tags,
                      const rte_arp_hdr& packet) noexcept {
    const std::size_t link = write_link(out, to, mac_of(packet.arp_data.arp_sha), tags,
                                        RTE_ETHER_TYPE_ARP, sizeof packet);
    if (link == 0) {
        return 0;
    }
    std::memcpy(out.data() + link, &packet, sizeof packet);
    return std::max(link + sizeof packet, kShortestFrame);
}

rte_arp_hdr arp_packet(std::uint16_t operation, const MacAddress& from_mac, const IpAddress& from,
                       const MacAddress& to_mac, const IpAddress& to) noexcept {
    return {.arp_hardware = Be16(RTE_ARP_HRD_ETHER).raw(),
            .arp_protocol = Be16(RTE_ETHER_TYPE_IPV4).raw(),
            .arp_hlen = RTE_ETHER_ADDR_LEN,
            .arp_plen = sizeof(std::uint32_t),
            .arp_opcode = Be16(operation).raw(),
            .arp_data = {.arp_sha = ether_of(from_mac),
                         .arp_sip = raw_of(from),
                         .arp_tha = ether_of(to_mac),
                         .arp_tip = raw_of(to)}};
}

// IPv6 over Ethernet from end to end.
struct Ends {
    MacAddress to_mac;
    MacAddress from_mac;
    IpAddress to;
    IpAddress from;
};

std::size_t write_message(Room out, const Ends& ends, const Tags& tags, NeighbourMessage message,
                          const LinkOption& option) noexcept {
    constexpr std::size_t kMessage = sizeof message + sizeof option;
    const std::size_t link = write_link(out, ends.to_mac, ends.from_mac, tags, RTE_ETHER_TYPE_IPV6,
                                        sizeof(rte_ipv6_hdr) + kMessage);
    if (link == 0) {
        return 0;
    }
    rte_ipv6_hdr ip{};
    ip.vtc_flow = Be32(6U << 28).raw();
    ip.payload_len = Be16(kMessage).raw();
    ip.proto = IPPROTO_ICMPV6;
    ip.hop_limits = kHopLimit;
    std::memcpy(ip.src_addr, ends.from.bytes.data(), ends.from.bytes.size());
    std::memcpy(ip.dst_addr, ends.to.bytes.data(), ends.to.bytes.size());
    std::uint8_t* const at = out.data() + link;
    std::memcpy(at, &ip, sizeof ip);
    std::uint8_t* const behind = at + sizeof ip;
    message.checksum = Be16();
    std::memcpy(behind, &message, sizeof message);
    std::memcpy(behind + sizeof message, &option, sizeof option);
    message.checksum = Be16(frame::checksum_of(
        frame::sum_bytes({behind, kMessage},
                         frame::pseudo_header_sum(ends.from, ends.to, IPPROTO_ICMPV6, kMessage))));
    std::memcpy(behind, &message, sizeof message);
    return link + sizeof ip + kMessage;
}

// A whole packet of neighbour discovery as RFC 4861 sections 7.1.1 and 7.1.2 let it pass.
struct Discovery {
    NeighbourMessage message;
    std::optional<MacAddress> option;  // of the kind that was looked for

    IpAddress target() const noexcept { return v6_of(message.target.data()); }
};

std::optional<MacAddress> find_option(Bytes options, std::uint8_t type) noexcept {
    constexpr std::size_t kUnit = 8;
    while (options.size() >= kUnit) {
        const std::size_t length = options[1] * kUnit;
        if (length == 0 || length > options.size()) {
            return std::nullopt;
        }
        if (options[0] == type && length == kUnit) {
            return MacAddress{frame::view<LinkOption>(options, 0)->mac};
        }
        options = options.subspan(length);
    }
    return std::nullopt;
}

std::optional<Discovery> read_discovery(Bytes frame, const frame::PacketView& packet,
                                        std::uint8_t type, std::uint8_t option) noexcept {
    if (packet.network != frame::Network::kIpv6 || packet.transport != frame::Transport::kIcmpv6 ||
        packet.fragment != frame::Fragment::kWhole || packet.malformed != frame::Malformed::kNone) {
        return std::nullopt;
    }
    const auto ip = frame::view<rte_ipv6_hdr>(frame, packet.network_offset);
    const Bytes whole = frame.subspan(packet.transport_offset, packet.transport_length);
    const auto message = frame::view<NeighbourMessage>(whole, 0);
    if (!ip || !message || message->type != type || message->code != 0 ||
        ip->hop_limits != kHopLimit || message->target[0] == 0xff) {
        return std::nullopt;
    }
    const auto sum = frame::folded(frame::sum_bytes(
        whole, frame::pseudo_header_sum(packet.source, packet.destination, IPPROTO_ICMPV6,
                                        static_cast<std::uint32_t>(whole.size()))));
    if (sum != 0xffff) {
        return std::nullopt;
    }
    return Discovery{*message, find_option(whole.subspan(sizeof *message), option)};
}

std::optional<rte_arp_hdr> read_arp(Bytes frame, const frame::PacketView& packet) noexcept {
    if (packet.ethertype != RTE_ETHER_TYPE_ARP) {
        return std::nullopt;
    }
    const auto arp = frame::view<rte_arp_hdr>(frame, RTE_ETHER_HDR_LEN + packet.vlans * kTagBytes);
    const bool ours = arp && arp->arp_hardware == Be16(RTE_ARP_HRD_ETHER).raw() &&
                      arp->arp_protocol == Be16(RTE_ETHER_TYPE_IPV4).raw() &&
                      arp->arp_hlen == RTE_ETHER_ADDR_LEN && arp->arp_plen == sizeof(std::uint32_t);
    return ours ? arp : std::nullopt;
}

// A sender without address (RFC 5227 section 1.1) is answered as well; one that has an address of the
// station announces its own.
std::size_t answer_arp(Room out, const rte_arp_hdr& arp, const Tags& tags,
                       const Station& station) noexcept {
    const IpAddress asked = v4_of(arp.arp_data.arp_tip);
    const IpAddress asker = v4_of(arp.arp_data.arp_sip);
    if (arp.arp_opcode != Be16(RTE_ARP_OP_REQUEST).raw() || !station.has(asked) ||
        station.has(asker)) {
        return 0;
    }
    const MacAddress to = mac_of(arp.arp_data.arp_sha);
    return write_arp(out, to, tags, arp_packet(RTE_ARP_OP_REPLY, station.mac, asked, to, asker));
}

std::size_t answer_solicitation(Room out, Bytes frame, const frame::PacketView& packet,
                                const Station& station) noexcept {
    const auto solicitation = read_discovery(frame, packet, kSolicitation, kSourceOption);
    if (!solicitation || !station.has(solicitation->target()) || station.has(packet.source)) {
        return 0;
    }
    const bool nameless = packet.source == IpAddress{.family = Family::kIpv6};
    const MacAddress link_source = mac_of(frame::view<rte_ether_hdr>(frame, 0)->src_addr);
    const IpAddress to = nameless ? all_nodes() : packet.source;
    NeighbourMessage answer{
        .type = kAdvertisement,
        .checksum = {},
        .flags = static_cast<std::uint8_t>(nameless ? kOverride : kOverride | kSolicited)};
    answer.target = solicitation->message.target;
    return write_message(
        out,
        {.to_mac = nameless ? group_mac(to) : solicitation->option.value_or(link_source),
         .from_mac = station.mac,
         .to = to,
         .from = solicitation->target()},
        tags_of(frame, packet), answer, {.type = kTargetOption, .mac = station.mac.bytes});
}

}  // namespace

bool AddressRange::has(const IpAddress& address) const noexcept {
    if (address.family != first.family) {
        return false;
    }
    const std::size_t same = first.size() - sizeof(std::uint32_t);
    return std::equal(first.bytes.begin(), first.bytes.begin() + static_cast<std::ptrdiff_t>(same),
                      address.bytes.begin()) &&
           low_bits(address) - low_bits(first) < count;
}

Result<AddressRange> parse_addresses(std::string_view text) {
    const std::size_t dash = text.find('-');
    const IpAddress first = TRY(frame::parse_ip(text.substr(0, dash)));
    if (dash == std::string_view::npos) {
        return AddressRange{first};
    }
    const IpAddress last = TRY(frame::parse_ip(text.substr(dash + 1)));
    const std::uint32_t behind = low_bits(last) - low_bits(first);
    if (last.family != first.family || last < first || first.plus(behind) != last ||
        behind >= kMostAddresses) {
        return fail(ErrorCode::kBadInput,
                    "'{}' is no range of addresses: FIRST-LAST, of one family, {} at most", text,
                    kMostAddresses);
    }
    return AddressRange{first, behind + 1};
}

IpAddress link_local(const MacAddress& mac) noexcept {
    IpAddress address{.family = Family::kIpv6, .bytes = {0xfe, 0x80}};
    const auto& from = mac.bytes;
    const std::array<std::uint8_t, 8> id{static_cast<std::uint8_t>(from[0] ^ 2),
                                         from[1],
                                         from[2],
                                         0xff,
                                         0xfe,
                                         from[3],
                                         from[4],
                                         from[5]};
    std::ranges::copy(id, address.bytes.begin() + 8);
    return address;
}

bool Station::has(const IpAddress& address) const noexcept {
    return std::ranges::any_of(addresses,
                               [&](const AddressRange& range) { return range.has(address); }) ||
           (address.family == Family::kIpv6 && address == link_local(mac));
}

std::size_t write_answer(Room out, Bytes frame, const Station& station) noexcept {
    const frame::PacketView packet = frame::parse_packet(frame);
    if (frame.size() < RTE_ETHER_HDR_LEN || !in_vlans(packet, station)) {
        return 0;
    }
    if (const auto arp = read_arp(frame, packet)) {
        return answer_arp(out, *arp, tags_of(frame, packet), station);
    }
    return answer_solicitation(out, frame, packet, station);
}

std::size_t write_question(Room out, const Station& station, const IpAddress& from,
                           const IpAddress& asked) noexcept {
    const Tags tags = tags_of(station);
    if (asked.family == Family::kIpv4) {
        return write_arp(out, kBroadcast, tags,
                         arp_packet(RTE_ARP_OP_REQUEST, station.mac, from, {}, asked));
    }
    const IpAddress group = solicited_node(asked);
    NeighbourMessage question{.type = kSolicitation, .checksum = {}};
    question.target = asked.bytes;
    return write_message(
        out, {.to_mac = group_mac(group), .from_mac = station.mac, .to = group, .from = from}, tags,
        question, {.type = kSourceOption, .mac = station.mac.bytes});
}

std::optional<MacAddress> told_by(Bytes frame, const Station& station,
                                  const IpAddress& asked) noexcept {
    const frame::PacketView packet = frame::parse_packet(frame);
    if (frame.size() < RTE_ETHER_HDR_LEN || !in_vlans(packet, station)) {
        return std::nullopt;
    }
    if (const auto arp = read_arp(frame, packet)) {
        const bool its_own = v4_of(arp->arp_data.arp_sip) == asked;
        return its_own ? std::optional(mac_of(arp->arp_data.arp_sha)) : std::nullopt;
    }
    const auto advertisement = read_discovery(frame, packet, kAdvertisement, kTargetOption);
    if (!advertisement || advertisement->target() != asked) {
        return std::nullopt;
    }
    return advertisement->option.value_or(mac_of(frame::view<rte_ether_hdr>(frame, 0)->src_addr));
}

}  // namespace pathproof::neighbour
