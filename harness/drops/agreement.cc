#include "harness/drops/agreement.h"

#include <fmt/format.h>

#include <algorithm>

namespace pathproof::drops {
namespace {

// nf_hook_slow() and its list variants let go of a packet when a hook's verdict is NF_DROP: that is
// how conntrack drops. Rules of nftables do it themselves on newer kernels (nft_do_chain).
// A location without a name may be either.
bool by_verdict(const DropCount& count) {
    return count.location.starts_with("nf_hook_slow") || count.location.starts_with("0x");
}

std::string why_more(const DropSummary& drops) {
    std::string causes = "rules dropped new flows as well";
    if (drops.scope == Scope::kMachine) {
        causes +=
            ", or other namespaces dropped: all of the machine's drops stand beside the "
            "counters of one namespace";
    }
    return causes;
}

std::string why_fewer(const DropSummary& drops) {
    if (drops.lost > 0) {
        return fmt::format("{} events were lost", drops.lost);
    }
    if (drops.nowhere > 0) {
        return fmt::format("{} dropped packets told no namespace", drops.nowhere);
    }
    if (drops.unspecified > 0) {
        return fmt::format(
            "packets that had waited in an NFQUEUE are freed without a reason, as {} were",
            drops.unspecified);
    }
    return "unexplained, if they were not dropped between the readings of the two";
}

}  // namespace

Agreement compare(const DropSummary& drops, const std::vector<netfilter::CpuStats>& change) {
    Agreement result{.insert_failed = total(change, "insert_failed"),
                     .drop = total(change, "drop"),
                     .chain_too_long = total(change, "chaintoolong")};
    // A clash that cannot be resolved raises both (nf_ct_resolve_clash), a full table only drop
    // (nf_conntrack_in), a dying entry only insert_failed.
    result.refused = std::max(result.insert_failed, result.drop) + result.chain_too_long;
    for (const DropCount& count : drops.counts) {
        if (count.reason != "NETFILTER_DROP") {
            continue;
        }
        if (by_verdict(count) && count.flow != FlowState::kKnown) {
            result.seen += count.packets;
            result.seen_past_nat += count.flow == FlowState::kNewPastNat ? count.packets : 0;
        } else {
            result.by_rules += count.packets;
        }
    }
    return result;
}

std::string explain(const Agreement& agreement, const DropSummary& drops) {
    const std::string counted = fmt::format(
        "conntrack refused {} packets (insert_failed {}, drop {}{})", agreement.refused,
        agreement.insert_failed, agreement.drop,
        agreement.chain_too_long == 0 ? ""
                                      : fmt::format(", chaintoolong {}", agreement.chain_too_long));
    const std::string rules =
        agreement.by_rules == 0 ? "" : fmt::format("; rules dropped {} more", agreement.by_rules);
    if (agreement.agree()) {
        return fmt::format("they agree: {}, as many were seen being dropped{}", counted, rules);
    }
    const std::int64_t difference = agreement.difference();
    return fmt::format(
        "they differ: {}, {} were seen being dropped by a hook's verdict, {} {}: {}{}", counted,
        agreement.seen, difference > 0 ? difference : -difference,
        difference > 0 ? "more" : "fewer", difference > 0 ? why_more(drops) : why_fewer(drops),
        rules);
}

}  // namespace pathproof::drops
