#include "harness/drops/event_format.h"

#include <traceevent/event-parse.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <optional>

#include "dataplane/base/owned.h"

namespace pathproof::drops {
namespace {

// "12" or "0x0c"; a word that only the kernel knows the value of is none.
std::optional<std::uint32_t> number(const char* text) {
    char* end = nullptr;
    errno = 0;
    const unsigned long value = std::strtoul(text, &end, 0);
    const bool whole = end != text && *end == '\0' && errno == 0 && value <= UINT32_MAX;
    return whole ? std::optional(static_cast<std::uint32_t>(value)) : std::nullopt;
}

// Returns the words that __print_symbolic() of the event prints for the field's values:
// {12, "NETFILTER_DROP"}.
std::map<std::uint32_t, std::string> words_of(const tep_event& event, std::string_view field) {
    std::map<std::uint32_t, std::string> words;
    for (const auto* each = event.print_fmt.args; each != nullptr; each = each->next) {
        if (each->type != TEP_PRINT_SYMBOL || each->symbol.field->type != TEP_PRINT_FIELD ||
            each->symbol.field->field.name != field) {
            continue;
        }
        for (const auto* word = each->symbol.symbols; word != nullptr; word = word->next) {
            if (const auto value = number(word->value)) {
                words.emplace(*value, word->str);
            }
        }
    }
    return words;
}

// The field's offset, when it is of that size.
Result<std::size_t> offset_of(tep_event& event, const char* name, int size) {
    const tep_format_field* field = tep_find_field(&event, name);
    if (field == nullptr || field->offset < 0) {
        return fail(ErrorCode::kKernelLacks,
                    "the tracepoint skb:{} of this kernel has no field '{}'", event.name, name);
    }
    if (field->size != size) {
        return fail(ErrorCode::kKernelLacks,
                    "field '{}' of the tracepoint skb:{} has {} bytes on this kernel; {} are known",
                    name, event.name, field->size, size);
    }
    return static_cast<std::size_t>(field->offset);
}

}  // namespace

std::string DropEvent::reason_name(std::uint32_t reason) const {
    const auto found = reasons.find(reason);
    return found != reasons.end() ? found->second : fmt::format("reason {}", reason);
}

Result<DropEvent> parse_drop_event(const std::string& text) {
    tep_set_loglevel(TEP_LOG_NONE);
    const Owned<tep_handle, tep_free> handle(tep_alloc());
    tep_event* format = nullptr;
    if (handle && tep_parse_event(handle.get(), text.data(), text.size(), "skb") == 0) {
        format = tep_get_first_event(handle.get());
    }
    if (format == nullptr || format->format.fields == nullptr) {
        return fail(ErrorCode::kKernelLacks,
                    "the tracepoint's format file is of a form not known to us");
    }
    if (tep_find_field(format, "reason") == nullptr) {
        return fail(ErrorCode::kKernelLacks,
                    "this kernel does not say why it drops packets: the tracepoint skb:{} has no "
                    "reason; Linux 5.17 or later is needed",
                    format->name);
    }
    const std::size_t packet = TRY(offset_of(*format, "skbaddr", 8));
    const std::size_t location = TRY(offset_of(*format, "location", 8));
    const std::size_t protocol = TRY(offset_of(*format, "protocol", 2));
    const std::size_t reason = TRY(offset_of(*format, "reason", 4));
    DropEvent event{.id = static_cast<std::uint64_t>(format->id),
                    .packet_offset = packet,
                    .location_offset = location,
                    .protocol_offset = protocol,
                    .reason_offset = reason,
                    .end = std::max({packet + 8, location + 8, protocol + 2, reason + 4}),
                    .reasons = words_of(*format, "reason")};
    const auto unspecified = std::ranges::find_if(event.reasons, [](const auto& reason_name) {
        return reason_name.second == "NOT_SPECIFIED";
    });
    if (unspecified == event.reasons.end()) {
        return fail(ErrorCode::kKernelLacks,
                    "this kernel does not name its drop reasons in the format of skb:{}, so that "
                    "drops cannot be told from other frees",
                    format->name);
    }
    event.not_specified = unspecified->first;
    return event;
}

}  // namespace pathproof::drops
