#include "dataplane/softnic/source_nat.h"

#include <netinet/in.h>

#include <algorithm>

#include "dataplane/softnic/bytes.h"
#include "dataplane/softnic/sites.h"

namespace pathproof::softnic {
namespace {

frame::Endpoint source_of(Bytes bytes, const PacketPlace& packet) {
    frame::Endpoint source{.port = packet.source_port};
    source.address.family = packet.family == 4 ? frame::Family::kIpv4 : frame::Family::kIpv6;
    std::copy_n(bytes.begin() + packet.source_at, packet.address_length(),
                source.address.bytes.begin());
    return source;
}

// RFC 1624 equation 3, over the words at `at`.
void update(std::span<std::uint8_t> bytes, const Site& site, std::uint32_t at, Bytes now) {
    WordSum sum;
    sum.add_word(~value_at(bytes, site));
    for (std::uint32_t word = 0; word < now.size(); word += 2) {
        sum.add_word(~static_cast<std::uint32_t>(get16(bytes, at + word)));
        sum.add_word(get16(now, word));
    }
    set_value(bytes, site, field_value(site, sum));
}

bool is_on(Bytes bytes, const Site& site) {
    return site.kind != SiteKind::kUdp || value_at(bytes, site) != 0;
}

}  // namespace

void translate_source(TxFrame& frame, const frame::Endpoint& to, const NicLimits& limits) noexcept {
    const PacketPlace packet = find_places(frame.bytes, limits, told_by(frame.request)).outer;
    const bool ported = packet.transport == IPPROTO_UDP || packet.transport == IPPROTO_TCP;
    if (!packet.ip() || packet.address_length() != to.address.size() || !ported ||
        packet.fragment != FragmentKind::kWhole) {
        return;
    }
    frame.source_before_nat = source_of(frame.bytes, packet);
    const Bytes address(to.address.bytes.data(), to.address.size());
    const std::array<std::uint8_t, 2> port = {static_cast<std::uint8_t>(to.port >> 8),
                                              static_cast<std::uint8_t>(to.port)};
    if (const auto header = ip_site(packet)) {
        update(frame.bytes, *header, packet.source_at, address);
    }
    const auto transport = transport_site(packet);
    if (transport && is_on(frame.bytes, *transport)) {
        update(frame.bytes, *transport, packet.source_at, address);
        update(frame.bytes, *transport, packet.l4, port);
    }
    std::copy(address.begin(), address.end(), frame.bytes.begin() + packet.source_at);
    std::copy(port.begin(), port.end(), frame.bytes.begin() + packet.l4);
}

}  // namespace pathproof::softnic
