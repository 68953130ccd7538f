#include "harness/netfilter/csv.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "dataplane/base/join_each.h"
#include "harness/netfilter/digits.h"
#include "harness/netfilter/names.h"

namespace pathproof::netfilter {
namespace {

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

// The direction that a column is of: its tuple and its counters.
struct Original {
    static const Tuple& tuple(const Entry& entry) { return entry.original; }
    static const auto& counters(const Entry& entry) { return entry.original_counters; }
};
struct Reply {
    static const Tuple& tuple(const Entry& entry) { return entry.reply; }
    static const auto& counters(const Entry& entry) { return entry.reply_counters; }
};

template <typename Direction, frame::Endpoint Tuple::*end>
void address(std::string& out, const Entry& entry, const Event*) {
    append_ip(out, (Direction::tuple(entry).*end).address);
}

// A protocol without ports and GRE, whose keys stand here, are told apart by the column "protocol".
template <typename Direction, frame::Endpoint Tuple::*end>
void port(std::string& out, const Entry& entry, const Event*) {
    const Tuple& tuple = Direction::tuple(entry);
    if (!tuple.icmp) {
        append_number(out, (tuple.*end).port);
    }
}

template <typename Direction, auto Tuple::Icmp::*part>
void icmp(std::string& out, const Entry& entry, const Event*) {
    if (const auto& icmp = Direction::tuple(entry).icmp) {
        append_number(out, (*icmp).*part);
    }
}

template <typename Direction, std::uint64_t Counters::*part>
void counter(std::string& out, const Entry& entry, const Event*) {
    if (const auto& counters = Direction::counters(entry)) {
        append_number(out, (*counters).*part);
    }
}

template <auto Entry::*member>
void number(std::string& out, const Entry& entry, const Event*) {
    append_number(out, entry.*member);
}

template <auto Entry::*member>
void known_number(std::string& out, const Entry& entry, const Event*) {
    if (entry.*member) {
        append_number(out, *(entry.*member));
    }
}

template <std::string Entry::*member>
void quoted(std::string& out, const Entry& entry, const Event*) {
    append_quoted(out, entry.*member);
}

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
    {"timeout", "seconds left", kEntries, known_number<&Entry::timeout_s>},
    {"state", "of TCP, SCTP and DCCP", kEntries, quoted<&Entry::protocol_state>},
    {"src", "original direction: source address", kEntries, address<Original, &Tuple::source>},
    {"dst", "original direction: destination address", kEntries,
     address<Original, &Tuple::destination>},
    {"sport", "original direction: source port, or GRE key", kEntries,
     port<Original, &Tuple::source>},
    {"dport", "original direction: destination port, or GRE key", kEntries,
     port<Original, &Tuple::destination>},
    {"icmp_type", "original direction", kEntries, icmp<Original, &Tuple::Icmp::type>},
    {"icmp_code", "original direction", kEntries, icmp<Original, &Tuple::Icmp::code>},
    {"icmp_id", "original direction", kEntries, icmp<Original, &Tuple::Icmp::id>},
    {"packets", "original direction, with nf_conntrack_acct", kEntries,
     counter<Original, &Counters::packets>},
    {"bytes", "original direction, with nf_conntrack_acct", kEntries,
     counter<Original, &Counters::bytes>},
    {"reply_src", "reply direction: source address", kEntries, address<Reply, &Tuple::source>},
    {"reply_dst", "reply direction: destination address", kEntries,
     address<Reply, &Tuple::destination>},
    {"reply_sport", "reply direction: source port, or GRE key", kEntries,
     port<Reply, &Tuple::source>},
    {"reply_dport", "reply direction: destination port, or GRE key", kEntries,
     port<Reply, &Tuple::destination>},
    {"reply_icmp_type", "reply direction", kEntries, icmp<Reply, &Tuple::Icmp::type>},
    {"reply_icmp_code", "reply direction", kEntries, icmp<Reply, &Tuple::Icmp::code>},
    {"reply_icmp_id", "reply direction", kEntries, icmp<Reply, &Tuple::Icmp::id>},
    {"reply_packets", "reply direction, with nf_conntrack_acct", kEntries,
     counter<Reply, &Counters::packets>},
    {"reply_bytes", "reply direction, with nf_conntrack_acct", kEntries,
     counter<Reply, &Counters::bytes>},
    {"status", "status bits, hexadecimal", kEntries,
     [](auto& out, auto& entry, auto*) {
         fmt::format_to(std::back_inserter(out), "0x{:x}", entry.status);
     }},
    {"status_names", "status bits by name, with | between", kEntries,
     [](auto& out, auto& entry, auto*) {
         fmt::format_to(std::back_inserter(out), "{}", fmt::join(status_names(entry.status), "|"));
     }},
    {"mark", "connection mark", kEntries, number<&Entry::mark>},
    {"zone", "conntrack zone", kEntries, number<&Entry::zone>},
    {"zone_direction", "both, original or reply: where the zone holds", kEntries,
     [](auto& out, auto& entry, auto*) { out += name(entry.zone_direction); }},
    {"helper", "name of the helper", kEntries, quoted<&Entry::helper>},
    {"labels", "bytes of the connection labels, hexadecimal, bit 0 in the first", kEntries,
     [](auto& out, auto& entry, auto*) {
         fmt::format_to(std::back_inserter(out), "{:02x}", fmt::join(entry.labels, ""));
     }},
    {"secctx", "security context", kEntries, quoted<&Entry::security_context>},
    {"start_ns", "with nf_conntrack_timestamp, since the epoch", kEntries,
     known_number<&Entry::started_ns>},
    {"stop_ns", "with nf_conntrack_timestamp, since the epoch", kEntries,
     known_number<&Entry::stopped_ns>},
    {"use", "references held on the entry", kEntries, known_number<&Entry::use>},
    {"id", "CTA_ID", kEntries, number<&Entry::id>},
};

std::vector<const Column*> columns_of(CsvFormat::Rows rows) {
    std::vector<const Column*> columns;
    for (const Column& column : kColumns) {
        if (rows == kEvents || column.rows == kEntries) {
            columns.push_back(&column);
        }
    }
    return columns;
}

}  // namespace

Result<CsvFormat> CsvFormat::make(Rows rows, const std::vector<std::string>& names) {
    const auto all = columns_of(rows);
    CsvFormat format;
    for (const std::string& wanted : names) {
        const auto found = std::ranges::find(all, wanted, &Column::name);
        if (found == all.end()) {
            return fail(ErrorCode::kBadInput, "-o '{}': the columns of --csv are {}", wanted,
                        join_each(all, &Column::name));
        }
        format.columns_.push_back(*found);
    }
    if (names.empty()) {
        format.columns_ = all;
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
