#include "harness/netfilter/parse.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <netinet/in.h>

#include <array>
#include <cstring>
#include <optional>

#include "harness/netfilter/names.h"
#include "harness/netfilter/netlink.h"

namespace pathproof::netfilter {
namespace {

// Since 6.14; newer than the headers we may be built with.
constexpr std::uint16_t kTimestampEvent = 27;

// Leaves the number alone when the attribute is shorter.
template <typename T>
void read_number(const nlattr& attribute, T& out) {
    out = load_be<T>(attribute).value_or(out);
}

void read_address(const nlattr& attribute, frame::Family family, frame::IpAddress& out) {
    const std::size_t size = family == frame::Family::kIpv4 ? 4 : 16;
    if (payload_bytes(attribute) < size) {
        return;
    }
    out = {.family = family, .bytes = {}};
    std::memcpy(out.bytes.data(), payload(attribute), size);
}

bool read_addresses(const nlattr& parent, Tuple& out) {
    bool found = false;
    each_nested(parent, [&](std::uint16_t type, const nlattr& attribute) {
        const bool source = type == CTA_IP_V4_SRC || type == CTA_IP_V6_SRC;
        const bool ipv4 = type == CTA_IP_V4_SRC || type == CTA_IP_V4_DST;
        if (source || ipv4 || type == CTA_IP_V6_DST) {
            read_address(attribute, ipv4 ? frame::Family::kIpv4 : frame::Family::kIpv6,
                         (source ? out.source : out.destination).address);
            found = true;
        }
    });
    return found;
}

void read_protocol(const nlattr& parent, Tuple& out) {
    Tuple::Icmp icmp;
    bool has_icmp = false;
    each_nested(parent, [&](std::uint16_t type, const nlattr& attribute) {
        switch (type) {
            case CTA_PROTO_NUM: read_number(attribute, out.protocol); return;
            case CTA_PROTO_SRC_PORT: read_number(attribute, out.source.port); return;
            case CTA_PROTO_DST_PORT: read_number(attribute, out.destination.port); return;
            case CTA_PROTO_ICMP_ID:
            case CTA_PROTO_ICMPV6_ID: read_number(attribute, icmp.id); break;
            case CTA_PROTO_ICMP_TYPE:
            case CTA_PROTO_ICMPV6_TYPE: read_number(attribute, icmp.type); break;
            case CTA_PROTO_ICMP_CODE:
            case CTA_PROTO_ICMPV6_CODE: read_number(attribute, icmp.code); break;
            default: return;
        }
        has_icmp = true;
    });
    if (has_icmp) {
        out.icmp = icmp;
    }
}

// A tuple without addresses is none.
bool read_tuple(const nlattr& parent, ZoneDirection direction, Tuple& tuple, Entry& entry) {
    bool found = false;
    each_nested(parent, [&](std::uint16_t type, const nlattr& attribute) {
        if (type == CTA_TUPLE_IP) {
            found = read_addresses(attribute, tuple) || found;
        } else if (type == CTA_TUPLE_PROTO) {
            read_protocol(attribute, tuple);
        } else if (type == CTA_TUPLE_ZONE) {
            if (const auto zone = load_be<std::uint16_t>(attribute)) {
                entry.zone = *zone;
                entry.zone_direction = direction;
            }
        }
    });
    return found;
}

struct ProtocolInfo {
    std::uint16_t type;
    std::uint16_t state;
    std::uint8_t protocol;
};
constexpr ProtocolInfo kProtocolInfos[] = {
    {CTA_PROTOINFO_TCP, CTA_PROTOINFO_TCP_STATE, IPPROTO_TCP},
    {CTA_PROTOINFO_SCTP, CTA_PROTOINFO_SCTP_STATE, IPPROTO_SCTP},
    {CTA_PROTOINFO_DCCP, CTA_PROTOINFO_DCCP_STATE, IPPROTO_DCCP}};

void read_protocol_info(const nlattr& parent, std::string& out) {
    each_nested(parent, [&](std::uint16_t type, const nlattr& info) {
        const auto* known = std::ranges::find(kProtocolInfos, type, &ProtocolInfo::type);
        if (known == std::end(kProtocolInfos)) {
            return;
        }
        each_nested(info, [&](std::uint16_t inner, const nlattr& attribute) {
            const auto state = load_be<std::uint8_t>(attribute);
            if (inner == known->state && state) {
                out = state_name(known->protocol, *state);
            }
        });
    });
}

void read_text(const nlattr& parent, std::uint16_t wanted, std::string& out) {
    each_nested(parent, [&](std::uint16_t type, const nlattr& attribute) {
        if (type == wanted) {
            out = load_text(attribute);
        }
    });
}

void read_counters(const nlattr& parent, std::optional<Counters>& out) {
    Counters counters;
    each_nested(parent, [&](std::uint16_t type, const nlattr& attribute) {
        if (type == CTA_COUNTERS_PACKETS) {
            read_number(attribute, counters.packets);
        } else if (type == CTA_COUNTERS_BYTES) {
            read_number(attribute, counters.bytes);
        }
    });
    out = counters;
}

void read_timestamps(const nlattr& parent, Entry& entry) {
    each_nested(parent, [&](std::uint16_t type, const nlattr& attribute) {
        if (type == CTA_TIMESTAMP_START) {
            entry.started_ns = load_be<std::uint64_t>(attribute);
        } else if (type == CTA_TIMESTAMP_STOP) {
            entry.stopped_ns = load_be<std::uint64_t>(attribute);
        }
    });
}

void read_labels(const nlattr& attribute, std::vector<std::uint8_t>& out) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(payload(attribute));
    out.assign(bytes, bytes + payload_bytes(attribute));
}

// Empties an entry but keeps the memory of its strings.
void clear(Entry& entry) {
    entry.id = 0;
    entry.original = Tuple{};
    entry.reply = Tuple{};
    entry.status = 0;
    entry.timeout_s.reset();
    entry.mark = 0;
    entry.mark_reported = false;
    entry.zone = 0;
    entry.zone_direction = ZoneDirection::kBoth;
    entry.protocol_state.clear();
    entry.helper.clear();
    entry.labels.clear();
    entry.original_counters.reset();
    entry.reply_counters.reset();
    entry.started_ns.reset();
    entry.stopped_ns.reset();
    entry.use.reset();
    entry.security_context.clear();
}

void read_plain_attribute(std::uint16_t type, const nlattr& attribute, Entry& out) {
    switch (type) {
        case CTA_STATUS: read_number(attribute, out.status); break;
        case CTA_PROTOINFO: read_protocol_info(attribute, out.protocol_state); break;
        case CTA_HELP: read_text(attribute, CTA_HELP_NAME, out.helper); break;
        case CTA_TIMEOUT: out.timeout_s = load_be<std::uint32_t>(attribute); break;
        case CTA_MARK:
            read_number(attribute, out.mark);
            out.mark_reported = true;
            break;
        case CTA_COUNTERS_ORIG: read_counters(attribute, out.original_counters); break;
        case CTA_COUNTERS_REPLY: read_counters(attribute, out.reply_counters); break;
        case CTA_USE: out.use = load_be<std::uint32_t>(attribute); break;
        case CTA_ID: read_number(attribute, out.id); break;
        case CTA_ZONE: read_number(attribute, out.zone); break;
        case CTA_SECCTX: read_text(attribute, CTA_SECCTX_NAME, out.security_context); break;
        case CTA_TIMESTAMP: read_timestamps(attribute, out); break;
        case CTA_LABELS: read_labels(attribute, out.labels); break;
        default: break;
    }
}

EventKind event_kind(const nlmsghdr& message) {
    if ((message.nlmsg_type & 0xff) == IPCTNL_MSG_CT_DELETE) {
        return EventKind::kDestroy;
    }
    // ctnetlink_conntrack_event gives these flags to IPCT_NEW and IPCT_RELATED only.
    return message.nlmsg_flags & (NLM_F_CREATE | NLM_F_EXCL) ? EventKind::kNew : EventKind::kUpdate;
}

// Names of the counters in `conntrack -S`, by CTA_STATS_*.
constexpr std::array<std::string_view, CTA_STATS_CHAIN_TOOLONG + 1> kCounterNames{
    "",       "searched",       "found",         "new",           "invalid", "ignore",
    "delete", "delete_list",    "insert",        "insert_failed", "drop",    "early_drop",
    "error",  "search_restart", "clash_resolve", "chaintoolong"};

}  // namespace

Parsed parse_entry(const nlmsghdr& message, Entry& out) {
    clear(out);
    bool has_original = false;
    bool has_reply = false;
    each_in_message(message, sizeof(nfgenmsg), [&](std::uint16_t type, const nlattr& attribute) {
        if (type == CTA_TUPLE_ORIG) {
            has_original = read_tuple(attribute, ZoneDirection::kOriginal, out.original, out);
        } else if (type == CTA_TUPLE_REPLY) {
            has_reply = read_tuple(attribute, ZoneDirection::kReply, out.reply, out);
        } else {
            read_plain_attribute(type, attribute, out);
        }
    });
    return has_original && has_reply ? Parsed::kOk : Parsed::kUnreadable;
}

Parsed parse_event(const nlmsghdr& message, std::int64_t time_ns, Event& out) {
    out.kind = event_kind(message);
    out.time_ns = time_ns;
    out.cause_port = message.nlmsg_pid;
    out.kernel_time_ns.reset();
    out.missed = false;
    if (parse_entry(message, out.entry) == Parsed::kUnreadable) {
        return Parsed::kUnreadable;
    }
    each_in_message(message, sizeof(nfgenmsg), [&](std::uint16_t type, const nlattr& attribute) {
        if (type == kTimestampEvent) {
            out.kernel_time_ns = load_be<std::uint64_t>(attribute);
        }
    });
    return Parsed::kOk;
}

Parsed parse_cpu_stats(const nlmsghdr& message, CpuStats& out) {
    out = CpuStats{};
    if (message.nlmsg_len < MNL_NLMSG_HDRLEN + MNL_ALIGN(sizeof(nfgenmsg))) {
        return Parsed::kUnreadable;
    }
    // ctnetlink_ct_stat_cpu_fill_info puts the CPU where other messages have a resource id.
    out.cpu = ntohs(static_cast<const nfgenmsg*>(mnl_nlmsg_get_payload(&message))->res_id);
    each_in_message(message, sizeof(nfgenmsg), [&](std::uint16_t type, const nlattr& attribute) {
        const auto value = load_be<std::uint32_t>(attribute);
        if (!value || type == CTA_STATS_UNSPEC) {
            return;
        }
        out.counters.emplace_back(type < kCounterNames.size() ? std::string(kCounterNames[type])
                                                              : fmt::format("counter_{}", type),
                                  *value);
    });
    return Parsed::kOk;
}

}  // namespace pathproof::netfilter
