#include "harness/fate/ending.h"

#include <fmt/format.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

namespace pathproof::fate {
namespace {

// A function that calls into a hook of netfilter, and the hook (NF_HOOK in net/ipv4, net/ipv6,
// net/bridge, net/core).
struct HookCaller {
    std::string_view function;
    std::string_view hook;
};
constexpr HookCaller kHookCallers[] = {
    {"ip_rcv", "prerouting"},
    {"ipv6_rcv", "prerouting"},
    {"ip_list_rcv", "prerouting"},
    {"ipv6_list_rcv", "prerouting"},
    {"ip_sublist_rcv", "prerouting"},
    {"ip_local_deliver", "input"},
    {"ip6_input", "input"},
    {"ip6_mc_input", "input"},
    {"ip_forward", "forward"},
    {"ip6_forward", "forward"},
    {"ip6mr_forward2", "forward"},
    {"ipmr_queue_xmit", "forward"},
    {"__ip_local_out", "output"},
    {"__ip6_local_out", "output"},
    {"ip6_xmit", "output"},
    {"raw_sendmsg", "output"},
    {"rawv6_sendmsg", "output"},
    {"ip_output", "postrouting"},
    {"ip_mc_output", "postrouting"},
    {"ip6_output", "postrouting"},
    {"xfrm_output_resume", "postrouting"},
    {"br_handle_frame", "bridge prerouting"},
    {"br_pass_frame_up", "bridge input"},
    {"__br_forward", "bridge forward"},
    {"br_forward_finish", "bridge postrouting"},
    {"br_nf_pre_routing", "prerouting, on a bridge"},
    {"br_nf_pre_routing_ipv6", "prerouting, on a bridge"},
    {"br_nf_forward", "forward, on a bridge"},
    {"br_nf_forward_ip", "forward, on a bridge"},
    {"br_nf_post_routing", "postrouting, on a bridge"},
    {"__netif_receive_skb_core", "ingress"},
    {"__dev_queue_xmit", "egress"},
};

// The meaning of a reason: a word for scripts, and one for people.
struct Meaning {
    std::string_view reason;
    std::string_view cause;
    std::string_view text;
};
constexpr Meaning kMeanings[] = {
    {"TC_INGRESS", "tc-ingress", "by tc at ingress"},
    {"TC_EGRESS", "tc-egress", "by tc at egress"},
    {"XDP", "xdp", "by an XDP program"},
    {"QDISC_DROP", "qdisc", "by a queueing discipline: its queue was full"},
    {"QDISC_OVERLIMIT", "qdisc", "by a queueing discipline: over its limit"},
    {"QDISC_CONGESTED", "qdisc", "by a queueing discipline: congestion"},
    {"CPU_BACKLOG", "backlog", "as a CPU's backlog was full (net.core.netdev_max_backlog)"},
    {"NEIGH_FAILED", "neighbour", "as no neighbour answered"},
    {"NEIGH_QUEUEFULL", "neighbour", "as too many packets waited for a neighbour"},
    {"NEIGH_DEAD", "neighbour", "as the neighbour entry was gone"},
    {"NEIGH_CREATEFAIL", "neighbour", "as no neighbour entry could be made"},
    {"NEIGH_HH_FILLFAIL", "neighbour", "as the link-layer header could not be made"},
    {"IP_RPFILTER", "rp-filter", "by the reverse path filter (rp_filter)"},
    {"IP_INNOROUTES", "no-route", "as there is no route to its destination"},
    {"IP_OUTNOROUTES", "no-route", "as there is no route to its destination"},
    {"IP_INADDRERRORS", "no-route", "as the destination is not to be routed to"},
    {"IP_LOCAL_SOURCE", "martian", "as the source is an address of this host"},
    {"IP_INVALID_SOURCE", "martian", "as the source can be nobody's"},
    {"IP_LOCALNET", "martian", "as the source is in 127.0.0.0/8"},
    {"IP_INVALID_DEST", "martian", "as the destination can be nobody's"},
    {"OTHERHOST", "other-host", "as the link-layer destination is another host's"},
    {"NO_SOCKET", "no-socket", "as no socket listens there"},
    {"SOCKET_CLOSE", "socket-closed", "as the socket was closed"},
    {"SOCKET_FILTER", "socket-filter", "by the socket's filter"},
    {"SOCKET_RCVBUFF", "socket-full", "as the socket's receive buffer was full"},
    {"PROTO_MEM", "socket-full", "as the protocol's memory was used up"},
    {"SOCKET_BACKLOG", "socket-full", "as the socket's backlog was full"},
    {"QUEUE_PURGE", "not-read", "unread, when its queue was emptied"},
    {"TCP_LISTEN_OVERFLOW", "listen-overflow", "as the listener's queue was full"},
    {"PKT_TOO_BIG", "mtu", "as it is longer than the next link takes"},
    {"FRAG_REASM_TIMEOUT", "fragments", "as other fragments of it did not come in time"},
    {"DUP_FRAG", "fragments", "as a fragment that was there already"},
    {"FRAG_TOO_FAR", "fragments", "as the fragments were too far apart"},
    {"IP_CSUM", "checksum", "as the IP checksum is wrong"},
    {"UDP_CSUM", "checksum", "as the UDP checksum is wrong"},
    {"TCP_CSUM", "checksum", "as the TCP checksum is wrong"},
    {"ICMP_CSUM", "checksum", "as the ICMP checksum is wrong"},
    {"SKB_CSUM", "checksum", "as the checksum could not be made"},
    {"DEV_READY", "device-down", "as the device was down"},
    {"FULL_RING", "ring-full", "as the device's ring was full"},
    {"TAP_FILTER", "tap-filter", "by the filter of a tap"},
    {"TAP_TXFILTER", "tap-filter", "by the filter of a tap"},
    {"SECURITY_HOOK", "security", "by a security module"},
    {"BPF_CGROUP_EGRESS", "cgroup", "by a BPF program of a control group"},
    {"XFRM_POLICY", "xfrm", "by an IPsec policy"},
    {"NOMEM", "memory", "for want of memory"},
    {"IP_INHDR", "ip-header", "for the IP header"},
    {"UNHANDLED_PROTO", "no-protocol", "as nothing handles its protocol"},
    {"IP_NOPROTO", "no-protocol", "as nothing handles its protocol"},
    {"NO_TX_TARGET", "no-port", "as a bridge or tunnel had no port for it"},
    {"VXLAN_VNI_NOT_FOUND", "vni", "as no VXLAN device has its VNI"},
    {"VXLAN_INVALID_HDR", "vxlan-header", "for the VXLAN header"},
};
// A TCP socket has these: they are no losses.
constexpr std::string_view kTaken[] = {"TCP_RESET", "TCP_OLD_DATA", "TCP_OLD_ACK", "TCP_OFOMERGE",
                                       "TCP_TOO_OLD_ACK"};

bool begins_with_any(const std::vector<std::string>& functions,
                     std::initializer_list<std::string_view> words) {
    return std::ranges::any_of(functions, [&](const std::string& function) {
        return std::ranges::any_of(
            words, [&](std::string_view word) { return function.starts_with(word); });
    });
}

std::span<const fate_step> steps_of(const fate_record& record) {
    return {record.way, std::min<std::size_t>(record.steps, FATE_MOST_STEPS)};
}

const fate_step* last_of(const fate_record& record, fate_place place) {
    const fate_step* found = nullptr;
    for (const fate_step& step : steps_of(record)) {
        if (step.place == place) {
            found = &step;
        }
    }
    return found;
}

bool ends_with(const fate_record& record, fate_place place) {
    const auto steps = steps_of(record);
    return !steps.empty() && steps.back().place == place;
}

std::string where(const fate_step& step, const Names& names) {
    return fmt::format("{} of {}", step.device == 0 ? "?" : names.device(step.netns, step.device),
                       names.netns(step.netns));
}

// Returns whether the function that let go of the packet begins so: the first one that is not itself
// for freeing.
bool freed_by_any(const std::vector<std::string>& functions,
                  std::initializer_list<std::string_view> words) {
    const auto by = std::ranges::find_if(functions, [](const std::string& function) {
        return !function.starts_with("kfree_skb") && !function.starts_with("sk_skb_reason_drop") &&
               !function.starts_with("__sk_skb_reason_drop");
    });
    return by != functions.end() && begins_with_any({*by}, words);
}

// The packet was let go by a hook of netfilter.
struct HookDrop {
    bool is = false;
    bool by_nft = false;  // nftables let go of it itself: a rule or the policy of a chain
    std::string hook;     // empty: not known
};
HookDrop hook_drop(const std::vector<std::string>& functions, const std::string& reason) {
    const auto slow = std::ranges::find_if(functions, [](const std::string& function) {
        return function.starts_with("nf_hook_slow");
    });
    HookDrop drop{.is = reason == "NETFILTER_DROP"};
    // Since Linux 6.8 nf_tables frees what a verdict drops (NF_DROP_REASON).
    drop.by_nft = drop.is && freed_by_any(functions, {"nft_"});
    if (slow == functions.end()) {
        return drop;
    }
    // A packet that ended within a hook's function ended there, and not by the hook's verdict.
    drop.is = drop.is || freed_by_any(functions, {"nf_hook_slow"});
    for (auto caller = slow; caller != functions.end(); ++caller) {
        const auto known = std::ranges::find(kHookCallers, *caller, &HookCaller::function);
        if (known != std::end(kHookCallers)) {
            drop.hook = known->hook;
            break;
        }
    }
    return drop;
}

void take_hook(const fate_record& record, const std::vector<std::string>& functions,
               const HookDrop& drop, End& end) {
    end.hook = drop.hook;
    const std::string in = drop.hook.empty() ? "in a hook" : "in hook " + drop.hook;
    const bool counted = (record.flags & FATE_WAS_COUNTED) != 0 && ends_with(record, FATE_RECEIVED);
    const bool has_entry = (record.flags & FATE_HAS_ENTRY) != 0;
    const bool is_confirmed = (record.flags & FATE_IS_CONFIRMED) != 0;
    // Behind source NAT a new entry meets nothing but conntrack's confirmation.
    const bool is_past_nat = has_entry && !is_confirmed &&
                             (record.entry_status & IPS_SRC_NAT_DONE) != 0 &&
                             (drop.hook == "postrouting" || drop.hook == "input");
    if (begins_with_any(functions, {"nf_reinject", "nfqnl_"})) {
        end.cause = "nfqueue";
        end.text = "by the program behind an NFQUEUE, " + in;
    } else if (const fate_step* answer = last_of(record, FATE_ANSWERED)) {
        end.cause = "reject";
        end.text = fmt::format("by a rule that rejects it, {} (ICMP type {}, code {})", in,
                               answer->value >> 8, answer->value & 0xff);
    } else if (drop.by_nft) {
        end.cause = "rule";
        end.text = "by a rule or a policy of nftables, " + in;
    } else if (counted && record.grown.insert_failed != 0) {
        end.cause = "insert-failed";
        end.text = "by conntrack: its entry could not be inserted (insert_failed), " + in;
    } else if (counted && record.grown.chaintoolong != 0) {
        end.cause = "insert-failed";
        end.text = "by conntrack: too many entries in one bucket (chaintoolong), " + in;
    } else if (counted && record.grown.drop != 0 && !has_entry) {
        end.cause = "table-full";
        end.text = "by conntrack: it got no entry (drop), " + in;
    } else if (counted && record.grown.drop != 0) {
        end.cause = "conntrack";
        end.text = "by conntrack: its entry does not allow it (drop), " + in;
    } else if (!counted && is_past_nat) {
        end.cause = "insert-failed";
        end.text = "by conntrack: its entry could not be inserted, behind NAT " + in;
    } else if (counted || is_confirmed) {
        // An entry that is in the table is neither refused nor inserted any more.
        end.cause = "rule";
        end.text = "by a rule or a policy, " + in;
    } else {
        end.cause = "netfilter";
        end.text = fmt::format("by netfilter, {}: by a rule, a policy or conntrack", in);
    }
}

void take_drop(const fate_record& record, const std::vector<std::string>& functions,
               const Names& names, End& end) {
    end.ending = Ending::kDropped;
    const bool closed = end.reason == "QUEUE_PURGE" && record.first.protocol == IPPROTO_TCP;
    if (closed || std::ranges::find(kTaken, end.reason) != std::end(kTaken)) {
        end.ending = Ending::kDelivered;
        end.text = "to a TCP socket";
        return;
    }
    // Echo replies: raw sockets have taken copies of theirs before (icmp_rcv(), icmpv6_rcv()), and the
    // packet itself is for ping sockets, which few programs use.
    if (end.reason == "NO_SOCKET" &&
        begins_with_any(functions, {"ping_rcv", "icmp_rcv", "icmpv6_rcv"})) {
        end.ending = Ending::kDelivered;
        end.text = "to the kernel (ICMP), behind raw sockets";
        return;
    }
    if (const HookDrop drop = hook_drop(functions, end.reason); drop.is) {
        take_hook(record, functions, drop, end);
        return;
    }
    // A process that reads a packet gives its memory back without a tracepoint
    // (skb_attempt_defer_free()). A packet freed at the same address later is another one.
    if (ends_with(record, FATE_READ)) {
        end.ending = Ending::kDelivered;
        end.text = "to a process that read it";
        return;
    }
    const std::string at = end.place.empty() ? "" : " in " + end.place;
    const fate_step* answer = last_of(record, FATE_ANSWERED);
    // No tracepoint tells of the answer of ICMPv6; forwarding gives this reason for nothing else there.
    const bool answered_by_v6 =
        end.reason == "IP_INHDR" && begins_with_any(functions, {"ip6_forward"});
    if (answered_by_v6 ||
        (answer != nullptr && answer->value >> 8 == 11 &&
         direction_of(record) != Direction::kError && begins_with_any(functions, {"ip_forward"}))) {
        end.cause = "ttl";
        end.text = "as its time to live was over";
        return;
    }
    const auto meaning =
        std::ranges::find(kMeanings, std::string_view(end.reason), &Meaning::reason);
    if (meaning != std::end(kMeanings)) {
        end.cause = meaning->cause;
        end.text = meaning->text;
        return;
    }
    if (begins_with_any(functions, {"do_xdp_generic", "generic_xdp", "veth_xdp",
                                    "netif_receive_generic_xdp"})) {
        end.cause = "xdp";
        end.text = "by an XDP program";
        return;
    }
    if (end.reason.empty() || end.reason == "NOT_SPECIFIED") {
        if (begins_with_any(functions, {"neigh_", "arp_error_report", "ndisc_error_report"})) {
            end.cause = "neighbour";
            end.text = "as no neighbour answered";
        } else if (begins_with_any(functions, {"ip_error", "ip6_pkt_drop", "ip6_pkt_discard",
                                               "ip6_pkt_prohibit", "dst_discard"})) {
            end.cause = "no-route";
            end.text = "by its route, which is a blackhole, prohibits or is unreachable";
        } else if (ends_with(record, FATE_SENT)) {
            end.cause = "device";
            end.text = fmt::format(
                "by the device {}{}, without a reason",
                names.device(steps_of(record).back().netns, steps_of(record).back().device), at);
        } else {
            end.cause = "no-reason";
            end.text = "without a reason" + at;
        }
        return;
    }
    for (const char c : end.reason) {
        end.cause += c == '_' || c == ' ' ? '-' : static_cast<char>(std::tolower(c));
    }
    end.text = "for " + end.reason + at;
}

void take_delivery(const std::string& to, End& end) {
    end.ending = Ending::kDelivered;
    end.text = to;
}

void take_use(const fate_record& record, const std::vector<std::string>& functions,
              const Names& names, End& end) {
    if (last_of(record, FATE_READ) != nullptr) {
        take_delivery("to a process that read it", end);
    } else if (begins_with_any(functions, {"udp_recvmsg", "udpv6_recvmsg", "skb_consume_udp",
                                           "raw_recvmsg", "rawv6_recvmsg", "ping_recvmsg"})) {
        take_delivery("to a process that read it", end);
    } else if (ends_with(record, FATE_TCP) || begins_with_any(functions, {"tcp_", "__tcp_"})) {
        take_delivery("to a TCP socket", end);
    } else if (begins_with_any(functions, {"skb_defer_free_flush", "skb_attempt_defer_free"})) {
        // Only sockets put off the end of a packet.
        take_delivery(
            record.first.protocol == IPPROTO_TCP ? "to a TCP socket" : "to a process that read it",
            end);
    } else if (begins_with_any(functions, {"icmp_rcv", "icmpv6_rcv"})) {
        take_delivery("to the kernel (ICMP)", end);
    } else if (begins_with_any(functions, {"skb_segment", "__skb_gso_segment", "skb_gso_segment",
                                           "validate_xmit_skb"})) {
        end.ending = Ending::kCut;
        end.text = "into segments";
    } else if (begins_with_any(functions, {"ip_do_fragment", "ip_fragment", "ip6_fragment"})) {
        end.ending = Ending::kCut;
        end.text = "into fragments";
    } else if (begins_with_any(functions, {"inet_frag_", "ip_frag_", "ip_defrag", "ipv6_frag_rcv",
                                           "nf_ct_frag6_"})) {
        end.ending = Ending::kReassembled;
        end.text = "into a whole packet";
    } else if (begins_with_any(functions, {"veth_xdp", "do_xdp_generic"})) {
        end.ending = Ending::kConsumed;
        end.text = "by XDP, where it is not followed";
    } else if (ends_with(record, FATE_SENT)) {
        end.ending = Ending::kSent;
        end.device = names.device(steps_of(record).back().netns, steps_of(record).back().device);
        end.text = "by the device " + end.device;
    } else {
        end.ending = Ending::kConsumed;
        end.text = end.place.empty() ? "by something that is not known" : "in " + end.place;
    }
}

}  // namespace

std::vector<std::string> functions_of(const fate_record& record, const Names& names) {
    std::vector<std::string> all;
    for (const std::uint64_t address : record.stack) {
        if (address == 0) {
            break;
        }
        if (std::string function = names.function(address); !function.empty()) {
            all.push_back(std::move(function));
        }
    }
    // The innermost are the program's own and the tracepoint's.
    const auto inner = [](const std::string& function) {
        return function.starts_with("bpf_") || function.starts_with("__bpf_") ||
               function.starts_with("trace_") || function.starts_with("__traceiter");
    };
    all.erase(all.begin(), std::ranges::find_if_not(all, inner));
    return all;
}

Direction direction_of(const fate_record& record) {
    if (record.flags & FATE_IS_ERROR) {
        return Direction::kError;
    }
    return record.flags & FATE_IS_REPLY ? Direction::kBack : Direction::kThere;
}

End end_of(const fate_record& record, const Names& names) {
    const std::vector<std::string> functions = functions_of(record, names);
    End end{.netns = record.netns == 0 ? "" : names.netns(record.netns)};
    end.device.assign(record.device, strnlen(record.device, sizeof record.device));
    if (record.location != 0) {
        end.place = names.function(record.location);
    }
    // A device that is made tries its memory for packets (napi_get_frags_check()), at the address of one
    // that was given back before.
    const bool is_trial = record.end == FATE_FREED &&
                          begins_with_any(functions, {"napi_get_frags_check", "netif_napi_add"});
    switch (is_trial ? FATE_LOST : static_cast<fate_end>(record.end)) {
        case FATE_FREED:
            end.reason = names.reason(record.reason);
            take_drop(record, functions, names, end);
            break;
        case FATE_CONSUMED:
        case FATE_RELEASED: take_use(record, functions, names, end); break;
        case FATE_MERGED:
            end.ending = Ending::kMerged;
            end.text = "into the packet before it, by GRO";
            break;
        case FATE_LOST:
            if (ends_with(record, FATE_TCP)) {
                take_delivery("to a TCP socket", end);
            } else if (ends_with(record, FATE_READ)) {
                take_delivery("to a process that read it", end);
            } else {
                end.text = "its end was not seen";
            }
            break;
        case FATE_STILL_HELD:
        case FATE_ENDS:
            if (ends_with(record, FATE_TCP)) {
                take_delivery("to a TCP socket", end);
            } else if (ends_with(record, FATE_READ) ||
                       (record.in_socket == FATE_WAS_READ && ends_with(record, FATE_RECEIVED))) {
                take_delivery("to a process that read it", end);
            } else if (ends_with(record, FATE_SENT)) {
                end.ending = Ending::kSent;
                end.device =
                    names.device(steps_of(record).back().netns, steps_of(record).back().device);
                end.text = "by the device " + end.device;
            } else if (record.in_socket == FATE_IN_SOCKET && ends_with(record, FATE_RECEIVED)) {
                take_delivery(record.first.protocol == IPPROTO_TCP ? "to a TCP socket"
                                                                   : "to a socket's queue",
                              end);
            } else {
                end.ending = Ending::kHeld;
                end.text = ends_with(record, FATE_QUEUED)
                               ? "in a queueing discipline, or for a neighbour"
                               : "on a queue: of fragments or of a program";
            }
            break;
    }
    if (end.ending != Ending::kDropped) {
        end.reason.clear();
        end.place = end.ending == Ending::kConsumed ? end.place : "";
        end.device = end.ending == Ending::kSent ? end.device : "";
    }
    return end;
}

std::vector<std::string> way_of(const fate_record& record, const Names& names) {
    std::vector<std::string> way;
    for (const fate_step& step : steps_of(record)) {
        switch (static_cast<fate_place>(step.place)) {
            case FATE_RECEIVED: way.push_back("taken in from " + where(step, names)); break;
            case FATE_GRO: way.push_back("given to GRO by " + where(step, names)); break;
            case FATE_BACKLOG: way.push_back("put into a backlog by " + where(step, names)); break;
            case FATE_QUEUED: way.push_back("queued for " + where(step, names)); break;
            case FATE_SENT: way.push_back("given to " + where(step, names)); break;
            case FATE_TCP: way.push_back("in a TCP socket of " + names.netns(step.netns)); break;
            case FATE_READ: way.push_back("read by a process of " + names.netns(step.netns)); break;
            case FATE_ANSWERED:
                way.push_back(fmt::format("answered by ICMP type {}, code {}", step.value >> 8,
                                          step.value & 0xff));
                break;
            case FATE_RESET: way.push_back("answered by a RST of TCP"); break;
            case FATE_PLACES: break;
        }
    }
    if (record.steps > FATE_MOST_STEPS) {
        way.insert(way.end() - 1, fmt::format("{} more steps", record.steps - FATE_MOST_STEPS));
    }
    return way;
}

}  // namespace pathproof::fate
