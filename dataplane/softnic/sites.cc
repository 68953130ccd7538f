#include "dataplane/softnic/sites.h"

#include <netinet/in.h>

#include "dataplane/softnic/bytes.h"

namespace pathproof::softnic {

std::optional<Site> ip_site(const PacketPlace& packet) noexcept {
    if (packet.family != 4) {
        return std::nullopt;
    }
    return Site{
        .kind = SiteKind::kIpHeader, .at = packet.l3 + 10, .start = packet.l3, .end = packet.l4};
}

std::optional<Site> transport_site(const PacketPlace& packet) noexcept {
    Site site{.start = packet.l4, .end = packet.l4 + packet.l4_length};
    switch (packet.transport) {
        case IPPROTO_UDP:
            site.kind = SiteKind::kUdp;
            site.at = packet.l4 + 6;
            return site;
        case IPPROTO_TCP:
            site.kind = SiteKind::kTcp;
            site.at = packet.l4 + 16;
            return site;
        case IPPROTO_SCTP:
            site.kind = SiteKind::kSctp;
            site.at = packet.l4 + 8;
            return site;
        default: return std::nullopt;
    }
}

void add_addresses(WordSum& sum, Bytes frame, const PacketPlace& packet) noexcept {
    sum.add(frame.subspan(packet.source_at, packet.address_length()));
    sum.add(frame.subspan(packet.destination_at, packet.address_length()));
    sum.add_word(packet.protocol);
}

void add_pseudo_header(WordSum& sum, Bytes frame, const PacketPlace& packet,
                       std::uint32_t length) noexcept {
    add_addresses(sum, frame, packet);
    sum.add_word(length);
    sum.add_word(length >> 16);
}

WordSum sum_of(Bytes frame, const PacketPlace& packet, const Site& site) noexcept {
    WordSum sum;
    if (site.has_pseudo_header()) {
        add_pseudo_header(sum, frame, packet, site.length());
    }
    sum.add(frame.subspan(site.start, site.at - site.start));
    sum.add(frame.subspan(site.at + 2, site.end - site.at - 2));
    return sum;
}

std::uint16_t mangled(const Site& site, std::uint16_t value) noexcept {
    return site.kind == SiteKind::kUdp && value == 0 ? 0xffff : value;
}

std::uint16_t field_value(const Site& site, const WordSum& sum) noexcept {
    return mangled(site, sum.inverted());
}

std::uint32_t right_value(Bytes frame, const PacketPlace& packet, const Site& site) noexcept {
    if (site.kind == SiteKind::kSctp) {
        return sctp_checksum(frame.subspan(site.start, site.length()), site.at - site.start);
    }
    return field_value(site, sum_of(frame, packet, site));
}

std::uint32_t value_at(Bytes frame, const Site& site) noexcept {
    return site.kind == SiteKind::kSctp ? get32(frame, site.at) : get16(frame, site.at);
}

bool is_off(Bytes frame, const Site& site) noexcept {
    return site.kind == SiteKind::kUdp && value_at(frame, site) == 0;
}

void set_value(std::span<std::uint8_t> frame, const Site& site, std::uint32_t value) noexcept {
    if (site.kind == SiteKind::kSctp) {
        put32(frame, site.at, value);
    } else {
        put16(frame, site.at, value);
    }
}

void fill(std::span<std::uint8_t> frame, const PacketPlace& packet,
          const std::optional<Site>& site) noexcept {
    if (site) {
        set_value(frame, *site, right_value(frame, packet, *site));
    }
}

}  // namespace pathproof::softnic
