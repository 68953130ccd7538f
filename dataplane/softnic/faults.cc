#include "dataplane/softnic/faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "dataplane/base/number.h"
#include "dataplane/softnic/mechanisms.h"
#include "dataplane/softnic/soft_nic.h"

namespace pathproof::softnic {
namespace {

template <typename Value>
struct Word {
    std::string_view text;
    Value value;
};

constexpr std::array<Word<FaultDirection>, 3> kDirections = {
    {{"tx", FaultDirection::kTx}, {"wire", FaultDirection::kWire}, {"rx", FaultDirection::kRx}}};
constexpr std::array<Word<FaultLayer>, 6> kLayers = {{{"outer", FaultLayer::kOuter},
                                                      {"inner", FaultLayer::kInner},
                                                      {"plain", FaultLayer::kPlain},
                                                      {"innermost", FaultLayer::kInnermost},
                                                      {"outermost", FaultLayer::kOutermost},
                                                      {"any", FaultLayer::kAny}}};
constexpr std::array<Word<FaultField>, 9> kFields = {{{"ip", FaultField::kIp},
                                                      {"l4", FaultField::kL4},
                                                      {"udp", FaultField::kUdp},
                                                      {"tcp", FaultField::kTcp},
                                                      {"sctp", FaultField::kSctp},
                                                      {"seg", FaultField::kSegment},
                                                      {"payload", FaultField::kPayload},
                                                      {"frame", FaultField::kFrame},
                                                      {"counter", FaultField::kCounter}}};

template <typename Words, typename Use>
std::string listed(const Words& words, Use use) {
    std::string list;
    for (const auto& word : words) {
        if (use(word.value)) {
            list += fmt::format("{}{}", list.empty() ? "" : ", ", word.text);
        }
    }
    return list;
}

// Each has its word.
template <typename Words, typename Value>
std::string_view text_of(const Words& words, Value value) {
    return std::ranges::find(words, value, &Word<Value>::value)->text;
}

// Reads one of the dotted words; `what` names the part of the fault that it stands for.
template <typename Words, typename Value>
Status read_word(const Words& words, std::string_view text, std::string_view what,
                 std::string_view fault, Value& value) {
    const auto word = std::ranges::find(words, text, &Word<Value>::text);
    if (word == words.end()) {
        return fail(ErrorCode::kBadInput, "fault '{}': '{}' is no {}; allowed are {}", fault, text,
                    what, listed(words, [](auto) { return true; }));
    }
    value = word->value;
    return {};
}

Status read_mechanism(std::string_view text, std::string_view whole, Fault& fault) {
    fault.mechanism = mechanism_named(text, fault.direction);
    if (fault.mechanism == nullptr) {
        return fail(ErrorCode::kBadInput,
                    "fault '{}': '{}' is no mechanism of direction {}; allowed are {}", whole, text,
                    text_of(kDirections, fault.direction), mechanism_names(fault.direction));
    }
    const FieldSet fields = fault.mechanism->fields;
    if ((fields & field_bit(fault.field)) == 0) {
        return fail(ErrorCode::kBadInput, "fault '{}': {} does not act on {}; it acts on {}", whole,
                    text, text_of(kFields, fault.field), listed(kFields, [&](FaultField field) {
                        return (fields & field_bit(field)) != 0;
                    }));
    }
    return {};
}

Status read_name(std::string_view text, std::string_view whole, Fault& fault) {
    std::array<std::string_view, 4> words;
    for (std::size_t at = 0; at < words.size(); ++at) {
        const std::size_t dot = at + 1 == words.size() ? std::string_view::npos : text.find('.');
        if (at + 1 < words.size() && dot == std::string_view::npos) {
            return fail(ErrorCode::kBadInput,
                        "fault '{}': write direction.layer.field.MECHANISM, as in "
                        "tx.inner.tcp.PSEUDO",
                        whole);
        }
        words[at] = text.substr(0, dot);
        text.remove_prefix(dot == std::string_view::npos ? text.size() : dot + 1);
    }
    TRY(read_word(kDirections, words[0], "direction", whole, fault.direction));
    TRY(read_word(kLayers, words[1], "layer", whole, fault.layer));
    TRY(read_word(kFields, words[2], "field", whole, fault.field));
    return read_mechanism(words[3], whole, fault);
}

Status read_rate(std::string_view text, std::string_view whole, Fault& fault) {
    constexpr std::string_view kAfter = "after=";
    const std::size_t comma = text.find(',');
    const std::string_view rate = text.substr(0, comma);
    fault.rate = whole_number<double>(rate).value_or(0);
    if (!(fault.rate > 0 && fault.rate <= 1)) {
        return fail(ErrorCode::kBadInput,
                    "fault '{}': the rate '{}' must be a number above 0 and at most 1, as in !1e-3",
                    whole, rate);
    }
    if (comma == std::string_view::npos) {
        return {};
    }
    const std::string_view rest = text.substr(comma + 1);
    const auto after = rest.starts_with(kAfter)
                           ? whole_number<std::uint64_t>(rest.substr(kAfter.size()))
                           : std::nullopt;
    if (!after) {
        return fail(ErrorCode::kBadInput,
                    "fault '{}': behind the rate only after=N is allowed, a number of frames, not "
                    "'{}'",
                    whole, rest);
    }
    fault.after = *after;
    return {};
}

// The '!' before the rate; that of "!=" belongs to a condition.
std::size_t rate_mark(std::string_view text) {
    const std::size_t mark = text.rfind('!');
    const bool condition =
        mark != std::string_view::npos && mark + 1 < text.size() && text[mark + 1] == '=';
    return condition ? std::string_view::npos : mark;
}

FaultEffect effect(const SoftNic& healthy, const SoftNic& faulty, bool same_results) {
    if (faulty.fault_hits().front() == 0) {
        return FaultEffect::kNotHit;
    }
    return same_results && healthy.counters() == faulty.counters() ? FaultEffect::kEquivalent
                                                                   : FaultEffect::kDifferent;
}

}  // namespace

Result<Fault> parse_fault(std::string_view text) {
    Fault fault;
    const std::size_t mark = rate_mark(text);
    const std::string_view before_rate = text.substr(0, mark);
    const std::size_t at = before_rate.find('@');
    TRY(read_name(before_rate.substr(0, at), text, fault));
    if (at != std::string_view::npos) {
        fault.predicate =
            TRY(doing(parse_predicate(before_rate.substr(at + 1)), "fault '{}'", text));
    }
    if (mark != std::string_view::npos) {
        TRY(read_rate(text.substr(mark + 1), text, fault));
    }
    return fault;
}

std::string to_string(const Fault& fault) {
    std::string text = fmt::format("{}.{}.{}.{}", text_of(kDirections, fault.direction),
                                   text_of(kLayers, fault.layer), text_of(kFields, fault.field),
                                   mechanism_name(fault));
    if (!fault.predicate.conditions.empty()) {
        text += "@" + to_string(fault.predicate);
    }
    if (fault.rate != 1 || fault.after != 0) {
        text += fmt::format("!{}", fault.rate);
    }
    if (fault.after != 0) {
        text += fmt::format(",after={}", fault.after);
    }
    return text;
}

std::string_view mechanism_name(const Fault& fault) {
    return fault.mechanism->name;
}

Fault fault_of(const FaultModel& model) {
    return parse_fault(model.text).value();
}

Fault at_full_rate(const Fault& fault) {
    Fault certain = fault;
    certain.rate = 1;
    certain.after = 0;
    return certain;
}

FaultEffect effect_on(const Fault& fault, const TxFrame& frame, const NicLimits& limits) {
    SoftNic healthy(limits);
    SoftNic faulty(limits, {at_full_rate(fault)});
    TxResult right;
    TxResult spoilt;
    healthy.transmit(frame, right);
    faulty.transmit(frame, spoilt);
    return effect(healthy, faulty, right.frames == spoilt.frames);
}

FaultEffect effect_on(const Fault& fault, Bytes wire, const NicLimits& limits) {
    SoftNic healthy(limits);
    SoftNic faulty(limits, {at_full_rate(fault)});
    RxResult right;
    RxResult spoilt;
    healthy.receive(wire, right);
    faulty.receive(wire, spoilt);
    return effect(healthy, faulty, right == spoilt);
}

}  // namespace pathproof::softnic
