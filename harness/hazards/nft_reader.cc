#include "harness/hazards/nft_reader.h"

#include <algorithm>

#include "harness/process/foreign.h"
#include "harness/process/json_text.h"

namespace pathproof::hazards::nft {

using process::number_of;
using process::part;
using process::text_of;

void NftReader::take(const json& object) {
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

Result<Ruleset> NftReader::finish() {
    for (const json& rule : rules_seen_) {
        TRY(take_rule(rule));
    }
    return std::move(rules_);
}

std::string NftReader::table_of(const json& object) {
    return text_of(part(object, "family")) + " " + text_of(part(object, "table"));
}

bool NftReader::contains_word(const json& list, const char* word) {
    return list.is_array() &&
           std::ranges::any_of(list, [&](const json& each) { return text_of(each) == word; });
}

std::string NftReader::key_of(const json& object) {
    return table_of(object) + " " + text_of(part(object, "name"));
}

void NftReader::read_texts(std::string_view texts) {
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

void NftReader::take_chain(const json& chain) {
    places_[key_of(chain)] = rules_.chains.size();
    rules_.chains.push_back(
        {.origin = Origin::kNftables,
         .family = text_of(part(chain, "family")),
         .table = text_of(part(chain, "table")),
         .name = text_of(part(chain, "name")),
         .hook = text_of(part(chain, "hook")),
         .type = text_of(part(chain, "type")),
         .drops = text_of(part(chain, "policy")) == "drop",
         .priority = part(chain, "prio").is_number_integer() ? part(chain, "prio").get<int>() : 0});
}

Status NftReader::take_rule(const json& object) {
    const auto place = places_.find(table_of(object) + " " + text_of(part(object, "chain")));
    const json& expressions = part(object, "expr");
    if (place == places_.end() || !expressions.is_array()) {
        return fail(ErrorCode::kBadInput, "nft's JSON has a rule without its chain");
    }
    Chain& chain = rules_.chains[place->second];
    const std::uint64_t handle = number_of(part(object, "handle"));
    const auto text = texts_.find(fmt::format("{} {} {}", table_of(object), chain.name, handle));
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

void NftReader::take_expression(Rule& rule, const json& expression, const std::string& table) {
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

std::optional<std::vector<json>> NftReader::elements_of(const json& right,
                                                        const std::string& table) {
    if (const std::string set = text_of(right); set.starts_with('@')) {
        const auto known = sets_.find(table + " " + set.substr(1));
        return known == sets_.end() || dynamic_.contains(known->first)
                   ? std::nullopt
                   : std::optional(known->second.is_null() ? std::vector<json>()
                                                           : values_of(known->second));
    }
    return values_of(right);
}

}  // namespace pathproof::hazards::nft
