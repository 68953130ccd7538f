#include "harness/netfilter/text.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <libnetfilter_conntrack/libnetfilter_conntrack.h>
#include <netinet/in.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "harness/netfilter/names.h"

namespace pathproof::netfilter {
namespace {

constexpr std::uint32_t kHardwareOffload = 1u << 15;
constexpr std::uint64_t kNanosecondsInSecond = 1'000'000'000;

void append_number(std::string& out, std::uint64_t number) {
    const fmt::format_int digits(number);
    out.append(digits.data(), digits.size());
}

void append_field(std::string& out, std::string_view name, std::uint64_t number) {
    out += name;
    append_number(out, number);
    out += ' ';
}

void append_hex_field(std::string& out, std::string_view name, unsigned number) {
    out += name;
    fmt::format_to(std::back_inserter(out), "0x{:x} ", number);
}

// "udp      17 ": the word in eight columns.
void append_word(std::string& out, std::string_view word, unsigned number) {
    out += word;
    if (word.size() < 8) {
        out.append(8 - word.size(), ' ');
    }
    out += ' ';
    append_number(out, number);
    out += ' ';
}

void append_address(std::string& out, const frame::IpAddress& address) {
    if (address.family == frame::Family::kIpv4) {
        for (std::size_t i = 0; i < 4; ++i) {
            if (i > 0) {
                out += '.';
            }
            append_number(out, address.bytes[i]);
        }
        return;
    }
    char text[INET6_ADDRSTRLEN];
    out += inet_ntop(AF_INET6, address.bytes.data(), text, sizeof text);
}

void append_ports(std::string& out, const Tuple& tuple) {
    switch (tuple.protocol) {
        case IPPROTO_TCP:
        case IPPROTO_UDP:
        case IPPROTO_UDPLITE:
        case IPPROTO_SCTP:
        case IPPROTO_DCCP:
            append_field(out, "sport=", tuple.source.port);
            append_field(out, "dport=", tuple.destination.port);
            break;
        case IPPROTO_GRE:
            append_hex_field(out, "srckey=", tuple.source.port);
            append_hex_field(out, "dstkey=", tuple.destination.port);
            break;
        case IPPROTO_ICMP:
        case IPPROTO_ICMPV6: {
            const Tuple::Icmp icmp = tuple.icmp.value_or(Tuple::Icmp{});
            append_field(out, "type=", icmp.type);
            append_field(out, "code=", icmp.code);
            append_field(out, "id=", icmp.id);
            break;
        }
        default:
            break;
    }
}

void append_tuple(std::string& out, const Tuple& tuple) {
    out += "src=";
    append_address(out, tuple.source.address);
    out += " dst=";
    append_address(out, tuple.destination.address);
    out += ' ';
    append_ports(out, tuple);
}

void append_counters(std::string& out, const std::optional<Counters>& counters) {
    if (counters) {
        append_field(out, "packets=", counters->packets);
        append_field(out, "bytes=", counters->bytes);
    }
}

void append_original(std::string& out, const Entry& entry) {
    append_tuple(out, entry.original);
    if (entry.zone_direction == ZoneDirection::kOriginal) {
        append_field(out, "zone-orig=", entry.zone);
    }
    append_counters(out, entry.original_counters);
    if (entry.status != 0 && (entry.status & status::kSeenReply) == 0) {
        out += "[UNREPLIED] ";
    }
}

void append_reply(std::string& out, const Entry& entry) {
    append_tuple(out, entry.reply);
    if (entry.zone_direction == ZoneDirection::kReply) {
        append_field(out, "zone-reply=", entry.zone);
    }
    append_counters(out, entry.reply_counters);
    if (entry.status & kHardwareOffload) {
        out += "[HW_OFFLOAD] ";
    } else if (entry.status & status::kOffload) {
        out += "[OFFLOAD] ";
    } else if (entry.status & status::kAssured) {
        out += "[ASSURED] ";
    }
}

// "[start=Sat Nov 21 03:52:05 2026] ", local time as ctime(3) has it.
void append_time(std::string& out, std::string_view name, std::uint64_t time_ns) {
    const std::time_t seconds = static_cast<std::time_t>(time_ns / kNanosecondsInSecond);
    std::tm parts{};
    char text[64];
    localtime_r(&seconds, &parts);
    const std::size_t length = std::strftime(text, sizeof text, "%a %b %e %H:%M:%S %Y", &parts);
    fmt::format_to(std::back_inserter(out), "[{}={}] ", name, std::string_view(text, length));
}

void append_times(std::string& out, const Entry& entry, const TextOptions& options) {
    if (entry.started_ns) {
        const std::uint64_t until = entry.stopped_ns
                                        ? *entry.stopped_ns / kNanosecondsInSecond
                                        : static_cast<std::uint64_t>(std::time(nullptr));
        append_field(out, "delta-time=", until - *entry.started_ns / kNanosecondsInSecond);
    }
    if (options.kernel_times == TextOptions::Column::kHide) {
        return;
    }
    if (entry.started_ns) {
        append_time(out, "start", *entry.started_ns);
    }
    if (entry.stopped_ns) {
        append_time(out, "stop", *entry.stopped_ns);
    }
}

void append_labels(std::string& out, const Entry& entry, const LabelNames* labels) {
    if (labels == nullptr || entry.labels.empty()) {
        return;
    }
    out += "labels=";
    for (unsigned bit = 0; bit < entry.labels.size() * 8; ++bit) {
        if ((entry.labels[bit / 8] >> bit % 8 & 1) == 0) {
            continue;
        }
        if (const std::string name = labels->name(bit); !name.empty()) {
            out += name;
            out += ',';
        }
    }
    out.back() = ' ';
}

void append_rest(std::string& out, const Entry& entry, const TextOptions& options) {
    if (entry.mark_reported) {
        append_field(out, "mark=", entry.mark);
    }
    if (!entry.security_context.empty()) {
        fmt::format_to(std::back_inserter(out), "secctx={} ", entry.security_context);
    }
    if (entry.zone_direction == ZoneDirection::kBoth && entry.zone != 0) {
        append_field(out, "zone=", entry.zone);
    }
    append_times(out, entry, options);
    if (!entry.helper.empty()) {
        fmt::format_to(std::back_inserter(out), "helper={} ", entry.helper);
    }
    if (entry.use) {
        append_field(out, "use=", *entry.use);
    }
    if (options.id == TextOptions::Column::kShow) {
        append_field(out, "id=", entry.id);
    }
    append_labels(out, entry, options.labels);
}

// "    [NEW] ": right-aligned in nine columns.
void append_kind(std::string& out, EventKind kind) {
    fmt::format_to(std::back_inserter(out), "{:>9} ", fmt::format("[{}]", name(kind)));
}

void append_event_time(std::string& out, std::int64_t time_ns) {
    fmt::format_to(std::back_inserter(out), "[{}.{:06}]\t", time_ns / 1'000'000'000,
                   time_ns % 1'000'000'000 / 1000);
}

void append_clash_mark(std::string& out, const Entry& entry, const TextOptions& options) {
    if (options.nat_clash == TextOptions::Column::kShow && (entry.status & status::kNatClash)) {
        out += " [NAT_CLASH]";
    }
}

// The columns of an entry, without a blank at the end.
void append_columns(std::string& out, const Entry& entry, const TextOptions& options) {
    if (options.layer3 == TextOptions::Column::kShow) {
        const bool ipv4 = entry.original.source.address.family == frame::Family::kIpv4;
        append_word(out, ipv4 ? "ipv4" : "ipv6", ipv4 ? AF_INET : AF_INET6);
    }
    append_word(out, protocol_name(entry.original.protocol), entry.original.protocol);
    if (entry.timeout_s) {
        append_number(out, *entry.timeout_s);
        out += ' ';
    }
    if (!entry.protocol_state.empty()) {
        out += entry.protocol_state;
        out += ' ';
    }
    append_original(out, entry);
    append_reply(out, entry);
    append_rest(out, entry, options);
    out.pop_back();
}

}  // namespace

struct LabelNames::Map {
    struct Free {
        void operator()(nfct_labelmap* map) const { nfct_labelmap_destroy(map); }
    };
    std::unique_ptr<nfct_labelmap, Free> names;
};

LabelNames::LabelNames(std::unique_ptr<Map> map) : map_(std::move(map)) {}
LabelNames::LabelNames(LabelNames&&) noexcept = default;
LabelNames& LabelNames::operator=(LabelNames&&) noexcept = default;
LabelNames::~LabelNames() = default;

Result<LabelNames> LabelNames::load(const std::string& path) {
    auto map = std::make_unique<Map>();
    map->names.reset(nfct_labelmap_new(path.empty() ? nullptr : path.c_str()));
    if (!map->names) {
        return fail(ErrorCode::kNotFound, "read connection label names from {}: {}",
                    path.empty() ? nfct_labels_get_path() : path, std::strerror(errno));
    }
    return LabelNames(std::move(map));
}

std::string LabelNames::name(unsigned bit) const {
    const char* text = nfct_labelmap_get_name(map_->names.get(), bit);
    return text == nullptr ? std::string() : std::string(text);
}

void append_text(std::string& out, const Entry& entry, const TextOptions& options) {
    append_columns(out, entry, options);
    append_clash_mark(out, entry, options);
}

void append_text(std::string& out, const Event& event, const TextOptions& options) {
    if (options.event_time == TextOptions::Column::kShow) {
        append_event_time(out, event.time_ns);
    }
    append_kind(out, event.kind);
    append_columns(out, event.entry, options);
    if (event.cause_port != 0) {
        fmt::format_to(std::back_inserter(out), " [USERSPACE] portid={}", event.cause_port);
    }
    append_clash_mark(out, event.entry, options);
}

void append_text(std::string& out, const CpuStats& stats) {
    fmt::format_to(std::back_inserter(out), "cpu={:<4}\t", stats.cpu);
    for (const auto& [counter, value] : stats.counters) {
        fmt::format_to(std::back_inserter(out), "{}={} ", counter, value);
    }
}

}  // namespace pathproof::netfilter
