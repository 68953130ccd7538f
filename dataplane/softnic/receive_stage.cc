#include "dataplane/softnic/receive_stage.h"

#include "dataplane/softnic/sites.h"

namespace pathproof::softnic {
namespace {

// A receiver sums the field with the data: right is all ones (RFC 1071 section 1).
bool sums_up(Bytes frame, const PacketPlace& packet, const Site& site) {
    if (site.kind == SiteKind::kSctp) {
        return right_value(frame, packet, site) == value_at(frame, site);
    }
    WordSum sum = sum_of(frame, packet, site);
    sum.add_word(value_at(frame, site));
    return sum.folded() == 0xffff;
}

RxClaim claim(Bytes frame, const PacketPlace& packet, const Site& site) {
    return sums_up(frame, packet, site) ? RxClaim::kGood : RxClaim::kBad;
}

RxClaim network_claim(Bytes frame, const PacketPlace& packet) {
    const auto site = ip_site(packet);
    return site ? claim(frame, packet, *site) : RxClaim::kUnknown;
}

RxClaim transport_claim(Bytes frame, const PacketPlace& packet) {
    const auto site = transport_site(packet);
    if (!site || packet.fragment != FragmentKind::kWhole || !packet.destination_known ||
        is_off(frame, *site)) {
        return RxClaim::kUnknown;
    }
    return claim(frame, packet, *site);
}

}  // namespace

RxVerdict check(Bytes wire, const Places& places) noexcept {
    const PacketPlace& packet = places.innermost();
    RxVerdict verdict{.ip = network_claim(wire, packet), .l4 = transport_claim(wire, packet)};
    if (places.tunnel != TunnelKind::kNone) {
        verdict.outer_ip = network_claim(wire, places.outer);
        verdict.outer_l4 = transport_claim(wire, places.outer);
    }
    return verdict;
}

void deliver(Bytes wire, const RxVerdict& verdict, RxResult& result) {
    result.delivery = RxResult::Delivery::kDelivered;
    result.verdict = verdict;
    result.bytes.assign(wire.begin(), wire.end());
}

void count(const RxVerdict& verdict, NicCounters& counters) noexcept {
    const auto add = [](RxClaim of, std::uint64_t& counter) {
        counter += of == RxClaim::kBad ? 1 : 0;
        return of == RxClaim::kBad;
    };
    bool bad = add(verdict.ip, counters.rx_ip_csum_bad);
    bad |= add(verdict.l4, counters.rx_l4_csum_bad);
    bad |= add(verdict.outer_ip, counters.rx_outer_ip_csum_bad);
    bad |= add(verdict.outer_l4, counters.rx_outer_l4_csum_bad);
    counters.rx_csum_bad += bad ? 1 : 0;
    ++counters.rx_frames;
}

}  // namespace pathproof::softnic
