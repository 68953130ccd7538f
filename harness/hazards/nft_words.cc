#include "harness/hazards/nft_words.h"

#include <algorithm>
#include <map>
#include <span>
#include <string_view>

#include "harness/process/foreign.h"
#include "harness/process/json_text.h"

namespace pathproof::hazards::nft {

using process::number_of;
using process::part;
using process::text_of;

std::vector<json> values_of(const json& right) {
    const json& set = part(right, "set");
    const json& list = set.is_array() ? set : right;
    return list.is_array() ? list.get<std::vector<json>>() : std::vector<json>{right};
}

std::optional<AddressRange> addresses_of(const json& value) {
    const json& prefix = part(value, "prefix");
    const json& range = part(value, "range");
    const json& element = part(part(value, "elem"), "val");
    if (!element.is_null()) {
        return addresses_of(element);
    }
    std::string text = text_of(value);
    if (prefix.is_object()) {
        text = text_of(part(prefix, "addr")) + "/" + std::to_string(number_of(part(prefix, "len")));
    } else if (range.is_array() && range.size() == 2) {
        text = text_of(range[0]) + "-" + text_of(range[1]);
    }
    const auto parsed = parse_range(text);
    return parsed ? std::optional<AddressRange>(*parsed) : std::nullopt;
}

std::optional<std::pair<std::uint16_t, std::uint16_t>> ports_of(const json& value) {
    const json& range = part(value, "range");
    const bool is_range = range.is_array() && range.size() == 2;
    const json& first = is_range ? range[0] : value;
    const json& last = is_range ? range[1] : value;
    if (!first.is_number_unsigned() || !last.is_number_unsigned()) {
        return std::nullopt;
    }
    return std::pair{static_cast<std::uint16_t>(number_of(first)),
                     static_cast<std::uint16_t>(number_of(last))};
}

std::string protocol_name(const json& value) {
    const std::uint64_t number = number_of(value);
    if (text_of(value) == "ipv6-icmp") {
        return "icmpv6";
    }
    if (value.is_string()) {
        return value.get<std::string>();
    }
    switch (number) {
        case 6: return "tcp";
        case 17: return "udp";
        case 1: return "icmp";
        default: return std::to_string(number);
    }
}

std::optional<std::uint32_t> number_behind(const json& value, WordKind kind) {
    if (value.is_number_unsigned()) {
        return static_cast<std::uint32_t>(number_of(value));
    }
    static const std::map<std::string, std::uint32_t> kTypes = {
        {"echo-reply", 0},        {"destination-unreachable", 3}, {"redirect", 5},
        {"echo-request", 8},      {"time-exceeded", 11},          {"parameter-problem", 12},
        {"timestamp-request", 13}};
    static const std::map<std::string, std::uint32_t> kTypes6 = {
        {"destination-unreachable", 1}, {"packet-too-big", 2},      {"time-exceeded", 3},
        {"parameter-problem", 4},       {"echo-request", 128},      {"echo-reply", 129},
        {"nd-neighbor-solicit", 135},   {"nd-neighbor-advert", 136}};
    static const std::map<std::string, std::uint32_t> kFlags = {
        {"fin", 1},  {"syn", 2},  {"rst", 4},  {"psh", 8},
        {"ack", 16}, {"urg", 32}, {"ecn", 64}, {"cwr", 128}};
    const auto& types = kind == WordKind::kIcmpv6 ? kTypes6 : kTypes;
    const auto& words = kind == WordKind::kTcpFlags ? kFlags : types;
    const auto found = words.find(text_of(value));
    return found == words.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::uint32_t> bits_of(const json& value) {
    std::uint32_t bits = 0;
    const json& both = part(value, "|");
    for (const json& one : values_of(both.is_array() ? both : value)) {
        const auto bit = number_behind(one, WordKind::kTcpFlags);
        if (!bit) {
            return std::nullopt;
        }
        bits |= *bit;
    }
    return bits;
}

namespace {

std::string without_quotes(const json& value) {
    std::string text = process::to_text(value);
    std::erase(text, '"');
    return text;
}

struct FieldWord {
    std::string_view word;
    Field field;
};

Field field_of(std::span<const FieldWord> words, std::string_view word) {
    const auto found = std::ranges::find(words, word, &FieldWord::word);
    return found == words.end() ? Field::kOther : found->field;
}

constexpr FieldWord kIpFields[] = {{"saddr", Field::kSource},
                                   {"daddr", Field::kDestination},
                                   {"protocol", Field::kProtocol},
                                   {"nexthdr", Field::kProtocol}};
constexpr FieldWord kIcmpFields[] = {{"type", Field::kIcmpType}, {"code", Field::kIcmpCode}};
constexpr FieldWord kMetaFields[] = {{"l4proto", Field::kProtocol}, {"nfproto", Field::kFamily},
                                     {"iifname", Field::kIn},       {"iif", Field::kIn},
                                     {"oifname", Field::kOut},      {"oif", Field::kOut},
                                     {"mark", Field::kMark},        {"skuid", Field::kUser}};
constexpr FieldWord kEntryFields[] = {{"state", Field::kState},
                                      {"status", Field::kStatus},
                                      {"direction", Field::kDirection},
                                      {"mark", Field::kConnmark}};

}  // namespace

Looked looked_at(const json& left) {
    const json& payload = part(left, "payload");
    const std::string protocol = text_of(part(payload, "protocol"));
    const std::string field = text_of(part(payload, "field"));
    if (protocol == "ip" || protocol == "ip6") {
        return {.field = field_of(kIpFields, field),
                .family = protocol == "ip" ? "ipv4" : "ipv6",
                .unknown = protocol + " " + field};
    }
    if (protocol == "icmp" || protocol == "icmpv6") {
        return {.field = field_of(kIcmpFields, field),
                .protocol = protocol,
                .unknown = protocol + " " + field};
    }
    if (protocol == "tcp" && field == "flags") {
        return {.field = Field::kTcpFlags, .mask = 0, .protocol = protocol};
    }
    if (field == "dport" || field == "sport") {
        return {.field = field == "dport" ? Field::kDestinationPort : Field::kSourcePort,
                .protocol = protocol == "th" ? "" : protocol};
    }
    const std::string meta = text_of(part(part(left, "meta"), "key"));
    if (!meta.empty()) {
        return {.field = field_of(kMetaFields, meta), .unknown = "meta " + meta};
    }
    const json& both = part(left, "&");
    if (both.is_array() && both.size() == 2 &&
        text_of(part(part(both[0], "meta"), "key")) == "mark") {
        return {.field = Field::kMark, .mask = static_cast<std::uint32_t>(number_of(both[1]))};
    }
    if (both.is_array() && both.size() == 2 &&
        text_of(part(part(both[0], "ct"), "key")) == "mark") {
        return {.field = Field::kConnmark, .mask = static_cast<std::uint32_t>(number_of(both[1]))};
    }
    if (both.is_array() && both.size() == 2 &&
        text_of(part(part(both[0], "payload"), "field")) == "flags") {
        const auto mask = bits_of(both[1]);
        return {.field = mask ? Field::kTcpFlags : Field::kOther,
                .mask = mask.value_or(0),
                .protocol = "tcp",
                .unknown = "tcp flags"};
    }
    if (const std::string of_entry = text_of(part(part(left, "ct"), "key")); !of_entry.empty()) {
        return {.field = field_of(kEntryFields, of_entry), .unknown = "ct " + of_entry};
    }
    const json& fib = part(left, "fib");
    const json& flags = part(fib, "flags");
    if (text_of(part(fib, "result")) == "type" && values_of(flags) == values_of(json("daddr"))) {
        return {Field::kDestinationType};
    }
    if (text_of(part(fib, "result")) == "type" && values_of(flags) == values_of(json("saddr"))) {
        return {Field::kSourceType};
    }
    return part(left, "numgen").is_object() &&
                   text_of(part(part(left, "numgen"), "mode")) == "random"
               ? Looked{Field::kRandom}
               : Looked{.unknown = without_quotes(left)};
}

bool is_numbered(Field field) {
    return field == Field::kSourcePort || field == Field::kDestinationPort;
}

}  // namespace pathproof::hazards::nft
