// Conditions of nftables' rules.
#include <algorithm>

#include "harness/hazards/nft_reader.h"
#include "harness/process/foreign.h"
#include "harness/process/json_text.h"

namespace pathproof::hazards::nft {

using process::number_of;
using process::part;
using process::text_of;

void NftReader::add_comparison(Rule& rule, const Looked& looked, const std::string& op,
                               const json& right) {
    if (!looked.protocol.empty()) {
        rule.conditions.push_back({.field = Field::kProtocol, .words = {looked.protocol}});
    }
    const std::uint64_t bound = number_of(right);
    const bool above = op.starts_with('>'), equal = op.ends_with('=');
    const std::uint64_t gap = equal ? 0 : 1;
    const std::uint64_t first = above ? bound + gap : 0;
    const std::uint64_t last = above ? 0xffff : bound - gap;
    const bool sensible = right.is_number_unsigned() && bound <= 0xffff && bound != 0;
    rule.conditions.push_back(
        sensible ? Condition{.field = looked.field,
                             .ports = {{static_cast<std::uint16_t>(
                                            std::min<std::uint64_t>(first, 0xffff)),
                                        static_cast<std::uint16_t>(last)}}}
                 : Condition{.unknown = "a comparison"});
}

void NftReader::add_concat(Rule& rule, const json& keys, const json& right, bool negated,
                           const std::string& table) {
    const auto elements = elements_of(right, table);
    Condition any{.field = Field::kAlternatives, .negated = negated};
    if (!elements) {
        any = {.set = text_of(right)};
    }
    for (const json& element : elements.value_or(std::vector<json>())) {
        const json& inner = part(part(element, "elem"), "val");
        const json& values = part(inner.is_null() ? element : inner, "concat");
        if (!values.is_array() || values.size() != keys.size()) {
            any = {.unknown = "a set of another form"};
            break;
        }
        Rule one;
        for (std::size_t i = 0; i < keys.size(); ++i) {
            add(one, looked_at(keys[i]), values[i], false, true, table);
        }
        any.alternatives.push_back(std::move(one.conditions));
    }
    rule.conditions.push_back(std::move(any));
}

void NftReader::add(Rule& rule, const Looked& looked, const json& right, bool negated,
                    bool is_equality, const std::string& table) {
    if (!looked.protocol.empty()) {
        rule.conditions.push_back({.field = Field::kProtocol, .words = {looked.protocol}});
    }
    // nft's rules of "inet" meet both families, and a field of one is not there in the other.
    if (!looked.family.empty() && !table.starts_with("ip ") && !table.starts_with("ip6 ")) {
        rule.conditions.push_back({.field = Field::kFamily, .words = {looked.family}});
    }
    std::string unknown;
    if (!is_equality || looked.field == Field::kOther) {
        unknown = looked.unknown.empty() ? "a comparison" : looked.unknown;
    }
    Condition condition{.field = is_equality ? looked.field : Field::kOther,
                        .negated = negated,
                        .mask = looked.mask,
                        .unknown = std::move(unknown)};
    if (looked.field == Field::kTcpFlags) {
        // "tcp flags syn": one of them is set.
        const auto bits = bits_of(right);
        const bool any = looked.mask == 0;
        condition.field = bits ? Field::kTcpFlags : Field::kOther;
        condition.unknown = bits ? "" : "tcp flags";
        condition.mask = any ? bits.value_or(0) : looked.mask;
        condition.mark = any ? 0 : bits.value_or(0);
        condition.negated = any != negated;
        rule.conditions.push_back(std::move(condition));
        return;
    }
    const auto known = elements_of(right, table);
    condition.set = known ? "" : text_of(right);
    std::vector<json> values = known.value_or(std::vector<json>());
    const bool is_mark = condition.field == Field::kMark || condition.field == Field::kConnmark;
    if (is_mark && values.size() != 1) {
        Condition any{.field = Field::kAlternatives, .negated = negated, .set = condition.set};
        condition.negated = false;
        for (const json& value : values) {
            Condition one = condition;
            put(one, value);
            any.alternatives.push_back({std::move(one)});
        }
        rule.conditions.push_back(std::move(any));
        return;
    }
    for (const json& value : values) {
        const bool is_type = condition.field == Field::kIcmpType;
        const auto number =
            is_type ? number_behind(value,
                                    looked.protocol == "icmp" ? WordKind::kIcmp : WordKind::kIcmpv6)
                    : std::nullopt;
        put(condition, number ? json(*number) : value);
    }
    rule.conditions.push_back(std::move(condition));
}

void NftReader::put(Condition& condition, const json& value) {
    bool known = true;
    const auto add_to = [&](auto& all, const auto& range) {
        known = range.has_value();
        if (range) {
            all.push_back(*range);
        }
    };
    switch (condition.field) {
        case Field::kSource:
        case Field::kDestination: add_to(condition.addresses, addresses_of(value)); break;
        case Field::kSourcePort:
        case Field::kDestinationPort: add_to(condition.ports, ports_of(value)); break;
        case Field::kProtocol: condition.words.push_back(protocol_name(value)); break;
        case Field::kIn:
        case Field::kOut:
        case Field::kState:
        case Field::kStatus:
        case Field::kDirection:
        case Field::kFamily:
        case Field::kSourceType:
        case Field::kDestinationType: condition.words.push_back(text_of(value)); break;
        case Field::kUser:
            known = value.is_number_unsigned();
            condition.words.push_back(std::to_string(number_of(value)));
            break;
        case Field::kMark:
        case Field::kConnmark:
            known = value.is_number_unsigned();
            condition.mark = static_cast<std::uint32_t>(number_of(value));
            break;
        case Field::kIcmpType:
        case Field::kIcmpCode: add_to(condition.ports, ports_of(value)); break;
        case Field::kEitherPort:
        case Field::kTcpFlags:
        case Field::kAlternatives:
        case Field::kRandom:
        case Field::kOther: break;
    }
    if (!known) {
        condition.field = Field::kOther;
        condition.unknown = "a value of another form";
    }
}

}  // namespace pathproof::hazards::nft
