// The device's own conversations, frames of one link, and refusals by ICMP.
#include <fmt/format.h>
#include <netinet/in.h>

#include "dataplane/follow/engine.h"

namespace pathproof::follow {

std::uint64_t digest_of_address(frame::Bytes address) {
    return digest(address, 7);
}

bool is_of_the_link(const Packet& packet) {
    constexpr std::uint16_t kArp = 0x0806, kRarp = 0x8035, kLldp = 0x88cc, kSlow = 0x8809,
                            kEapol = 0x888e;
    constexpr std::uint16_t kFirstType = 1536;
    if (packet.headless) {
        return false;
    }
    if (packet.ip == frame::Network::kNone) {
        const std::uint16_t type = packet.ethertype;
        return type == kArp || type == kRarp || type == kLldp || type == kSlow || type == kEapol ||
               type < kFirstType;
    }
    const frame::Bytes to = packet.destination();
    if (packet.ip == frame::Network::kIpv4) {
        const bool link_group = to[0] == 224 && to[1] == 0 && to[2] == 0;
        const bool everybody = to[0] == 255 && to[1] == 255 && to[2] == 255 && to[3] == 255;
        return link_group || everybody || packet.protocol == IPPROTO_IGMP;
    }
    const frame::Bytes from = packet.source();
    const bool link_group = to[0] == 0xff && (to[1] & 0xf) <= 2;
    const auto is_link_local = [](frame::Bytes a) { return a[0] == 0xfe && (a[1] & 0xc0) == 0x80; };
    if (link_group || is_link_local(to) || is_link_local(from)) {
        return true;
    }
    const bool icmp = packet.protocol == IPPROTO_ICMPV6 && packet.has_transport;
    const std::uint8_t type = icmp ? packet.bytes[packet.transport] : 0;
    return (type >= 130 && type <= 137) || type == 143;
}

// Returns whether a link's own frames stay on it: the path is a router, or an end of a tunnel.
bool Follower::Engine::stays_on_links() const {
    Transformations ends = options_.allowed;
    for (const Transformation one :
         {Transformation::kGso, Transformation::kGro, Transformation::kVlan,
          Transformation::kReorder, Transformation::kFragments}) {
        ends.reset(bit(one));
    }
    return ends.any();
}

// Frames that the device sends and takes by itself.
bool Follower::Engine::is_local(const Record& record, bool sent) {
    if (!stays_on_links()) {
        return !sent && options_.device_speaks && is_of_the_link(record.packet);
    }
    if (is_of_the_link(record.packet)) {
        return true;
    }
    if (record.packet.ip == frame::Network::kNone) {
        return false;
    }
    const auto& hosts = of(record.side).hosts;
    const frame::Bytes address = sent ? record.packet.destination() : record.packet.source();
    const auto host = hosts.find(digest_of_address(address));
    const bool reports = !sent && is_icmp_error(record.packet);
    return reports || (host != hosts.end() && host->second.asked && host->second.answered &&
                       !host->second.carried);
}

namespace {

// A packet as an ICMP error quotes it: addresses, protocol, identification, first transport word.
std::uint64_t digest_of_quote(frame::Bytes ip, bool v4) {
    if (ip.size() < (v4 ? 24u : 44u)) {
        return 0;
    }
    const std::size_t header = v4 ? (ip[0] & 0xfu) * 4u : 40u;
    if (ip.size() < header + 4) {
        return 0;
    }
    std::uint64_t sum = v4 ? digest(ip.subspan(12, 8)) : digest(ip.subspan(8, 32));
    sum = mix(sum, v4 ? ip[9] : ip[6]);
    sum = mix(sum, v4 ? ip[4] * 256u + ip[5] : 0u);
    return mix(sum, digest(ip.subspan(header, 4)));
}

// "too long for the next link (MTU 1400)" where RFC 1812 section 4.3.3 or RFC 4443 asks for it.
std::string refusal_of(const Packet& error) {
    const frame::Bytes message = error.bytes.subspan(error.transport);
    const std::uint8_t type = message[0];
    const std::uint8_t code = message[1];
    const bool v4 = error.ip == frame::Network::kIpv4;
    if ((v4 && type == 3 && code == 4) || (!v4 && type == 2)) {
        return fmt::format("too long for the next link (MTU {})",
                           v4 ? message[6] * 256u + message[7]
                              : message[4] << 24 | message[5] << 16 | message[6] << 8 | message[7]);
    }
    if ((v4 && type == 11) || (!v4 && type == 3)) {
        return "its hop limit was used up";
    }
    return "";
}

}  // namespace

// The device itself is who is sent frames that do not come out, and answers with such as did not go in.
void Follower::Engine::learn_own(Record& record) {
    if (record.packet.ip == frame::Network::kNone) {
        return;
    }
    OneSide& side = of(record.side);
    if (was_sent(record, guess_direction(record))) {
        side.hosts[digest_of_address(record.packet.destination())].asked = true;
        return;
    }
    side.hosts[digest_of_address(record.packet.source())].answered = true;
    if (is_icmp_error(record.packet)) {
        const frame::Bytes quote = record.packet.payload_bytes();
        const std::string refusal = refusal_of(record.packet);
        if (!refusal.empty()) {
            side.refusals[digest_of_quote(quote, record.packet.ip == frame::Network::kIpv4)] =
                refusal;
        }
    }
}

bool Follower::Engine::is_refused(const Record& record) const {
    const auto& refusals = sides_[static_cast<std::size_t>(record.side)].refusals;
    const Packet& packet = record.packet;
    return !refusals.empty() && packet.ip != frame::Network::kNone && !packet.headless &&
           refusals.contains(digest_of_quote(packet.bytes.subspan(packet.network),
                                             packet.ip == frame::Network::kIpv4));
}

}  // namespace pathproof::follow
