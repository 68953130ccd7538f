// The addresses and ports that rules of NAT give a packet.
#include <algorithm>

#include "harness/predict/packet_walk.h"

namespace pathproof::predict {

using hazards::Action;
using hazards::NatTarget;
using hazards::Rule;

namespace {

// The addresses that MASQUERADE and REDIRECT may take of a device: its own, of that family.
std::vector<hazards::Address> addresses_of(const hazards::Device* device, frame::Family family) {
    std::vector<hazards::Address> found;
    if (device != nullptr) {
        for (const hazards::Address& own : device->addresses) {
            // Masquerade takes no address of host or link scope.
            const bool loopback = family == frame::Family::kIpv4 && own.address.bytes[0] == 127;
            const bool link_local = family == frame::Family::kIpv6 &&
                                    own.address.bytes[0] == 0xfe &&
                                    (own.address.bytes[1] & 0xc0) == 0x80;
            if (own.address.family == family && !link_local && !loopback) {
                found.push_back(own);
            }
        }
    }
    return found;
}

// inet_select_addr(): of these IPv4 addresses the first in the next hop's network, else the first;
// secondary ones and those of other scopes are passed over.
std::optional<frame::IpAddress> selected(const std::vector<hazards::Address>& own,
                                         const std::optional<frame::IpAddress>& hop) {
    std::optional<frame::IpAddress> first;
    for (const hazards::Address& each : own) {
        if (each.secondary || each.scope != "global") {
            continue;
        }
        if (hop && each.network.contains(*hop)) {
            return each.address;
        }
        first = first ? first : each.address;
    }
    return first;
}

// nf_nat_masquerade_ipv4(): an address of the device, else the first one of the others, in their order.
std::optional<frame::IpAddress> masquerade_address(const hazards::Device* out,
                                                   const std::vector<hazards::Device>& devices,
                                                   const frame::IpAddress& hop) {
    constexpr auto kFamily = frame::Family::kIpv4;
    if (const auto near = selected(addresses_of(out, kFamily), hop); near) {
        return near;
    }
    for (const hazards::Device& device : devices) {
        if (const auto other = selected(addresses_of(&device, kFamily), std::nullopt); other) {
            return other;
        }
    }
    return std::nullopt;
}

// nf_nat_netmap(): the network's bits, and the address's own behind them.
frame::IpAddress mapped(frame::IpAddress address, const hazards::AddressRange& network) {
    for (std::size_t i = 0; i < address.size(); ++i) {
        const unsigned host = network.first.bytes[i] ^ network.last.bytes[i];
        address.bytes[i] =
            static_cast<std::uint8_t>(network.first.bytes[i] | (address.bytes[i] & host));
    }
    return address;
}

}  // namespace

void PacketWalk::translate_destination(const Rule& rule, State state, std::vector<Left>& left) {
    if (rule.nat.size() > 1) {
        add_doubt(state.out, "chance");
    }
    for (const NatTarget& target : rule.nat) {
        State one = state;
        Packet& packet = one.packet;
        const frame::Endpoint before = packet.destination;
        if (rule.action == Action::kRedirect) {
            const auto own = addresses_of(device(packet.in), before.address.family);
            if (!packet.sent_here && own.empty()) {
                // nf_nat_redirect(): a device without an address drops.
                left.push_back({Left::Kind::kDropped, std::move(one), &rule});
                continue;
            }
            packet.destination.address =
                packet.sent_here ? loopback(before.address.family) : own.front().address;
        } else if (target.addresses) {
            packet.destination.address = target.keeps_host
                                             ? mapped(before.address, *target.addresses)
                                             : target.addresses->first;
            if (!target.addresses->is_one_address() && !target.keeps_host) {
                one.out.destinations = *target.addresses;
                add_doubt(one.out, "one of several addresses");
            }
        }
        if (target.ports && packet.has_ports()) {
            const auto [first, last] = *target.ports;
            if (first == last) {
                packet.destination.port = first;
            } else if (before.port < first || before.port > last) {
                packet.destination.port = first;
                one.out.destination_ports = *target.ports;
                add_doubt(one.out, "one of several ports");
            }
        }
        packet.dnat = packet.destination != before;
        if (packet.destination.address != before.address) {
            one.reroutes = true;  // nf_nat_ipv4_local_fn()
            one.route_mark = packet.mark;
        }
        one.out.destination_rule = &rule;
        left.push_back({Left::Kind::kTranslated, std::move(one), &rule});
    }
}

frame::IpAddress PacketWalk::loopback(frame::Family family) {
    frame::IpAddress address{.family = family};
    if (family == frame::Family::kIpv4) {
        address.bytes[0] = 127;
        address.bytes[3] = 1;
    } else {
        address.bytes[15] = 1;
    }
    return address;
}

void PacketWalk::translate_source(const Rule& rule, State state, std::vector<Left>& left) {
    Packet& packet = state.packet;
    state.out.source_rule = &rule;
    if (rule.action == Action::kMasquerade && family_ == "ip") {
        const auto taken =
            masquerade_address(device(packet.out), compiled_.facts.devices,
                               state.out.gateway.value_or(packet.destination.address));
        if (!taken) {
            return left.push_back({Left::Kind::kDropped, std::move(state), &rule});
        }
        state.out.sources = {{*taken, *taken}};
    } else if (rule.action == Action::kMasquerade) {
        const auto own = addresses_of(device(packet.out), packet.source.address.family);
        if (own.empty()) {
            // ipv6_dev_get_saddr() goes on to other devices.
            add_doubt(state.out, "an address of another device");
            return left.push_back({Left::Kind::kUnmodelled, std::move(state), &rule});
        }
        for (const hazards::Address& each : own) {
            state.out.sources.push_back({each.address, each.address});
        }
    } else {
        for (const NatTarget& target : rule.nat) {
            if (target.addresses && target.keeps_host) {
                narrow_.by(packet.source, {{packet.source.address, packet.source.address}});
                const frame::IpAddress to = mapped(packet.source.address, *target.addresses);
                state.out.sources.push_back({to, to});
            } else if (target.addresses) {
                state.out.sources.push_back(*target.addresses);
            }
        }
    }
    if (!state.out.sources.empty()) {
        const frame::IpAddress before = packet.source.address;
        packet.source.address = state.out.sources.front().first;
        packet.snat = packet.source.address != before;
    }
    left.push_back({Left::Kind::kTranslated, std::move(state), &rule});
}

}  // namespace pathproof::predict
