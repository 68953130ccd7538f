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
            packet.destination.address = target.addresses->first;
            if (!target.addresses->is_one_address()) {
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
    if (rule.action == Action::kMasquerade) {
        const auto own = addresses_of(device(packet.out), packet.source.address.family);
        if (own.empty()) {
            // inet_select_addr() goes on to other devices.
            add_doubt(state.out, "an address of another device");
            return left.push_back({Left::Kind::kUnmodelled, std::move(state), &rule});
        }
        if (family_ == "ip") {
            // inet_select_addr(): the first in the next hop's network, else the first.
            const frame::IpAddress hop = state.out.gateway.value_or(packet.destination.address);
            const auto near = std::ranges::find_if(
                own, [&](const hazards::Address& each) { return each.network.contains(hop); });
            const auto& taken = near == own.end() ? own.front() : *near;
            state.out.sources = {{taken.address, taken.address}};
        } else {
            for (const hazards::Address& each : own) {
                state.out.sources.push_back({each.address, each.address});
            }
        }
    } else {
        for (const NatTarget& target : rule.nat) {
            if (target.addresses) {
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
