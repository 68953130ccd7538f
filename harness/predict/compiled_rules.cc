#include "harness/predict/compiled_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace pathproof::predict {

using hazards::Action;
using hazards::AddressRange;
using hazards::Chain;
using hazards::Condition;
using hazards::Effect;
using hazards::Field;
using hazards::Origin;
using hazards::Rule;

namespace {

const char* const kHooks[] = {"prerouting", "input", "forward", "output", "postrouting"};

// Rules that make the kernel track flows (nf_ct_netns_get()): an empty chain of NAT does not.
bool asks_conntrack(const Rule& rule) {
    const bool translates = rule.action == Action::kDnat || rule.action == Action::kSnat ||
                            rule.action == Action::kMasquerade ||
                            rule.action == Action::kRedirect || rule.action == Action::kNetmap;
    return translates || rule.tracks ||
           std::ranges::any_of(rule.conditions,
                               [](const Condition& condition) {
                                   return condition.field == Field::kState ||
                                          condition.field == Field::kStatus ||
                                          condition.field == Field::kDirection ||
                                          condition.field == Field::kConnmark ||
                                          condition.unknown.starts_with("ct ") ||
                                          condition.unknown.starts_with("-m helper") ||
                                          condition.unknown.starts_with("-m conn");
                               }) ||
           std::ranges::any_of(rule.effects, [](const Effect& effect) {
               return effect.kind != Effect::Kind::kMark && effect.kind != Effect::Kind::kNotrack &&
                      effect.kind != Effect::Kind::kUnknown;
           });
}

}  // namespace

CompiledRules::CompiledRules(const hazards::Facts& known, Router& asked)
    : facts(known), router(asked) {
    std::unordered_map<std::string, std::size_t> places;
    for (const Chain& chain : facts.rules.chains) {
        places.emplace(key_of(chain.origin, chain.family, chain.table, chain.name), chains.size());
        chains.push_back({.chain = &chain});
    }
    for (OneChain& chain : chains) {
        for (const Rule& rule : chain.chain->rules) {
            OneRule compiled{.rule = &rule};
            for (const std::string& target : rule.targets) {
                const auto found =
                    places.find(key_of(rule.origin, rule.family, rule.table, target));
                compiled.targets.push_back(
                    found == places.end() ? -1 : static_cast<std::ptrdiff_t>(found->second));
            }
            index(chain, rule, static_cast<std::uint32_t>(chain.rules.size()));
            chain.rules.push_back(std::move(compiled));
        }
    }
    for (const char* family : {"ip", "ip6"}) {
        for (const char* hook : kHooks) {
            bases[std::string(family) + " " + hook] = bases_of(family, hook);
        }
    }
    read_locals();
    for (const hazards::Device& device : facts.devices) {
        devices.emplace(device.name, &device);
    }
    before_tracking = std::ranges::any_of(chains, [](const OneChain& chain) {
        return std::ranges::any_of(chain.chain->rules, [](const Rule& rule) {
            return std::ranges::any_of(rule.effects, [](const Effect& effect) {
                return effect.kind == Effect::Kind::kZone ||
                       effect.kind == Effect::Kind::kZoneOne ||
                       effect.kind == Effect::Kind::kNotrack;
            });
        });
    });
    tracks = std::ranges::any_of(chains, [](const OneChain& chain) {
        return std::ranges::any_of(chain.chain->rules, asks_conntrack);
    });
}

std::string CompiledRules::key_of(Origin origin, const std::string& family,
                                  const std::string& table, const std::string& chain) {
    return fmt::format("{} {} {} {}", static_cast<int>(origin), family, table, chain);
}

void CompiledRules::index(OneChain& chain, const Rule& rule, std::uint32_t at) {
    for (const Condition& condition : rule.conditions) {
        if (condition.field == Field::kDestination && !condition.negated && condition.set.empty() &&
            condition.addresses.size() == 1 && condition.addresses[0].is_one_address()) {
            chain.exact[condition.addresses[0].first].push_back(at);
            return;
        }
    }
    chain.general.push_back(at);
}

std::vector<CompiledRules::Base> CompiledRules::bases_of(const std::string& family,
                                                         const std::string& hook) const {
    std::vector<Base> found;
    for (std::size_t i = 0; i < chains.size(); ++i) {
        const Chain& chain = *chains[i].chain;
        if (chain.hook == hook && (chain.family == family || chain.family == "inet")) {
            found.push_back({.chain = i, .priority = chain.priority, .nat = chain.type == "nat"});
        }
    }
    std::ranges::stable_sort(found, {}, &Base::priority);
    return found;
}

void CompiledRules::read_locals() {
    std::vector<AddressRange> all = facts.locals;
    for (const hazards::Device& device : facts.devices) {
        for (const hazards::Address& own : device.addresses) {
            all.push_back({own.address, own.address});
        }
    }
    std::ranges::sort(all, {}, &AddressRange::first);
    for (const AddressRange& range : all) {
        if (!locals.empty() && range.first.family == locals.back().first.family &&
            range.first <= locals.back().last) {
            locals.back().last = std::max(locals.back().last, range.last);
        } else {
            locals.push_back(range);
        }
    }
}

const std::vector<std::uint32_t>& CompiledRules::candidates(
    const OneChain& chain, const frame::IpAddress& destination) const {
    if (chain.exact.empty()) {
        return chain.general;
    }
    const auto exact = chain.exact.find(destination);
    if (exact == chain.exact.end()) {
        return chain.general;
    }
    const auto [found, is_new] = chain.memo.try_emplace(destination);
    if (is_new) {
        std::ranges::merge(chain.general, exact->second, std::back_inserter(found->second));
    }
    return found->second;
}

}  // namespace pathproof::predict
