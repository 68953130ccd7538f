#include "dataplane/softnic/mechanisms.h"

#include <fmt/ranges.h>
#include <netinet/in.h>
#include <rte_mbuf_core.h>

#include <array>

namespace pathproof::softnic {
namespace {

std::array<std::span<const Mechanism>, 8> families() {
    return {checksum_mechanisms(), nat_mechanisms(),       length_mechanisms(),
            offset_mechanisms(),   segment_mechanisms(),   receive_mechanisms(),
            path_mechanisms(),     open_world_mechanisms()};
}

std::optional<Site> site_of(FaultField field, const PacketPlace& packet) {
    if (field == FaultField::kIp) {
        return ip_site(packet);
    }
    auto site = transport_site(packet);
    const auto is = [&](SiteKind kind) { return site && site->kind == kind; };
    const bool fits = field == FaultField::kL4 ||
                      (field == FaultField::kUdp && is(SiteKind::kUdp)) ||
                      (field == FaultField::kTcp && is(SiteKind::kTcp)) ||
                      (field == FaultField::kSctp && is(SiteKind::kSctp));
    return fits ? site : std::nullopt;
}

bool reaches(FaultLayer layer, Depth depth) {
    switch (layer) {
        case FaultLayer::kOuter: return depth == Depth::kOuter;
        case FaultLayer::kInner: return depth == Depth::kInner;
        case FaultLayer::kPlain: return depth == Depth::kPlain;
        case FaultLayer::kInnermost: return depth != Depth::kOuter;
        case FaultLayer::kOutermost: return depth != Depth::kInner;
        case FaultLayer::kAny: return true;
    }
    return false;
}

bool is_one_frame(FaultField field) {
    return field == FaultField::kFrame || field == FaultField::kCounter;
}

bool has_what_is_needed(Needs needs, const TxCase& at, const Target& target) {
    switch (needs) {
        case Needs::kAsked: return at.asked_for(target);
        case Needs::kUnasked: return target.site && !at.asked_for(target);
        case Needs::kField: return target.site.has_value();
        case Needs::kPacket: return target.packet->ip();
        case Needs::kFrame: break;
    }
    return true;
}

void redo_packet(const TxCase& at, Span frame, const Target& target, Redo redo) {
    const PacketPlace& packet = *target.packet;
    Target field = target;
    field.site = ip_site(packet);
    if (redo == Redo::kIp && field.site && at.asked_for(field)) {
        fill(frame, packet, field.site);
    }
    field.site = transport_site(packet);
    if (redo == Redo::kAll && field.site && at.asked_for(field)) {
        fill(frame, packet, field.site);
    }
}

}  // namespace

bool TxCase::asked_for(const Target& target) const {
    const std::uint64_t flags = given.request.offload.mbuf_flags;
    if (!target.site) {
        return false;
    }
    const bool ip = target.site->kind == SiteKind::kIpHeader;
    if (target.depth == Depth::kOuter) {
        const std::uint64_t wanted =
            ip ? RTE_MBUF_F_TX_OUTER_IP_CKSUM : RTE_MBUF_F_TX_OUTER_UDP_CKSUM;
        return (flags & wanted) != 0;
    }
    return ip ? (flags & RTE_MBUF_F_TX_IP_CKSUM) != 0
              : asked_transport(given.request) == target.packet->protocol;
}

const Mechanism* mechanism_named(std::string_view name, FaultDirection direction) {
    for (const auto family : families()) {
        for (const Mechanism& mechanism : family) {
            if (mechanism.name == name && mechanism.direction == direction) {
                return &mechanism;
            }
        }
    }
    return nullptr;
}

std::string mechanism_names(FaultDirection direction) {
    std::vector<std::string_view> names;
    for (const auto family : families()) {
        for (const Mechanism& mechanism : family) {
            if (mechanism.direction == direction) {
                names.push_back(mechanism.name);
            }
        }
    }
    return fmt::format("{}", fmt::join(names, ", "));
}

Targets targets_of(const Fault& fault, const Places& places) noexcept {
    const bool tunnel = places.tunnel != TunnelKind::kNone;
    const Depth first = tunnel ? Depth::kOuter : Depth::kPlain;
    Targets targets;
    const auto add = [&](const PacketPlace& packet, Depth depth) {
        targets.list[targets.count++] = {.packet = &packet,
                                         .depth = depth,
                                         .field = fault.field,
                                         .site = site_of(fault.field, packet)};
    };
    if (reaches(fault.layer, first)) {
        add(places.outer, first);
    }
    const bool both_once = is_one_frame(fault.field) && targets.count != 0;
    if (tunnel && reaches(fault.layer, Depth::kInner) && !both_once) {
        add(places.inner, Depth::kInner);
    }
    return targets;
}

bool applies(const Fault& fault, const TxCase& at, Bytes frame, const Target& target) noexcept {
    const Mechanism& mechanism = *fault.mechanism;
    const bool sctp = target.site && target.site->kind == SiteKind::kSctp;
    if (sctp && (mechanism.fields & field_bit(FaultField::kSctp)) == 0) {
        return false;
    }
    return has_what_is_needed(mechanism.needs, at, target) &&
           (mechanism.applies == nullptr || mechanism.applies(at, frame, target));
}

std::uint32_t value_with(Bytes frame, const Target& target,
                         std::initializer_list<std::uint32_t> words) noexcept {
    WordSum sum = sum_of(frame, *target.packet, *target.site);
    for (const std::uint32_t word : words) {
        sum.add_word(word);
    }
    return field_value(*target.site, sum);
}

void act(const Mechanism& mechanism, const TxCase& at, WireFrameBytes& frame,
         const Target& target) {
    if (mechanism.value != nullptr) {
        set_value(frame, *target.site, mechanism.value(at, frame, target));
    } else {
        mechanism.act(at, frame, target);
    }
    if (mechanism.redo == Redo::kNone) {
        return;
    }
    redo_packet(at, frame, target, mechanism.redo);
    if (target.depth == Depth::kInner) {
        fill_requested_outer(frame, at.places, at.given.request);
    }
}

}  // namespace pathproof::softnic
