// Actions of nftables' rules: marks, zones, translations, verdicts and maps of them.
#include <algorithm>
#include <tuple>

#include "harness/hazards/nft_reader.h"
#include "harness/process/foreign.h"
#include "harness/process/json_text.h"

namespace pathproof::hazards::nft {

using process::number_of;
using process::part;
using process::text_of;

std::optional<std::pair<std::uint32_t, std::uint32_t>> NftReader::change_of(const json& value,
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

void NftReader::take_mangle(Rule& rule, const json& mangle) {
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
        auto kind = Effect::Kind::kUnknown;
        if (value.is_number_unsigned()) {
            const bool both_ways = part(part(key, "ct"), "dir").is_null();
            kind = both_ways ? Effect::Kind::kZone : Effect::Kind::kZoneOne;
        }
        rule.effects.push_back({.kind = kind,
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

std::optional<NatTarget> NftReader::target_of(const json& address, const json& port) {
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

bool NftReader::take_nat(Rule& rule, const json& expression, const std::string& table) {
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

void NftReader::take_nat_map(Rule& rule, const json& map, const std::string& table) {
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
        rule.to =
            rule.nat.front().addresses ? std::optional(rule.nat.front().addresses->first) : rule.to;
    }
    if (!chance || rule.nat.empty()) {
        rule.unmodelled = "a map of fields";
    }
    rule.draws = chance;
}

std::optional<NatTarget> NftReader::mapped_target(const json& value) {
    const json& both = part(value, "concat");
    return both.is_array() && both.size() == 2 ? target_of(both[0], both[1])
                                               : target_of(value, json());
}

std::vector<Rule> NftReader::with_nat_map(const Rule& rule, const json& expression,
                                          const char* word, const std::string& table) {
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
            add(one, looked_at(many ? keys[i] : key), many ? values[i] : element[0], false, true,
                table);
        }
        one.nat = {*target};
        one.to = target->addresses ? std::optional(target->addresses->first) : std::nullopt;
        made.push_back(std::move(one));
    }
    return made;
}

void NftReader::take_verdict(Rule& rule, const json& expression) {
    static const std::pair<const char*, Action> kVerdicts[] = {
        {"accept", Action::kAccept}, {"drop", Action::kDrop},       {"reject", Action::kDrop},
        {"return", Action::kReturn}, {"notrack", Action::kNotrack}, {"jump", Action::kJump},
        {"goto", Action::kGoto}};
    static const char* const kNoVerdicts[] = {"counter",  "log",       "comment",
                                              "continue", "ct helper", "ct timeout"};
    static const char* const kUnmodelled[] = {"queue", "tproxy", "fwd", "dup", "synproxy", "flow"};
    // nf_ct_netns_get() of their init().
    for (const char* word : {"ct helper", "ct timeout", "ct expectation", "ct count", "synproxy"}) {
        rule.tracks |= expression.contains(word);
    }
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

std::vector<Rule> NftReader::with_map(const Rule& rule, const json& map, const std::string& table) {
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
    const bool is_empty =
        name.starts_with('@') && elements.is_null() && sets_.contains(table + " " + name.substr(1));
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
    // A choice by chance becomes one rule with all of them as targets.
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

}  // namespace pathproof::hazards::nft
