#include "harness/drops/event_format.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace pathproof::drops {
namespace {

// PERF_MAX_TRACE_SIZE is 8 KiB since Linux 5.15 and was less before: no field lies beyond it.
constexpr std::size_t kMaxRecordBytes = 8192;

std::string_view trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// Takes the text up to `mark` and the mark off the front of `rest`; all of it where there is no
// mark.
std::string_view take_until(std::string_view& rest, char mark) {
    const std::size_t end = rest.find(mark);
    const std::string_view taken = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    return taken;
}

// A decimal number, or a hexadecimal one after 0x.
template <typename Number>
std::optional<Number> number(std::string_view text) {
    text = trimmed(text);
    const int base = text.starts_with("0x") ? 16 : 10;
    if (base == 16) {
        text.remove_prefix(2);
    }
    Number value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, value, base);
    if (problem != std::errc() || stop != end) {
        return std::nullopt;
    }
    return value;
}

// "enum skb_drop_reason reason" declares "reason", "char comm[16]" declares "comm".
std::string_view declared_name(std::string_view declaration) {
    declaration = trimmed(declaration.substr(0, declaration.find('[')));
    const auto before = declaration.find_last_of(" \t*");
    return before == std::string_view::npos ? declaration : declaration.substr(before + 1);
}

// "field:TYPE NAME;	offset:N;	size:N;	signed:N;"
std::optional<EventField> parse_field(std::string_view line) {
    line.remove_prefix(std::string_view("field:").size());
    const std::string_view name = declared_name(take_until(line, ';'));
    std::optional<std::size_t> offset, size;
    while (!line.empty()) {
        const std::string_view part = trimmed(take_until(line, ';'));
        if (part.starts_with("offset:")) {
            offset = number<std::size_t>(part.substr(7));
        } else if (part.starts_with("size:")) {
            size = number<std::size_t>(part.substr(5));
        }
    }
    if (name.empty() || !offset || !size || *offset > kMaxRecordBytes ||
        *size > kMaxRecordBytes - *offset) {
        return std::nullopt;
    }
    return EventField{.name = std::string(name), .offset = *offset, .size = *size};
}

// The field's offset, when it is of that size.
Result<std::size_t> offset_of(const EventFormat& format, std::string_view field, std::size_t size) {
    const EventField* found = format.find(field);
    if (found == nullptr) {
        return fail(ErrorCode::kKernelLacks,
                    "the tracepoint skb:{} of this kernel has no field '{}'", format.name, field);
    }
    if (found->size != size) {
        return fail(ErrorCode::kKernelLacks,
                    "field '{}' of the tracepoint skb:{} has {} bytes on this kernel; {} are known",
                    field, format.name, found->size, size);
    }
    return found->offset;
}

}  // namespace

const EventField* EventFormat::find(std::string_view field) const {
    const auto found = std::find_if(fields.begin(), fields.end(), [&](const EventField& candidate) {
        return candidate.name == field;
    });
    return found == fields.end() ? nullptr : &*found;
}

Result<EventFormat> parse_event_format(std::string_view text) {
    EventFormat format;
    std::optional<std::uint64_t> id;
    while (!text.empty()) {
        const std::string_view line = trimmed(take_until(text, '\n'));
        if (line.starts_with("name:")) {
            format.name = trimmed(line.substr(5));
        } else if (line.starts_with("ID:")) {
            id = number<std::uint64_t>(line.substr(3));
        } else if (line.starts_with("print fmt:")) {
            format.print_format = trimmed(line.substr(10));
        } else if (line.starts_with("field:")) {
            if (auto field = parse_field(line)) {
                format.fields.push_back(std::move(*field));
            }
        }
    }
    if (format.name.empty() || !id || format.fields.empty()) {
        return fail(ErrorCode::kKernelLacks,
                    "the tracepoint's format file is of a form not known to us: it has no {}",
                    format.name.empty() ? "name" : (!id ? "ID" : "field"));
    }
    format.id = *id;
    return format;
}

std::map<std::uint32_t, std::string> value_names(const EventFormat& format,
                                                 std::string_view field) {
    std::map<std::uint32_t, std::string> names;
    const std::string call = fmt::format("__print_symbolic(REC->{},", field);
    const auto start = format.print_format.find(call);
    if (start == std::string::npos) {
        return names;
    }
    std::string_view rest = std::string_view(format.print_format).substr(start + call.size());
    // { 12, "NETFILTER_DROP" }, { 13, "OTHERHOST" }, ... )
    while (trimmed(rest).starts_with('{')) {
        take_until(rest, '{');
        const auto value = number<std::uint32_t>(take_until(rest, ','));
        take_until(rest, '"');
        const std::string_view name = take_until(rest, '"');
        take_until(rest, '}');
        if (value && !name.empty()) {
            names.emplace(*value, name);
        }
        rest = trimmed(rest);
        if (rest.starts_with(',')) {
            rest.remove_prefix(1);
        }
    }
    return names;
}

std::string DropEvent::reason_name(std::uint32_t reason) const {
    const auto found = reasons.find(reason);
    return found != reasons.end() ? found->second : fmt::format("reason {}", reason);
}

Result<DropEvent> drop_event(const EventFormat& format) {
    if (format.find("reason") == nullptr) {
        return fail(ErrorCode::kKernelLacks,
                    "this kernel does not say why it drops packets: the tracepoint skb:{} has no "
                    "reason; Linux 5.17 or later is needed",
                    format.name);
    }
    const auto packet = offset_of(format, "skbaddr", 8);
    const auto location = offset_of(format, "location", 8);
    const auto protocol = offset_of(format, "protocol", 2);
    const auto reason = offset_of(format, "reason", 4);
    for (const auto* offset : {&packet, &location, &protocol, &reason}) {
        if (!*offset) {
            return pass_on(offset->error());
        }
    }
    DropEvent event{.id = format.id,
                    .packet_offset = *packet,
                    .location_offset = *location,
                    .protocol_offset = *protocol,
                    .reason_offset = *reason,
                    .end = std::max({*packet + 8, *location + 8, *protocol + 2, *reason + 4}),
                    .reasons = value_names(format, "reason")};
    const auto unspecified =
        std::find_if(event.reasons.begin(), event.reasons.end(),
                     [](const auto& reason_name) { return reason_name.second == "NOT_SPECIFIED"; });
    if (unspecified == event.reasons.end()) {
        return fail(ErrorCode::kKernelLacks,
                    "this kernel does not name its drop reasons in the format of skb:{}, so that "
                    "drops cannot be told from other frees",
                    format.name);
    }
    event.not_specified = unspecified->first;
    return event;
}

}  // namespace pathproof::drops
