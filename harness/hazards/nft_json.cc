// The schema of libnftables-json(5), as far as rules of NAT, filtering and tracking use it.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

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
    return value.is_string() ? value.get<std::string>()
           : number == 6     ? "tcp"
           : number == 17    ? "udp"
                             : std::to_string(number);
}

// What a rule looks at, and of a mark through which mask.
struct Looked {
    Field field = Field::kOther;
    std::uint32_t mask = 0xffffffff;
    std::string protocol = "";  // that the field implies: "udp" of "udp dport"
};

Looked looked_at(const json& left) {
    const json& payload = part(left, "payload");
    const std::string protocol = text_of(part(payload, "protocol"));
    const std::string field = text_of(part(payload, "field"));
    if (protocol == "ip" || protocol == "ip6") {
        return {field == "saddr"                            ? Field::kSource
                : field == "daddr"                          ? Field::kDestination
                : field == "protocol" || field == "nexthdr" ? Field::kProtocol
                                                            : Field::kOther};
    }
    if (field == "dport" || field == "sport") {
        return {.field = field == "dport" ? Field::kDestinationPort : Field::kSourcePort,
                .protocol = protocol == "th" ? "" : protocol};
    }
    const std::string meta = text_of(part(part(left, "meta"), "key"));
    if (!meta.empty()) {
        return {meta == "l4proto"                    ? Field::kProtocol
                : meta == "iifname" || meta == "iif" ? Field::kIn
                : meta == "oifname" || meta == "oif" ? Field::kOut
                : meta == "mark"                     ? Field::kMark
                                                     : Field::kOther};
    }
    const json& both = part(left, "&");
    if (both.is_array() && both.size() == 2 &&
        text_of(part(part(both[0], "meta"), "key")) == "mark") {
        return {.field = Field::kMark, .mask = static_cast<std::uint32_t>(number_of(both[1]))};
    }
    if (text_of(part(part(left, "ct"), "key")) == "state") {
        return {Field::kState};
    }
    const json& fib = part(left, "fib");
    const json& flags = part(fib, "flags");
    if (text_of(part(fib, "result")) == "type" && values_of(flags) == values_of(json("daddr"))) {
        return {Field::kDestinationType};
    }
    return part(left, "numgen").is_object() &&
                   text_of(part(part(left, "numgen"), "mode")) == "random"
               ? Looked{Field::kRandom}
               : Looked{};
}

class NftReader {
  public:
    explicit NftReader(std::string_view texts) { read_texts(texts); }

    void take(const json& object) {
        if (const json& chain = part(object, "chain"); chain.is_object()) {
            take_chain(chain);
        } else if (const json& set = part(object, "set"); set.is_object()) {
            sets_[key_of(set)] = part(set, "elem");
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
                                 .drops = text_of(part(chain, "policy")) == "drop"});
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
            if (const json& map = part(expression, "vmap"); map.is_object()) {
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
            add(rule, looked_at(part(match, "left")), part(match, "right"),
                op == "!=", op == "==" || op == "in" || op == "!=", table);
        } else if (const json& mangle = part(expression, "mangle"); mangle.is_object()) {
            take_mangle(rule, mangle);
        } else if (!take_nat(rule, expression)) {
            take_verdict(rule, expression);
        }
    }

    void add(Rule& rule, const Looked& looked, const json& right, bool negated, bool is_equality,
             const std::string& table) {
        if (!looked.protocol.empty()) {
            rule.conditions.push_back({.field = Field::kProtocol, .words = {looked.protocol}});
        }
        Condition condition{.field = is_equality ? looked.field : Field::kOther,
                            .negated = negated,
                            .mask = looked.mask};
        std::vector<json> values = values_of(right);
        if (const std::string set = text_of(right); set.starts_with('@')) {
            const auto known = sets_.find(table + " " + set.substr(1));
            values = known == sets_.end() ? std::vector<json>() : values_of(known->second);
            condition.set = known == sets_.end() ? set : "";
        }
        for (const json& value : values) {
            put(condition, value);
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
            case Field::kDestinationType: condition.words.push_back(text_of(value)); break;
            case Field::kMark:
                known = value.is_number_unsigned();
                condition.mark = static_cast<std::uint32_t>(number_of(value));
                break;
            case Field::kRandom:
            case Field::kOther: break;
        }
        condition.field = known ? condition.field : Field::kOther;
    }

    // Marks: "mark or 0x4000", "mark xor 0x4000", "mark and 0xffffbfff", "0x1".
    static void take_mangle(Rule& rule, const json& mangle) {
        if (text_of(part(part(part(mangle, "key"), "meta"), "key")) != "mark") {
            return;
        }
        rule.action = Action::kSetMark;
        const json& value = part(mangle, "value");
        rule.cleared = 0xffffffff;
        rule.flipped = static_cast<std::uint32_t>(number_of(value));
        for (const char* op : {"|", "^", "&"}) {
            const json& both = part(value, op);
            if (!both.is_array() || both.size() != 2) {
                continue;
            }
            const auto bits = static_cast<std::uint32_t>(number_of(both[1]));
            rule.cleared = *op == '|' ? bits : *op == '^' ? 0 : ~bits;
            rule.flipped = *op == '&' ? 0 : bits;
        }
    }

    static bool take_nat(Rule& rule, const json& expression) {
        static const std::pair<const char*, Action> kKinds[] = {
            {"masquerade", Action::kMasquerade}, {"snat", Action::kSnat}, {"dnat", Action::kDnat}};
        for (const auto& [word, action] : kKinds) {
            if (!expression.contains(word)) {
                continue;
            }
            rule.action = action;
            const json& what = part(expression, word);
            for (const json& flag : values_of(part(what, "flags"))) {
                rule.random |= text_of(flag) == "random" || text_of(flag) == "fully-random";
            }
            if (const auto to = addresses_of(part(what, "addr")); to) {
                rule.to = to->first;
            }
            return true;
        }
        return false;
    }

    static void take_verdict(Rule& rule, const json& expression) {
        static const std::pair<const char*, Action> kVerdicts[] = {
            {"accept", Action::kAccept}, {"drop", Action::kDrop},       {"reject", Action::kDrop},
            {"return", Action::kReturn}, {"notrack", Action::kNotrack}, {"jump", Action::kJump},
            {"goto", Action::kGoto}};
        static const char* const kNoVerdicts[] = {"counter", "log", "comment", "quota"};
        for (const auto& [word, action] : kVerdicts) {
            if (expression.contains(word)) {
                rule.action = action;
                if (action == Action::kJump || action == Action::kGoto) {
                    rule.targets = {text_of(part(part(expression, word), "target"))};
                }
                return;
            }
        }
        const bool is_silent = std::ranges::any_of(
            kNoVerdicts, [&](const char* word) { return expression.contains(word); });
        if (!is_silent) {
            rule.conditions.push_back({});
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
        for (const json& element : elements.is_array() ? elements : json::array()) {
            if (!element.is_array() || element.size() != 2) {
                continue;
            }
            Rule one = rule;
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
            all.action = made.front().action;
            all.draws = true;
            for (const Rule& each : made) {
                all.targets.insert(all.targets.end(), each.targets.begin(), each.targets.end());
            }
            made = {all};
        }
        return made.empty() ? std::vector<Rule>{rule} : made;
    }

    std::map<std::string, std::string> texts_;  // "ip nat POSTROUTING 12"
    std::unordered_map<std::string, std::size_t> places_;
    std::map<std::string, json> sets_;
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
