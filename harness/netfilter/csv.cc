#include "harness/netfilter/csv.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "harness/netfilter/digits.h"
#include "harness/netfilter/names.h"

namespace pathproof::netfilter {
namespace {

template <typename T>
void append_known(std::string& out, const std::optional<T>& number) {
    if (number) {
        append_number(out, *number);
    }
}

// RFC 4180 section 2, rules 5 to 7.
void append_quoted(std::string& out, std::string_view text) {
    if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
        out += text;
        return;
    }
    out += '"';
    for (const char letter : text) {
        out += letter;
        if (letter == '"') {
            out += letter;
        }
    }
    out += '"';
}

void append_icmp(std::string& out, const Tuple& tuple, unsigned (*part)(const Tuple::Icmp&)) {
    if (tuple.icmp) {
        append_number(out, part(*tuple.icmp));
    }
}

// A protocol without ports and GRE, whose keys stand here, are told apart by the column "protocol".
void append_port(std::string& out, const Tuple& tuple, std::uint16_t port) {
    if (!tuple.icmp) {
        append_number(out, port);
    }
}

void append_counter(std::string& out, const std::optional<Counters>& counters,
                    std::uint64_t Counters::*part) {
    if (counters) {
        append_number(out, (*counters).*part);
    }
}

unsigned icmp_type(const Tuple::Icmp& icmp) {
    return icmp.type;
}
unsigned icmp_code(const Tuple::Icmp& icmp) {
    return icmp.code;
}
unsigned icmp_id(const Tuple::Icmp& icmp) {
    return icmp.id;
}

}  // namespace

struct CsvFormat::Column {
    std::string_view name;
    std::string_view help;
    Rows rows;  // kEvents: has a value in rows of events only
    void (*append)(std::string& out, const Entry& entry, const Event* event);
};

namespace {

using Column = CsvFormat::Column;
constexpr auto kEvents = CsvFormat::Rows::kEvents;
constexpr auto kEntries = CsvFormat::Rows::kEntries;

constexpr Column kColumns[] = {
    {"event", "NEW, UPDATE or DESTROY", kEvents,
     [](auto& out, auto&, auto* event) { out += name(event->kind); }},
    {"time_ns", "when the event was read, since the epoch", kEvents,
     [](auto& out, auto&, auto* event) {
         fmt::format_to(std::back_inserter(out), "{}", event->time_ns);
     }},
    {"missed", "1: the event was lost and found by reading the table again", kEvents,
     [](auto& out, auto&, auto* event) { out += event->missed ? '1' : '0'; }},
    {"portid", "netlink port of who caused the event; 0: a packet or a timer", kEvents,
     [](auto& out, auto&, auto* event) { append_number(out, event->cause_port); }},
    {"family", "ipv4 or ipv6", kEntries,
     [](auto& out, auto& entry, auto*) {
         out += entry.original.source.address.family == frame::Family::kIpv4 ? "ipv4" : "ipv6";
     }},
    {"protocol", "udp, tcp, ... or unknown", kEntries,
     [](auto& out, auto& entry, auto*) { out += protocol_name(entry.original.protocol); }},
    {"protocol_number", "IP protocol number", kEntries,
     [](auto& out, auto& entry, auto*) { append_number(out, entry.original.protocol); }},
    {"timeout", "seconds left", kEntries,
     [](auto& out, auto& entry, auto*) { append_known(out, entry.timeout_s); }},
    {"state", "of TCP, SCTP and DCCP", kEntries,
     [](auto& out, auto& entry, auto*) { out += entry.protocol_state; }},
    {"src", "original direction: source address", kEntries,
     [](auto& out, auto& entry, auto*) { append_ip(out, entry.original.source.address); }},
    {"dst", "original direction: destination address", kEntries,
     [](auto& out, auto& entry, auto*) { append_ip(out, entry.original.destination.address); }},
    {"sport", "original direction: source port, or GRE key", kEntries,
     [](auto& out, auto& entry, auto*) {
         append_port(out, entry.original, entry.original.source.port);
     }},
    {"dport", "original direction: destination port, or GRE key", kEntries,
     [](auto& out, auto& entry, auto*) {
         append_port(out, entry.original, entry.original.destination.port);
     }},
    {"icmp_type", "original direction", kEntries,
     [](auto& out, auto& entry, auto*) { append_icmp(out, entry.original, icmp_type); }},
    {"icmp_code", "original direction", kEntries,
     [](auto& out, auto& entry, auto*) { append_icmp(out, entry.original, icmp_code); }},
    {"icmp_id", "original direction", kEntries,
     [](auto& out, auto& entry, auto*) { append_icmp(out, entry.original, icmp_id); }},
    {"packets", "original direction, with nf_conntrack_acct", kEntries,
     [](auto& out, auto& entry, auto*) {
         append_counter(out, entry.original_counters, &Counters::packets);
     }},
    {"bytes", "original direction, with nf_conntrack_acct", kEntries,
     [](auto& out, auto& entry, auto*) {
         append_counter(out, entry.original_counters, &Counters::bytes);
     }},
    {"reply_src", "reply direction: source address", kEntries,
     [](auto& out, auto& entry, auto*) { append_ip(out, entry.reply.source.address); }},
    {"reply_dst", "reply direction: destination address", kEntries,
     [](auto& out, auto& entry, auto*) { append_ip(out, entry.reply.destination.address); }},
    {"reply_sport", "reply direction: source port, or GRE key", kEntries,
     [](auto& out, auto& entry, auto*) { append_port(out, entry.reply, entry.reply.source.port); }},
    {"reply_dport", "reply direction: destination port, or GRE key", kEntries,
     [](auto& out, auto& entry, auto*) {
         append_port(out, entry.reply, entry.reply.destination.port);
     }},
    {"reply_icmp_type", "reply direction", kEntries,
     [](auto& out, auto& entry, auto*) { append_icmp(out, entry.reply, icmp_type); }},
    {"reply_icmp_code", "reply direction", kEntries,
     [](auto& out, auto& entry, auto*) { append_icmp(out, entry.reply, icmp_code); }},
    {"reply_icmp_id", "reply direction", kEntries,
     [](auto& out, auto& entry, auto*) { append_icmp(out, entry.reply, icmp_id); }},
    {"reply_packets", "reply direction, with nf_conntrack_acct", kEntries,
     [](auto& out, auto& entry, auto*) {
         append_counter(out, entry.reply_counters, &Counters::packets);
     }},
    {"reply_bytes", "reply direction, with nf_conntrack_acct", kEntries,
     [](auto& out, auto& entry, auto*) {
         append_counter(out, entry.reply_counters, &Counters::bytes);
     }},
    {"status", "status bits, hexadecimal", kEntries,
     [](auto& out, auto& entry, auto*) {
         fmt::format_to(std::back_inserter(out), "0x{:x}", entry.status);
     }},
    {"status_names", "status bits by name, with | between", kEntries,
     [](auto& out, auto& entry, auto*) {
         fmt::format_to(std::back_inserter(out), "{}", fmt::join(status_names(entry.status), "|"));
     }},
    {"mark", "connection mark", kEntries,
     [](auto& out, auto& entry, auto*) { append_number(out, entry.mark); }},
    {"zone", "conntrack zone", kEntries,
     [](auto& out, auto& entry, auto*) { append_number(out, entry.zone); }},
    {"zone_direction", "both, original or reply: where the zone holds", kEntries,
     [](auto& out, auto& entry, auto*) { out += name(entry.zone_direction); }},
    {"helper", "name of the helper", kEntries,
     [](auto& out, auto& entry, auto*) { append_quoted(out, entry.helper); }},
    {"labels", "bytes of the connection labels, hexadecimal, bit 0 in the first", kEntries,
     [](auto& out, auto& entry, auto*) {
         fmt::format_to(std::back_inserter(out), "{:02x}", fmt::join(entry.labels, ""));
     }},
    {"secctx", "security context", kEntries,
     [](auto& out, auto& entry, auto*) { append_quoted(out, entry.security_context); }},
    {"start_ns", "with nf_conntrack_timestamp, since the epoch", kEntries,
     [](auto& out, auto& entry, auto*) { append_known(out, entry.started_ns); }},
    {"stop_ns", "with nf_conntrack_timestamp, since the epoch", kEntries,
     [](auto& out, auto& entry, auto*) { append_known(out, entry.stopped_ns); }},
    {"use", "references held on the entry", kEntries,
     [](auto& out, auto& entry, auto*) { append_known(out, entry.use); }},
    {"id", "CTA_ID", kEntries, [](auto& out, auto& entry, auto*) { append_number(out, entry.id); }},
};

bool has(CsvFormat::Rows rows, const Column& column) {
    return rows == kEvents || column.rows == kEntries;
}

std::string allowed(CsvFormat::Rows rows) {
    std::string names;
    for (const Column& column : kColumns) {
        if (has(rows, column)) {
            names += names.empty() ? "" : ", ";
            names += column.name;
        }
    }
    return names;
}

}  // namespace

Result<CsvFormat> CsvFormat::make(Rows rows, const std::vector<std::string>& names) {
    CsvFormat format;
    for (const std::string& wanted : names) {
        const auto* found = std::find_if(
            std::begin(kColumns), std::end(kColumns),
            [&](const Column& column) { return column.name == wanted && has(rows, column); });
        if (found == std::end(kColumns)) {
            return fail(ErrorCode::kBadInput, "-o '{}': the columns of --csv are {}", wanted,
                        allowed(rows));
        }
        format.columns_.push_back(found);
    }
    for (const Column& column : kColumns) {
        if (names.empty() && has(rows, column)) {
            format.columns_.push_back(&column);
        }
    }
    return format;
}

void CsvFormat::append_header(std::string& out) const {
    for (const Column* column : columns_) {
        out += column->name;
        out += ',';
    }
    out.pop_back();
}

void CsvFormat::append(std::string& out, const Entry& entry, const Event* event) const {
    for (const Column* column : columns_) {
        column->append(out, entry, event);
        out += ',';
    }
    out.pop_back();
}

void CsvFormat::append_row(std::string& out, const Entry& entry) const {
    append(out, entry, nullptr);
}

void CsvFormat::append_row(std::string& out, const Event& event) const {
    append(out, event.entry, &event);
}

void CsvFormat::append_mark(std::string& out, std::string_view mark, std::int64_t time_ns) const {
    for (const Column* column : columns_) {
        if (column->name == "event") {
            append_quoted(out, mark);
        } else if (column->name == "time_ns") {
            fmt::format_to(std::back_inserter(out), "{}", time_ns);
        }
        out += ',';
    }
    out.pop_back();
}

std::string csv_help() {
    std::string help;
    for (const Column& column : kColumns) {
        help += fmt::format("  {:<16} {}{}\n", column.name, column.help,
                            column.rows == kEvents ? " (watch only)" : "");
    }
    return help;
}

}  // namespace pathproof::netfilter
