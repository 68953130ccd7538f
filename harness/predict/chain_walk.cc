// Rule by rule through the chains of one hook.
#include <algorithm>
#include <iterator>

#include "harness/predict/packet_walk.h"

namespace pathproof::predict {

using hazards::Action;
using hazards::Chain;
using hazards::Condition;
using hazards::Effect;
using hazards::Origin;
using hazards::Rule;

namespace {

constexpr unsigned kDeepest = 16;  // jumps: NFT_JUMP_STACK_SIZE
constexpr std::size_t kMostSteps = 2'000'000;

}  // namespace

std::vector<PacketWalk::Left> PacketWalk::through_base(std::size_t at, State state) {
    std::vector<Left> left;
    std::vector<State> states;
    states.push_back(std::move(state));
    const Chain* chain = compiled_.chains[at].chain;
    for (State& out : through(at, std::move(states), 0, left)) {
        out.out.steps.push_back({chain, nullptr});
        left.push_back(
            {chain->drops ? Left::Kind::kDropped : Left::Kind::kAccepted, std::move(out), nullptr});
    }
    return left;
}

std::vector<PacketWalk::State> PacketWalk::through(std::size_t at, std::vector<State> states,
                                                   unsigned depth, std::vector<Left>& left) {
    std::vector<State> returned;
    const CompiledRules::OneChain& chain = compiled_.chains[at];
    for (State& state : states) {
        std::vector<State> here;
        const frame::IpAddress destination = state.packet.destination.address;
        here.push_back(std::move(state));
        for (const std::uint32_t rule : compiled_.candidates(chain, destination)) {
            std::vector<State> next;
            for (State& one : here) {
                if (++steps_ > kMostSteps || depth > kDeepest ||
                    left.size() + next.size() > Simulator::kMostOutcomes) {
                    add_doubt(one.out, "more ways than are followed");
                    left.push_back({Left::Kind::kUnmodelled, std::move(one), nullptr});
                    continue;
                }
                meet(chain.rules[rule], chain.chain, std::move(one), depth, next, returned, left);
            }
            here = std::move(next);
            if (here.empty()) {
                break;
            }
        }
        std::ranges::move(here, std::back_inserter(returned));
    }
    return returned;
}

void PacketWalk::meet(const CompiledRules::OneRule& compiled, const Chain* chain, State state,
                      unsigned depth, std::vector<State>& next, std::vector<State>& returned,
                      std::vector<Left>& left) {
    const Rule& rule = *compiled.rule;
    Match all = Match::kYes;
    std::vector<std::string> doubts;
    for (const Condition& condition : rule.conditions) {
        const Match one = match(condition, state.packet, compiled_.locals, narrow_);
        if (one == Match::kNo) {
            return next.push_back(std::move(state));
        }
        if (one == Match::kMaybe) {
            all = one;
            doubts.push_back(doubt_of(condition));
        }
    }
    if (all == Match::kMaybe) {
        const bool has_consequence =
            rule.action != Action::kNone || !rule.effects.empty() || !rule.unmodelled.empty();
        if (!has_consequence) {
            state.steps_certain = false;
            return next.push_back(std::move(state));
        }
        for (const std::string& doubt : doubts) {
            add_doubt(state.out, doubt);
        }
        next.push_back(state);
    }
    act(compiled, chain, std::move(state), depth, next, returned, left);
}

void PacketWalk::act(const CompiledRules::OneRule& compiled, const Chain* chain, State state,
                     unsigned depth, std::vector<State>& next, std::vector<State>& returned,
                     std::vector<Left>& left) {
    const Rule& rule = *compiled.rule;
    state.out.steps.push_back({chain, &rule});
    for (const Effect& effect : rule.effects) {
        take(effect, rule.origin, state);
    }
    if (!rule.unmodelled.empty()) {
        add_doubt(state.out, rule.unmodelled);
        return left.push_back({Left::Kind::kUnmodelled, std::move(state), &rule});
    }
    switch (rule.action) {
        case Action::kNone:
        case Action::kNotrack:
        case Action::kSetMark: return next.push_back(std::move(state));
        case Action::kAccept:
            return left.push_back({Left::Kind::kAccepted, std::move(state), &rule});
        case Action::kDrop: return left.push_back({Left::Kind::kDropped, std::move(state), &rule});
        case Action::kReturn: return returned.push_back(std::move(state));
        case Action::kDnat:
        case Action::kRedirect: return translate_destination(rule, std::move(state), left);
        case Action::kSnat:
        case Action::kMasquerade: return translate_source(rule, std::move(state), left);
        case Action::kNetmap:
            return at_source_ ? translate_source(rule, std::move(state), left)
                              : translate_destination(rule, std::move(state), left);
        case Action::kJump:
        case Action::kGoto: {
            if (compiled.targets.empty()) {
                add_doubt(state.out, "a map that is not known");
                return left.push_back({Left::Kind::kUnmodelled, std::move(state), &rule});
            }
            if (compiled.targets.size() > 1) {
                add_doubt(state.out, "chance");
            }
            std::vector<State>& onward = rule.action == Action::kGoto ? returned : next;
            for (std::size_t i = 0; i < compiled.targets.size(); ++i) {
                State one = state;
                if (compiled.targets[i] < 0) {
                    add_doubt(one.out, "target " + rule.targets[i]);
                    left.push_back({Left::Kind::kUnmodelled, std::move(one), &rule});
                    continue;
                }
                std::vector<State> in;
                in.push_back(std::move(one));
                for (State& out : through(static_cast<std::size_t>(compiled.targets[i]),
                                          std::move(in), depth + 1, left)) {
                    onward.push_back(std::move(out));
                }
            }
        }
    }
}

void PacketWalk::take_zone(const Effect& effect, Origin origin, State& state) {
    const bool held = state.has_template || (state.notrack && origin != Origin::kNftables);
    if (state.past_tracking || held) {
        return;
    }
    state.has_template = true;
    state.notrack = false;
    state.packet.state = "new";
    if (effect.kind == Effect::Kind::kZone) {
        state.out.zone = effect.zone;
    } else {
        state.out.zone_known = false;
    }
}

void PacketWalk::take(const Effect& effect, Origin origin, State& state) {
    Packet& packet = state.packet;
    switch (effect.kind) {
        case Effect::Kind::kMark:
            packet.mark = (packet.mark & ~effect.cleared) ^ effect.flipped;
            return;
        case Effect::Kind::kConnmark:
            packet.connmark = (packet.connmark & ~effect.cleared) ^ effect.flipped;
            return;
        case Effect::Kind::kMarkFromConn:
            packet.mark = (packet.mark & ~effect.cleared) ^ (packet.connmark & effect.flipped);
            return;
        case Effect::Kind::kConnFromMark:
            packet.connmark = (packet.connmark & ~effect.cleared) ^ (packet.mark & effect.flipped);
            return;
        case Effect::Kind::kZone:
        case Effect::Kind::kZoneOne: return take_zone(effect, origin, state);
        case Effect::Kind::kNotrack:
            if (!state.past_tracking && !state.has_template) {
                state.notrack = true;
                state.packet.state = "untracked";
            }
            return;
        case Effect::Kind::kUnknown: add_doubt(state.out, effect.text); return;
    }
}

}  // namespace pathproof::predict
