#include "harness/drops/tally.h"

#include <linux/if_ether.h>
#include <linux/netfilter/nf_conntrack_common.h>

#include <algorithm>
#include <functional>

#include "harness/netfilter/names.h"

namespace pathproof::drops {

std::string protocol_word(std::uint16_t ethertype, std::optional<std::uint8_t> ip_protocol) {
    std::string word;
    switch (ethertype) {
        case 0: return "none";
        case ETH_P_ARP: return "arp";
        case ETH_P_IP: word = "ip"; break;
        case ETH_P_IPV6: word = "ip6"; break;
        default: return fmt::format("ethertype {:#06x}", ethertype);
    }
    if (!ip_protocol) {
        return word;
    }
    const std::string_view name = netfilter::protocol_name(*ip_protocol);
    return name == "unknown" ? fmt::format("{}/{}", word, *ip_protocol)
                             : fmt::format("{}/{}", word, name);
}

Tally::Tally(DropEvent event, Scope scope) : event_(std::move(event)), scope_(scope) {
    for (const auto& [reason, name] : event_.reasons) {
        if (name == "NETFILTER_DROP") {
            netfilter_drop_ = reason;
        }
    }
}

FlowState flow_state(const PacketFacts& facts) {
    if (!facts.looked_at) {
        return FlowState::kUntold;
    }
    const std::uint32_t status = facts.conntrack_status.value_or(IPS_TEMPLATE);
    if (status & IPS_TEMPLATE) {
        return FlowState::kNone;  // what iptables -j CT gives a packet before its entry is found
    }
    if (status & IPS_CONFIRMED) {
        return FlowState::kKnown;
    }
    return status & IPS_SRC_NAT_DONE ? FlowState::kNewPastNat : FlowState::kNew;
}

void Tally::add(const PacketFacts& facts, std::int64_t time_ns) {
    if (facts.reason < event_.not_specified) {
        return;  // SKB_NOT_DROPPED_YET and SKB_CONSUMED are no drops
    }
    const bool specified = facts.reason != event_.not_specified;
    if (scope_ == Scope::kNamespace && !facts.netns_inode) {
        nowhere_ += specified;
        return;
    }
    if (!specified) {
        ++unspecified_;
        return;
    }
    ++drops_;
    const Kind kind{
        .reason = facts.reason,
        .location = facts.location,
        .ethertype = facts.ethertype,
        .ip_protocol = facts.ip_protocol,
        .flow = facts.reason == netfilter_drop_ ? flow_state(facts) : FlowState::kUntold};
    last_.push_front({.time_ns = time_ns, .kind = kind});
    if (last_.size() > kMostLast) {
        last_.pop_back();
    }
    if (const auto known = kinds_.find(kind); known != kinds_.end()) {
        ++known->second;
    } else if (kinds_.size() < kMostKinds) {
        kinds_.emplace(kind, 1);
    } else {
        ++other_kinds_;
    }
}

DropCount Tally::named(const Kind& kind, std::uint64_t packets,
                       const KernelSymbols& symbols) const {
    return {.reason = event_.reason_name(kind.reason),
            .location = symbols.name(kind.location),
            .protocol = protocol_word(kind.ethertype, kind.ip_protocol),
            .flow = kind.flow,
            .packets = packets};
}

DropSummary Tally::summary(KernelSymbols& symbols) const {
    std::vector<std::uint64_t> locations;
    for (const auto& [kind, packets] : kinds_) {
        locations.push_back(kind.location);
    }
    for (const Last& drop : last_) {
        locations.push_back(drop.kind.location);
    }
    symbols.learn(locations);

    DropSummary summary{.scope = scope_,
                        .drops = drops_,
                        .unspecified = unspecified_,
                        .nowhere = nowhere_,
                        .other_kinds = other_kinds_};
    for (const auto& [kind, packets] : kinds_) {
        summary.counts.push_back(named(kind, packets, symbols));
    }
    std::ranges::stable_sort(summary.counts, std::greater(), &DropCount::packets);
    for (const Last& drop : last_) {
        DropCount words = named(drop.kind, 1, symbols);
        summary.last.push_back({.time_ns = drop.time_ns,
                                .reason = std::move(words.reason),
                                .location = std::move(words.location),
                                .protocol = std::move(words.protocol)});
    }
    return summary;
}

}  // namespace pathproof::drops
