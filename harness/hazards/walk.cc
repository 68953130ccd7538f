#include "harness/hazards/walk.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "dataplane/base/contains.h"

namespace pathproof::hazards {
namespace {

enum class Match : std::uint8_t { kNo, kYes, kMaybe };

constexpr std::size_t kMostSteps = 1'000'000;
constexpr std::size_t kLong = 32;  // rules of a chain
constexpr unsigned kDeepest = 32;  // jumps; the kernel allows 16

std::string key_of(Origin origin, const std::string& family, const std::string& table,
                   const std::string& chain) {
    return fmt::format("{} {} {} {}", static_cast<int>(origin), family, table, chain);
}

Match of(bool matches) {
    return matches ? Match::kYes : Match::kNo;
}

bool is_device(const std::string& pattern, const std::string& device) {
    if (pattern.ends_with('+') || pattern.ends_with('*')) {
        return device.starts_with(pattern.substr(0, pattern.size() - 1));
    }
    return device == pattern;
}

template <typename Known>
Match within(const std::optional<Known>& value, const auto& ranges, const auto& is_in) {
    return !value
               ? Match::kMaybe
               : of(std::ranges::any_of(ranges, [&](const auto& r) { return is_in(r, *value); }));
}

Match of_words(const std::string& value, const std::vector<std::string>& words) {
    return value.empty() ? Match::kMaybe : of(contains(words, value));
}

Match without_negation(const Condition& condition, const Packet& packet) {
    if (!condition.set.empty()) {
        return Match::kMaybe;
    }
    const auto address = [&](const auto& value) {
        return within(value, condition.addresses,
                      [](const auto& range, const auto& one) { return range.contains(one); });
    };
    const auto port = [&](const auto& value) {
        return within(value, condition.ports, [](const auto& range, std::uint16_t one) {
            return range.first <= one && one <= range.second;
        });
    };
    const auto device = [&](const std::string& value) {
        return value.empty() ? Match::kMaybe
                             : of(std::ranges::any_of(condition.words, [&](const auto& word) {
                                   return is_device(word, value);
                               }));
    };
    switch (condition.field) {
        case Field::kSource: return address(packet.source);
        case Field::kDestination: return address(packet.destination);
        case Field::kProtocol: return of_words(packet.protocol, condition.words);
        case Field::kSourcePort: return port(packet.source_port);
        case Field::kDestinationPort: return port(packet.destination_port);
        case Field::kIn: return device(packet.in);
        case Field::kOut: return device(packet.out);
        case Field::kMark: return of((packet.mark & condition.mask) == condition.mark);
        case Field::kState: return of_words(packet.state, condition.words);
        case Field::kDestinationType:
            return condition.words != std::vector<std::string>{"local"} || !packet.to_local
                       ? Match::kMaybe
                       : of(*packet.to_local);
        case Field::kRandom:
        case Field::kOther:
        case Field::kSourceType:
        case Field::kFamily:
        case Field::kEitherPort:
        case Field::kIcmpType:
        case Field::kIcmpCode:
        case Field::kTcpFlags:
        case Field::kConnmark:
        case Field::kStatus:
        case Field::kDirection:
        case Field::kUser:
        case Field::kAlternatives: return Match::kMaybe;
    }
    return Match::kMaybe;
}

Match match(const Condition& condition, const Packet& packet) {
    const Match plain = without_negation(condition, packet);
    if (!condition.negated || plain == Match::kMaybe) {
        return plain;
    }
    return plain == Match::kYes ? Match::kNo : Match::kYes;
}

// Adds to a little-known packet the values that the conditions of a matching rule imply.
void learn(const Rule& rule, Packet& packet) {
    for (const Condition& condition : rule.conditions) {
        if (condition.negated) {
            continue;
        }
        const bool one_address =
            condition.addresses.size() == 1 && condition.addresses[0].is_one_address();
        const bool one_port =
            condition.ports.size() == 1 && condition.ports[0].first == condition.ports[0].second;
        if (condition.field == Field::kProtocol && condition.words.size() == 1) {
            packet.protocol = condition.words[0];
        } else if (condition.field == Field::kSource && one_address) {
            packet.source = condition.addresses[0].first;
        } else if (condition.field == Field::kDestination && one_address) {
            packet.destination = condition.addresses[0].first;
        } else if (condition.field == Field::kSourcePort && one_port) {
            packet.source_port = condition.ports[0].first;
        } else if (condition.field == Field::kDestinationPort && one_port) {
            packet.destination_port = condition.ports[0].first;
        }
    }
}

struct State {
    Packet packet;
    bool certain = true;
    std::string doubt = {};
    bool operator==(const State&) const = default;
};

class Walk {
  public:
    Walk(const Walker& walker) : walker_(walker) {}

    std::vector<Ending> from(const Chain& base, const Packet& packet) {
        for (const State& left : through(base, {{packet}}, 0)) {
            end(base.drops ? Ending::Kind::kDrop : Ending::Kind::kAccept, nullptr, left);
        }
        return std::move(endings_);
    }

  private:
    void end(Ending::Kind kind, const Rule* rule, const State& state) {
        endings_.push_back({kind, rule, state.packet, state.certain, state.doubt});
    }

    static void keep(std::vector<State>& states, State state) {
        if (!contains(states, state)) {
            states.push_back(std::move(state));
        }
    }

    // The places of the rules that such packets can meet; nothing: of all.
    std::optional<std::vector<std::size_t>> some_rules(const Chain& chain,
                                                       const std::vector<State>& states) const {
        const Walker::Index* index = walker_.index_of(chain);
        if (index == nullptr || states.empty() || !states.front().packet.destination) {
            return std::nullopt;
        }
        const frame::IpAddress& destination = *states.front().packet.destination;
        const bool alike = std::ranges::all_of(
            states, [&](const State& state) { return state.packet.destination == destination; });
        if (!alike) {
            return std::nullopt;
        }
        std::vector<std::size_t> places = index->others;
        if (const auto own = index->by_destination.find(destination);
            own != index->by_destination.end()) {
            places.insert(places.end(), own->second.begin(), own->second.end());
            std::ranges::sort(places);
        }
        return places;
    }

    // Gives what comes out at the chain's end.
    std::vector<State> through(const Chain& chain, std::vector<State> states, unsigned depth) {
        std::vector<State> returned;
        within_.push_back(&chain);
        const auto some = some_rules(chain, states);
        const std::size_t rules = some ? some->size() : chain.rules.size();
        for (std::size_t i = 0; i < rules; ++i) {
            const Rule& rule = chain.rules[some ? (*some)[i] : i];
            std::vector<State> next;
            for (const State& state : states) {
                if (++steps_ > kMostSteps || depth > kDeepest) {
                    State lost = state;
                    lost.certain = false;
                    end(Ending::Kind::kAccept, nullptr, lost);
                    within_.pop_back();
                    return returned;
                }
                meet(rule, state, depth, next, returned);
            }
            states = std::move(next);
        }
        for (State& state : states) {
            keep(returned, std::move(state));
        }
        within_.pop_back();
        return returned;
    }

    void meet(const Rule& rule, const State& state, unsigned depth, std::vector<State>& next,
              std::vector<State>& returned) {
        Match all = Match::kYes;
        std::string doubt = state.doubt;
        for (const Condition& condition : rule.conditions) {
            const Match one = match(condition, state.packet);
            if (one == Match::kNo || (one == Match::kMaybe && all != Match::kNo)) {
                all = one;
            }
            doubt = one == Match::kMaybe && doubt.empty() ? condition.set : doubt;
        }
        if (all == Match::kNo) {
            return keep(next, state);
        }
        State in = state;
        if (all == Match::kMaybe && rule.action != Action::kNone) {
            State past = state;
            past.certain = in.certain = false;
            past.doubt = in.doubt = doubt;
            learn(rule, in.packet);
            keep(next, std::move(past));
        }
        act(rule, std::move(in), depth, next, returned);
    }

    void act(const Rule& rule, State state, unsigned depth, std::vector<State>& next,
             std::vector<State>& returned) {
        switch (rule.action) {
            case Action::kNone:
            case Action::kNotrack: return keep(next, std::move(state));
            case Action::kAccept: return end(Ending::Kind::kAccept, &rule, state);
            case Action::kDrop: return end(Ending::Kind::kDrop, &rule, state);
            case Action::kMasquerade:
            case Action::kSnat:
            case Action::kDnat:
            case Action::kNetmap:
            case Action::kRedirect: return end(Ending::Kind::kNat, &rule, state);
            case Action::kReturn: return keep(returned, std::move(state));
            case Action::kSetMark:
                state.packet.mark = (state.packet.mark & ~rule.cleared) ^ rule.flipped;
                return keep(next, std::move(state));
            case Action::kJump:
            case Action::kGoto:
                state.certain = state.certain && rule.targets.size() == 1;
                for (const std::string& target : rule.targets) {
                    const Chain* chain = walker_.find(rule, target);
                    std::vector<State>& onward = rule.action == Action::kGoto ? returned : next;
                    // A target that is no chain ends nothing that we know. The kernel has no chain
                    // that leads to itself.
                    if (chain == nullptr || contains(within_, chain)) {
                        keep(next, state);
                        continue;
                    }
                    for (State& left : through(*chain, {state}, depth + 1)) {
                        keep(onward, std::move(left));
                    }
                }
        }
    }

    const Walker& walker_;
    std::vector<Ending> endings_;
    std::vector<const Chain*> within_;
    std::size_t steps_ = 0;
};

}  // namespace

Walker::Walker(const Ruleset& rules) : rules_(rules) {
    for (const Chain& chain : rules.chains) {
        chains_.emplace(key_of(chain.origin, chain.family, chain.table, chain.name), &chain);
        if (chain.rules.size() < kLong) {
            continue;
        }
        Index& index = indexes_[&chain];
        for (std::size_t i = 0; i < chain.rules.size(); ++i) {
            const auto& conditions = chain.rules[i].conditions;
            const auto asked = std::ranges::find_if(conditions, [](const Condition& condition) {
                return condition.field == Field::kDestination && !condition.negated &&
                       condition.set.empty() && condition.addresses.size() == 1 &&
                       condition.addresses[0].is_one_address();
            });
            auto& places = asked == conditions.end()
                               ? index.others
                               : index.by_destination[asked->addresses[0].first];
            places.push_back(i);
        }
    }
}

const Walker::Index* Walker::index_of(const Chain& chain) const {
    const auto found = indexes_.find(&chain);
    return found == indexes_.end() ? nullptr : &found->second;
}

std::vector<const Chain*> Walker::bases(const std::string& hook, const std::string& family,
                                        const std::string& type) const {
    std::vector<const Chain*> found;
    for (const Chain& chain : rules_.chains) {
        if (chain.hook == hook && chain.type == type &&
            (chain.family == family || chain.family == "inet")) {
            found.push_back(&chain);
        }
    }
    return found;
}

const Chain* Walker::find(const Rule& from, const std::string& chain) const {
    const auto found = chains_.find(key_of(from.origin, from.family, from.table, chain));
    return found == chains_.end() ? nullptr : found->second;
}

std::vector<const Rule*> Walker::reachable(const std::vector<const Chain*>& bases) const {
    std::vector<const Rule*> rules;
    std::unordered_set<const Chain*> seen;
    const auto enter = [&](const auto& self, const Chain& chain, unsigned depth) -> void {
        if (depth > kDeepest || !seen.insert(&chain).second) {
            return;
        }
        for (const Rule& rule : chain.rules) {
            rules.push_back(&rule);
            for (const std::string& target : rule.targets) {
                if (const Chain* next = find(rule, target); next != nullptr) {
                    self(self, *next, depth + 1);
                }
            }
        }
    };
    for (const Chain* base : bases) {
        enter(enter, *base, 0);
    }
    return rules;
}

std::vector<Ending> Walker::walk(const Chain& base, const Packet& packet) const {
    return Walk(*this).from(base, packet);
}

}  // namespace pathproof::hazards
