#include "harness/drops/event_format.h"

#include <traceevent/event-parse.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>

namespace pathproof::drops {
namespace {

struct Free {
    void operator()(tep_handle* handle) const { tep_free(handle); }
};

// "12" or "0x0c"; a word that only the kernel knows the value of is none.
std::optional<std::uint32_t> number(const char* text) {
    char* end = nullptr;
    errno = 0;
    const unsigned long value = std::strtoul(text, &end, 0);
    const bool whole = end != text && *end == '\0' && errno == 0 && value <= UINT32_MAX;
    return whole ? std::optional(static_cast<std::uint32_t>(value)) : std::nullopt;
}

// Of all __print_symbolic() of the event.
void read_words(const tep_print_arg* argument, EventFormat& format) {
    for (; argument != nullptr; argument = argument->next) {
        if (argument->type != TEP_PRINT_SYMBOL || argument->symbol.field->type != TEP_PRINT_FIELD) {
            continue;
        }
        auto& words = format.words[argument->symbol.field->field.name];
        for (auto* word = argument->symbol.symbols; word != nullptr; word = word->next) {
            if (const auto value = number(word->value)) {
                words.emplace(*value, word->str);
            }
        }
    }
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
    const auto found = std::ranges::find(fields, field, &EventField::name);
    return found == fields.end() ? nullptr : &*found;
}

std::map<std::uint32_t, std::string> EventFormat::words_of(const std::string& field) const {
    const auto found = words.find(field);
    return found == words.end() ? std::map<std::uint32_t, std::string>() : found->second;
}

Result<EventFormat> parse_event_format(const std::string& text) {
    tep_set_loglevel(TEP_LOG_NONE);
    const std::unique_ptr<tep_handle, Free> handle(tep_alloc());
    tep_event* event = nullptr;
    if (handle && tep_parse_event(handle.get(), text.data(), text.size(), "skb") == 0) {
        event = tep_get_first_event(handle.get());
    }
    if (event == nullptr || event->format.fields == nullptr) {
        return fail(ErrorCode::kKernelLacks,
                    "the tracepoint's format file is of a form not known to us");
    }
    EventFormat format{.name = event->name, .id = static_cast<std::uint64_t>(event->id)};
    for (const auto* field = event->format.fields; field != nullptr; field = field->next) {
        if (field->offset >= 0 && field->size >= 0) {
            format.fields.push_back({.name = field->name,
                                     .offset = static_cast<std::size_t>(field->offset),
                                     .size = static_cast<std::size_t>(field->size)});
        }
    }
    read_words(event->print_fmt.args, format);
    return format;
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
    const std::size_t packet = TRY(offset_of(format, "skbaddr", 8));
    const std::size_t location = TRY(offset_of(format, "location", 8));
    const std::size_t protocol = TRY(offset_of(format, "protocol", 2));
    const std::size_t reason = TRY(offset_of(format, "reason", 4));
    DropEvent event{.id = format.id,
                    .packet_offset = packet,
                    .location_offset = location,
                    .protocol_offset = protocol,
                    .reason_offset = reason,
                    .end = std::max({packet + 8, location + 8, protocol + 2, reason + 4}),
                    .reasons = format.words_of("reason")};
    const auto unspecified = std::ranges::find_if(event.reasons, [](const auto& reason_name) {
        return reason_name.second == "NOT_SPECIFIED";
    });
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
