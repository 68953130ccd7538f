// The schema of libnftables-json(5), as far as rules of NAT, filtering and tracking use it.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <unordered_map>

#include "dataplane/base/number.h"
#include "harness/hazards/ruleset.h"
#include "harness/process/foreign.h"
#include "harness/process/json_text.h"

namespace pathproof::hazards {
namespace {

using nlohmann::json;
using process::number_of;
using process::part;
using process::text_of;

// Of a value that may be one or several: "udp", ["a", "b"], {"set": [...]}.
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
    return value.is_string() ? value.get<std::string>()
           : number == 6     ? "tcp"
           : number == 17    ? "udp"
           : number == 1     ? "icmp"
                             : std::to_string(number);
}

// Numbers behind the words that nft prints; nothing for a word that is not known here.
enum class WordKind : std::uint8_t { kIcmp, kIcmpv6, kTcpFlags };
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
    const auto& words = kind == WordKind::kTcpFlags ? kFlags
                        : kind == WordKind::kIcmpv6 ? kTypes6
                                                    : kTypes;
    const auto found = words.find(text_of(value));
    return found == words.end() ? std::nullopt : std::optional(found->second);
}

// A word, or several, of flags.
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

// What a rule looks at, and of a mark through which mask.
struct Looked {
    Field field = Field::kOther;
    std::uint32_t mask = 0xffffffff;
    std::string protocol = "";  // that the field implies: "udp" of "udp dport"
    std::string family = "";    // likewise: "ipv4" of "ip saddr"
    std::string unknown = "";   // of kOther
};

std::string without_quotes(const json& value) {
    std::string text = process::to_text(value);
    std::erase(text, '"');
    return text;
}

Looked looked_at(const json& left) {
    const json& payload = part(left, "payload");
    const std::string protocol = text_of(part(payload, "protocol"));
    const std::string field = text_of(part(payload, "field"));
    if (protocol == "ip" || protocol == "ip6") {
        return {.field = field == "saddr"                            ? Field::kSource
                         : field == "daddr"                          ? Field::kDestination
                         : field == "protocol" || field == "nexthdr" ? Field::kProtocol
                                                                     : Field::kOther,
                .family = protocol == "ip" ? "ipv4" : "ipv6",
                .unknown = protocol + " " + field};
    }
    if (protocol == "icmp" || protocol == "icmpv6") {
        return {.field = field == "type"   ? Field::kIcmpType
                         : field == "code" ? Field::kIcmpCode
                                           : Field::kOther,
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
        return {.field = meta == "l4proto"                    ? Field::kProtocol
                         : meta == "nfproto"                  ? Field::kFamily
                         : meta == "iifname" || meta == "iif" ? Field::kIn
                         : meta == "oifname" || meta == "oif" ? Field::kOut
                         : meta == "mark"                     ? Field::kMark
                         : meta == "skuid"                    ? Field::kUser
                                                              : Field::kOther,
                .unknown = "meta " + meta};
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
        return {.field = of_entry == "state"       ? Field::kState
                         : of_entry == "status"    ? Field::kStatus
                         : of_entry == "direction" ? Field::kDirection
                         : of_entry == "mark"      ? Field::kConnmark
                                                   : Field::kOther,
                .unknown = "ct " + of_entry};
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

class NftReader {
  public:
    explicit NftReader(std::string_view texts) { read_texts(texts); }

    void take(const json& object) {
        if (const json& chain = part(object, "chain"); chain.is_object()) {
            take_chain(chain);
        } else if (const json& set = part(object, "set"); set.is_object()) {
            sets_[key_of(set)] = part(set, "elem");
            // Packets may add to it, or time takes from it.
            if (contains_word(part(set, "flags"), "dynamic") ||
                contains_word(part(set, "flags"), "timeout")) {
                dynamic_.insert(key_of(set));
            }
        } else if (const json& map = part(object, "map"); map.is_object()) {
            sets_[key_of(map)] = part(map, "elem");
        } else if (part(object, "rule").is_object()) {
            // Its sets and maps may stand behind it.
            rules_seen_.push_back(part(object, "rule"));
        }
    }

    Result<Ruleset> finish() {
        for (const json& rule : rules_seen_) {
            TRY(take_rule(rule));
        }
        return std::move(rules_);
    }

  private:
    static std::string table_of(const json& object) {
        return text_of(part(object, "family")) + " " + text_of(part(object, "table"));
    }
    static bool contains_word(const json& list, const char* word) {
        return list.is_array() &&
               std::ranges::any_of(list, [&](const json& each) { return text_of(each) == word; });
    }
    static std::string key_of(const json& object) {
        return table_of(object) + " " + text_of(part(object, "name"));
    }

    // "table ip NAME {", "chain NAME {", "... # handle 12".
    void read_texts(std::string_view texts) {
        std::string table, chain;
        for (std::string& line : process::lines_of(texts)) {
            line.erase(0, line.find_first_not_of(" \t"));
            const std::size_t mark = line.rfind(" # handle ");
            const bool opens = line.find(" {") != std::string::npos;
            if (line.starts_with("table ") && opens) {
                table = line.substr(6, line.find(" {") - 6);
            } else if (line.starts_with("chain ") && opens) {
                chain = line.substr(6, line.find(" {") - 6);
            } else if (mark != std::string::npos) {
                texts_[fmt::format("{} {} {}", table, chain, line.substr(mark + 10))] =
                    line.substr(0, mark);
            }
        }
    }

    void take_chain(const json& chain) {
        places_[key_of(chain)] = rules_.chains.size();
        rules_.chains.push_back({.origin = Origin::kNftables,
                                 .family = text_of(part(chain, "family")),
                                 .table = text_of(part(chain, "table")),
                                 .name = text_of(part(chain, "name")),
                                 .hook = text_of(part(chain, "hook")),
                                 .type = text_of(part(chain, "type")),
                                 .drops = text_of(part(chain, "policy")) == "drop",
                                 .priority = part(chain, "prio").is_number_integer()
                                                 ? part(chain, "prio").get<int>()
                                                 : 0});
    }

    Status take_rule(const json& object) {
        const auto place = places_.find(table_of(object) + " " + text_of(part(object, "chain")));
        const json& expressions = part(object, "expr");
        if (place == places_.end() || !expressions.is_array()) {
            return fail(ErrorCode::kBadInput, "nft's JSON has a rule without its chain");
        }
        Chain& chain = rules_.chains[place->second];
        const std::uint64_t handle = number_of(part(object, "handle"));
        const auto text =
            texts_.find(fmt::format("{} {} {}", table_of(object), chain.name, handle));
        Rule rule{.origin = Origin::kNftables,
                  .family = chain.family,
                  .table = chain.table,
                  .chain = chain.name,
                  .number = chain.rules.empty() ? 1 : chain.rules.back().number + 1,
                  .handle = handle,
                  .text = text != texts_.end() ? text->second : process::to_text(expressions)};
        // A rule with a verdict map is one rule for each of the map's elements.
        std::vector<Rule> made{rule};
        for (const json& expression : expressions) {
            const char* const word = expression.contains("dnat") ? "dnat" : "snat";
            const json& nat_map = part(part(part(expression, word), "addr"), "map");
            const json& nat_key = part(nat_map, "key");
            const bool by_fields = nat_map.is_object() && !part(nat_key, "numgen").is_object() &&
                                   !part(nat_key, "jhash").is_object() &&
                                   !part(nat_key, "symhash").is_object();
            std::vector<Rule> mapped;
            if (by_fields && made.size() == 1) {
                mapped = with_nat_map(made.front(), expression, word, table_of(object));
            }
            if (!mapped.empty()) {
                made = std::move(mapped);
            } else if (const json& map = part(expression, "vmap"); map.is_object()) {
                made = with_map(made.front(), map, table_of(object));
            } else {
                for (Rule& each : made) {
                    take_expression(each, expression, table_of(object));
                }
            }
        }
        std::ranges::move(made, std::back_inserter(chain.rules));
        return {};
    }

    void take_expression(Rule& rule, const json& expression, const std::string& table) {
        if (const json& match = part(expression, "match"); match.is_object()) {
            const std::string op = text_of(part(match, "op"));
            const json& left = part(match, "left");
            // A change that was made although a condition behind it fails is not modelled.
            if (!rule.effects.empty()) {
                rule.unmodelled = "a condition behind a change";
            }
            if (part(left, "concat").is_array()) {
                add_concat(rule, part(left, "concat"), part(match, "right"), op == "!=", table);
            } else if (is_numbered(looked_at(left).field) && op.find_first_of("<>") == 0) {
                add_comparison(rule, looked_at(left), op, part(match, "right"));
            } else {
                add(rule, looked_at(left), part(match, "right"),
                    op == "!=", op == "==" || op == "in" || op == "!=", table);
            }
        } else if (const json& mangle = part(expression, "mangle"); mangle.is_object()) {
            take_mangle(rule, mangle);
        } else if (const json& counter = part(expression, "counter"); counter.is_object()) {
            rule.packets = number_of(part(counter, "packets"));
        } else if (!take_nat(rule, expression, table)) {
            take_verdict(rule, expression);
        }
    }

    // "tcp dport >= 1024".
    static void add_comparison(Rule& rule, const Looked& looked, const std::string& op,
                               const json& right) {
        if (!looked.protocol.empty()) {
            rule.conditions.push_back({.field = Field::kProtocol, .words = {looked.protocol}});
        }
        const std::uint64_t bound = number_of(right);
        const bool above = op.starts_with('>'), equal = op.ends_with('=');
        const std::uint64_t first = above ? bound + (equal ? 0 : 1) : 0;
        const std::uint64_t last = above ? 0xffff : bound - (equal ? 0 : 1);
        const bool sensible = right.is_number_unsigned() && bound <= 0xffff && bound != 0;
        rule.conditions.push_back(
            sensible ? Condition{.field = looked.field,
                                 .ports = {{static_cast<std::uint16_t>(
                                                std::min<std::uint64_t>(first, 0xffff)),
                                            static_cast<std::uint16_t>(last)}}}
                     : Condition{.unknown = "a comparison"});
    }

    // Elements of a set, given by name or in place; nothing where it is not known.
    std::optional<std::vector<json>> elements_of(const json& right, const std::string& table) {
        if (const std::string set = text_of(right); set.starts_with('@')) {
            const auto known = sets_.find(table + " " + set.substr(1));
            return known == sets_.end() || dynamic_.contains(known->first)
                       ? std::nullopt
                       : std::optional(known->second.is_null() ? std::vector<json>()
                                                               : values_of(known->second));
        }
        return values_of(right);
    }

    // "ip daddr . meta l4proto . th dport @services".
    void add_concat(Rule& rule, const json& keys, const json& right, bool negated,
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

    void add(Rule& rule, const Looked& looked, const json& right, bool negated, bool is_equality,
             const std::string& table) {
        if (!looked.protocol.empty()) {
            rule.conditions.push_back({.field = Field::kProtocol, .words = {looked.protocol}});
        }
        // nft's rules of "inet" meet both families, and a field of one is not there in the other.
        if (!looked.family.empty() && !table.starts_with("ip ") && !table.starts_with("ip6 ")) {
            rule.conditions.push_back({.field = Field::kFamily, .words = {looked.family}});
        }
        Condition condition{.field = is_equality ? looked.field : Field::kOther,
                            .negated = negated,
                            .mask = looked.mask,
                            .unknown = is_equality && looked.field != Field::kOther ? ""
                                       : looked.unknown.empty()                     ? "a comparison"
                                                                : looked.unknown};
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
                is_type ? number_behind(value, looked.protocol == "icmp" ? WordKind::kIcmp
                                                                         : WordKind::kIcmpv6)
                        : std::nullopt;
            put(condition, number ? json(*number) : value);
        }
        rule.conditions.push_back(std::move(condition));
    }

    static void put(Condition& condition, const json& value) {
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

    // How a mark changes: "mark or 0x4000", "mark xor 0x4000", "mark and 0xffffbfff", "0x1",
    // "mark and 0xff xor 0x3"; nothing for another form. `key` is how JSON names that mark.
    static std::optional<std::pair<std::uint32_t, std::uint32_t>> change_of(const json& value,
                                                                            const json& key) {
        if (value.is_number_unsigned()) {
            return std::pair{0xffffffffU, static_cast<std::uint32_t>(number_of(value))};
        }
        for (const char* op : {"|", "^", "&"}) {
            const json& both = part(value, op);
            if (!both.is_array() || both.size() != 2 || !both[1].is_number_unsigned()) {
                continue;
            }
            const auto bits = static_cast<std::uint32_t>(number_of(both[1]));
            auto change = both[0] == key ? std::optional(std::pair{0U, 0U}) : std::nullopt;
            if (!change && both[0].is_object()) {
                change = change_of(both[0], key);
            }
            if (!change) {
                return std::nullopt;
            }
            auto& [cleared, flipped] = *change;
            if (*op == '|') {
                cleared |= bits;
                flipped = (flipped & ~bits) | bits;
            } else if (*op == '^') {
                flipped ^= bits;
            } else {
                cleared |= ~bits;
                flipped &= bits;
            }
            return change;
        }
        return std::nullopt;
    }

    static void take_mangle(Rule& rule, const json& mangle) {
        const json& key = part(mangle, "key");
        const json& value = part(mangle, "value");
        const std::string meta = text_of(part(part(key, "meta"), "key"));
        const std::string entry = text_of(part(part(key, "ct"), "key"));
        if (meta == "mark" || entry == "mark") {
            const bool packets = meta == "mark";
            const json& other = part(part(value, packets ? "ct" : "meta"), "key");
            Effect effect{.cleared = 0xffffffff, .flipped = 0xffffffff, .text = "a mark"};
            if (const auto change = change_of(value, key); change) {
                effect.kind = packets ? Effect::Kind::kMark : Effect::Kind::kConnmark;
                std::tie(effect.cleared, effect.flipped) = *change;
            } else if (text_of(other) == "mark") {
                effect.kind = packets ? Effect::Kind::kMarkFromConn : Effect::Kind::kConnFromMark;
            }
            if (packets && effect.kind == Effect::Kind::kMark) {
                rule.action = Action::kSetMark;
                rule.cleared = effect.cleared;
                rule.flipped = effect.flipped;
            }
            rule.effects.push_back(std::move(effect));
        } else if (entry == "zone") {
            const bool known = value.is_number_unsigned();
            rule.effects.push_back({.kind = !known ? Effect::Kind::kUnknown
                                            : part(part(key, "ct"), "dir").is_null()
                                                ? Effect::Kind::kZone
                                                : Effect::Kind::kZoneOne,
                                    .zone = static_cast<std::uint16_t>(number_of(value)),
                                    .text = "ct zone"});
        } else if (part(key, "payload").is_object()) {
            static const char* const kOfTheWay[] = {"saddr", "daddr", "sport", "dport"};
            const std::string field = text_of(part(part(key, "payload"), "field"));
            if (std::ranges::find(kOfTheWay, field) != std::end(kOfTheWay)) {
                rule.unmodelled = "a header that is written";
            }
        }
    }

    // {"range": [a, b]} or one number.
    static std::optional<NatTarget> target_of(const json& address, const json& port) {
        NatTarget target;
        if (!address.is_null()) {
            target.addresses = addresses_of(address);
            if (!target.addresses) {
                return std::nullopt;
            }
        }
        if (!port.is_null()) {
            target.ports = ports_of(port);
            if (!target.ports) {
                return std::nullopt;
            }
        }
        return target;
    }

    bool take_nat(Rule& rule, const json& expression, const std::string& table) {
        static const std::pair<const char*, Action> kKinds[] = {{"masquerade", Action::kMasquerade},
                                                                {"snat", Action::kSnat},
                                                                {"dnat", Action::kDnat},
                                                                {"redirect", Action::kRedirect}};
        for (const auto& [word, action] : kKinds) {
            if (!expression.contains(word)) {
                continue;
            }
            rule.action = action;
            const json& what = part(expression, word);
            for (const json& flag : values_of(part(what, "flags"))) {
                rule.random |= text_of(flag) == "random" || text_of(flag) == "fully-random";
            }
            const json& address = part(what, "addr");
            if (const auto to = addresses_of(address); to) {
                rule.to = to->first;
            }
            const json& map = part(address, "map");
            if (map.is_object()) {
                take_nat_map(rule, map, table);
            } else if (const auto target = target_of(address, part(what, "port")); target) {
                rule.nat.push_back(*target);
            } else {
                rule.nat.emplace_back();
                rule.unmodelled = "where to is not a plain address and port";
            }
            return true;
        }
        return false;
    }

    // "dnat to numgen random mod 2 map { 0 : 10.1.1.1, ... }", and by fields of the packet: those are
    // rules of their own, which with_nat_map() makes.
    void take_nat_map(Rule& rule, const json& map, const std::string& table) {
        const auto elements = elements_of(part(map, "data"), table);
        const bool chance = part(part(map, "key"), "numgen").is_object() ||
                            part(part(map, "key"), "jhash").is_object() ||
                            part(part(map, "key"), "symhash").is_object();
        for (const json& element : elements.value_or(std::vector<json>())) {
            const bool is_pair = element.is_array() && element.size() == 2;
            const auto target = is_pair ? mapped_target(element[1]) : std::nullopt;
            if (!target) {
                rule.unmodelled = "a map of another form";
                return;
            }
            rule.nat.push_back(*target);
            rule.to = rule.nat.front().addresses ? std::optional(rule.nat.front().addresses->first)
                                                 : rule.to;
        }
        if (!chance || rule.nat.empty()) {
            rule.unmodelled = "a map of fields";
        }
        rule.draws = chance;
    }

    // "10.1.1.1", {"concat": ["10.1.1.1", 5353]}.
    static std::optional<NatTarget> mapped_target(const json& value) {
        const json& both = part(value, "concat");
        return both.is_array() && both.size() == 2 ? target_of(both[0], both[1])
                                                   : target_of(value, json());
    }

    // A translation by a map of the packet's fields: one rule for each element.
    std::vector<Rule> with_nat_map(const Rule& rule, const json& expression, const char* word,
                                   const std::string& table) {
        const json& map = part(part(part(expression, word), "addr"), "map");
        const json& key = part(map, "key");
        const json& keys = part(key, "concat");
        const auto elements = elements_of(part(map, "data"), table);
        std::vector<Rule> made;
        for (const json& element : elements.value_or(std::vector<json>())) {
            const bool is_pair = element.is_array() && element.size() == 2;
            const auto target = is_pair ? mapped_target(element[1]) : std::nullopt;
            const json& values = is_pair ? part(element[0], "concat") : element;
            const bool many = keys.is_array();
            if (!target || (many && (!values.is_array() || values.size() != keys.size()))) {
                return {};
            }
            Rule one = rule;
            one.action = word == std::string("snat") ? Action::kSnat : Action::kDnat;
            for (std::size_t i = 0; i < (many ? keys.size() : 1); ++i) {
                add(one, looked_at(many ? keys[i] : key), many ? values[i] : element[0], false,
                    true, table);
            }
            one.nat = {*target};
            one.to = target->addresses ? std::optional(target->addresses->first) : std::nullopt;
            made.push_back(std::move(one));
        }
        return made;
    }

    static void take_verdict(Rule& rule, const json& expression) {
        static const std::pair<const char*, Action> kVerdicts[] = {
            {"accept", Action::kAccept}, {"drop", Action::kDrop},       {"reject", Action::kDrop},
            {"return", Action::kReturn}, {"notrack", Action::kNotrack}, {"jump", Action::kJump},
            {"goto", Action::kGoto}};
        static const char* const kNoVerdicts[] = {"counter",  "log",       "comment",
                                                  "continue", "ct helper", "ct timeout"};
        static const char* const kUnmodelled[] = {"queue", "tproxy",   "fwd",
                                                  "dup",   "synproxy", "flow"};
        for (const char* word : kUnmodelled) {
            if (expression.contains(word)) {
                rule.unmodelled = word;
                return;
            }
        }
        for (const auto& [word, action] : kVerdicts) {
            if (expression.contains(word)) {
                rule.action = action;
                rule.rejects = word == std::string("reject");
                if (action == Action::kNotrack) {
                    rule.effects.push_back({.kind = Effect::Kind::kNotrack});
                }
                if (action == Action::kJump || action == Action::kGoto) {
                    rule.targets = {text_of(part(part(expression, word), "target"))};
                }
                return;
            }
        }
        const bool is_silent = std::ranges::any_of(
            kNoVerdicts, [&](const char* word) { return expression.contains(word); });
        if (!is_silent) {
            // "limit", "quota", "ct count", "xt": may let a packet through or not.
            rule.conditions.push_back({.unknown = expression.is_object() && !expression.empty()
                                                      ? std::string(expression.begin().key())
                                                      : std::string("a statement")});
        }
    }

    std::vector<Rule> with_map(const Rule& rule, const json& map, const std::string& table) {
        const json& data = part(map, "data");
        json elements = part(data, "set");
        if (const std::string set = text_of(data); set.starts_with('@')) {
            const auto known = sets_.find(table + " " + set.substr(1));
            elements = known == sets_.end() ? json() : known->second;
        }
        const json& key = part(map, "key");
        const json& keys = part(key, "concat");
        std::vector<Rule> made;
        const std::string name = text_of(data);
        const bool is_empty = name.starts_with('@') && elements.is_null() &&
                              sets_.contains(table + " " + name.substr(1));
        if (!rule.effects.empty()) {
            // They are made whatever the map says.
            made.push_back(rule);
        }
        for (const json& element : elements.is_array() ? elements : json::array()) {
            if (!element.is_array() || element.size() != 2) {
                continue;
            }
            Rule one = rule;
            one.effects.clear();
            const json& values = part(element[0], "concat");
            if (keys.is_array() && values.is_array() && keys.size() == values.size()) {
                for (std::size_t i = 0; i < keys.size(); ++i) {
                    add(one, looked_at(keys[i]), values[i], false, true, table);
                }
            } else {
                add(one, looked_at(key), element[0], false, true, table);
            }
            take_verdict(one, element[1]);
            made.push_back(std::move(one));
        }
        // By chance: one rule with all of them as targets.
        if (!made.empty() && looked_at(key).field == Field::kRandom) {
            Rule all = rule;
            all.action = made.back().action;
            all.draws = true;
            for (const Rule& each : made) {
                all.targets.insert(all.targets.end(), each.targets.begin(), each.targets.end());
            }
            made = {all};
        }
        if (!made.empty() && looked_at(key).field == Field::kOther && !keys.is_array()) {
            for (Rule& each : made) {
                each.draws = true;  // which of them is not known
            }
        }
        if (made.size() <= (rule.effects.empty() ? 0 : 1) && !is_empty) {
            Rule unread = rule;
            unread.unmodelled = "a map that is not known";
            return {unread};
        }
        return made.empty() ? std::vector<Rule>{rule} : made;
    }

    std::map<std::string, std::string> texts_;  // "ip nat POSTROUTING 12"
    std::unordered_map<std::string, std::size_t> places_;
    std::map<std::string, json> sets_;
    std::set<std::string> dynamic_;  // of them
    std::vector<json> rules_seen_;
    Ruleset rules_;
};

Result<json> objects_of(std::string_view text, const char* command) {
    const json whole =
        process::parse_foreign(process::valid_utf8(std::string(text)));  // comments need not be
    if (!part(whole, "nftables").is_array()) {
        return fail(ErrorCode::kBadInput, "`nft -j {}` printed no JSON of nftables", command);
    }
    return part(whole, "nftables");
}

}  // namespace

void take_handles(std::string_view texts, const std::string& family, const std::string& table,
                  Ruleset& rules) {
    std::map<std::string, std::vector<std::uint64_t>> handles;
    std::string chain;
    for (std::string& line : process::lines_of(texts)) {
        line.erase(0, line.find_first_not_of(" \t"));
        const std::size_t mark = line.rfind(" # handle ");
        if (line.starts_with("chain ") && line.find(" {") != std::string::npos) {
            chain = line.substr(6, line.find(" {") - 6);
        } else if (mark != std::string::npos && !line.starts_with("table ")) {
            const auto handle = whole_number<std::uint64_t>(line.substr(mark + 10));
            handles[chain].push_back(handle.value_or(0));
        }
    }
    for (Chain& each : rules.chains) {
        const auto found = handles.find(each.name);
        if (each.origin != Origin::kIptablesNft || each.family != family || each.table != table ||
            found == handles.end() || found->second.size() != each.rules.size()) {
            continue;
        }
        for (std::size_t i = 0; i < each.rules.size(); ++i) {
            each.rules[i].handle = found->second[i];
        }
    }
}

Result<std::vector<Table>> parse_nft_tables(std::string_view text) {
    const json objects = TRY(objects_of(text, "list tables"));
    std::vector<Table> tables;
    for (const json& object : objects) {
        if (const json& table = part(object, "table"); table.is_object()) {
            tables.push_back({text_of(part(table, "family")), text_of(part(table, "name"))});
        }
    }
    return tables;
}

Result<Ruleset> parse_nft(std::string_view text, std::string_view texts) {
    const json objects = TRY(objects_of(text, "list table"));
    NftReader reader(texts);
    for (const json& object : objects) {
        reader.take(object);
    }
    return reader.finish();
}

}  // namespace pathproof::hazards
