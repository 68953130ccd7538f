// Reads the objects of libnftables-json(5), as far as rules of NAT, filtering and tracking use them. For .cc
// files of this room.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "harness/hazards/nft_words.h"

namespace pathproof::hazards::nft {

class NftReader {
  public:
    // `texts`: what nft printed with -a.
    explicit NftReader(std::string_view texts) { read_texts(texts); }

    void take(const json& object);
    // kBadInput: a rule stands without its chain.
    Result<Ruleset> finish();

  private:
    static std::string table_of(const json& object);
    static bool contains_word(const json& list, const char* word);
    static std::string key_of(const json& object);
    // "table ip NAME {", "chain NAME {", "... # handle 12".
    void read_texts(std::string_view texts);
    void take_chain(const json& chain);
    Status take_rule(const json& object);
    void take_expression(Rule& rule, const json& expression, const std::string& table);
    // "tcp dport >= 1024".
    static void add_comparison(Rule& rule, const Looked& looked, const std::string& op,
                               const json& right);
    // Elements of a set, given by name or in place; nothing where it is not known.
    std::optional<std::vector<json>> elements_of(const json& right, const std::string& table);
    // "ip daddr . meta l4proto . th dport @services".
    void add_concat(Rule& rule, const json& keys, const json& right, bool negated,
                    const std::string& table);
    void add(Rule& rule, const Looked& looked, const json& right, bool negated, bool is_equality,
             const std::string& table);
    static void put(Condition& condition, const json& value);
    // The change of a mark: "mark or 0x4000", "mark xor 0x4000", "mark and 0xffffbfff", "0x1",
    // "mark and 0xff xor 0x3"; nothing for another form. `key` is how JSON names that mark.
    static std::optional<std::pair<std::uint32_t, std::uint32_t>> change_of(const json& value,
                                                                            const json& key);
    static void take_mangle(Rule& rule, const json& mangle);
    // {"range": [a, b]} or one number.
    static std::optional<NatTarget> target_of(const json& address, const json& port);
    bool take_nat(Rule& rule, const json& expression, const std::string& table);
    // "dnat to numgen random mod 2 map { 0 : 10.1.1.1, ... }", and by fields of the packet: those are
    // rules of their own, which with_nat_map() makes.
    void take_nat_map(Rule& rule, const json& map, const std::string& table);
    // "10.1.1.1", {"concat": ["10.1.1.1", 5353]}.
    static std::optional<NatTarget> mapped_target(const json& value);
    // A translation by a map of the packet's fields: one rule for each element.
    std::vector<Rule> with_nat_map(const Rule& rule, const json& expression, const char* word,
                                   const std::string& table);
    static void take_verdict(Rule& rule, const json& expression);
    std::vector<Rule> with_map(const Rule& rule, const json& map, const std::string& table);

    std::map<std::string, std::string> texts_;  // "ip nat POSTROUTING 12"
    std::unordered_map<std::string, std::size_t> places_;
    std::map<std::string, json> sets_;
    std::set<std::string> dynamic_;  // of them
    std::vector<json> rules_seen_;
    Ruleset rules_;
};

}  // namespace pathproof::hazards::nft
