#include "harness/predict/packet_walk.h"

#include <algorithm>
#include <array>
#include <utility>

#include "dataplane/base/contains.h"

namespace pathproof::predict {

using hazards::Chain;
using hazards::Origin;
using hazards::Rule;
using netfilter::Tuple;

namespace {

// enum nf_ip_hook_priorities.
constexpr int kTracking = -200;
constexpr int kNatDestination = -100;
constexpr int kNatSource = 100;

bool same_end(const Outcome& one, const Outcome& other) {
    return one.end == other.end && one.by_rule == other.by_rule && one.by_chain == other.by_chain &&
           one.tracked == other.tracked && one.zone == other.zone &&
           one.zone_known == other.zone_known && one.destination == other.destination &&
           one.destinations == other.destinations &&
           one.destination_ports == other.destination_ports && one.sources == other.sources &&
           one.out == other.out;
}

// Ways that end alike are one, and where all do, what was in doubt did not matter.
std::vector<Outcome> merged(std::vector<Outcome> all) {
    std::vector<Outcome> kept;
    for (Outcome& outcome : all) {
        const auto same = std::ranges::find_if(
            kept, [&](const Outcome& other) { return same_end(outcome, other); });
        if (same == kept.end()) {
            kept.push_back(std::move(outcome));
            continue;
        }
        for (const std::string& doubt : outcome.doubts) {
            add_doubt(*same, doubt);
        }
        same->steps_certain = false;
    }
    if (kept.size() == 1 && kept[0].end != End::kUnmodelled && !kept[0].destinations &&
        !kept[0].destination_ports) {
        kept[0].doubts.clear();
    }
    return kept;
}

}  // namespace

void add_doubt(Outcome& outcome, const std::string& doubt) {
    if (!contains(outcome.doubts, doubt)) {
        outcome.doubts.push_back(doubt);
    }
}

std::vector<Outcome> PacketWalk::run() {
    State state = begin();
    if (question_.in.empty()) {
        send(std::move(state));
    } else {
        receive(std::move(state));
    }
    return merged(std::move(outcomes_));
}

std::vector<Outcome> PacketWalk::before_tracking() {
    std::vector<State> states;
    states.push_back(begin());
    states = plain(question_.in.empty() ? "output" : "prerouting", std::move(states),
                   [](int priority) { return priority < kTracking; });
    for (State& state : states) {
        state.out.tracked = !state.notrack;
        finish(End::kDelivered, std::move(state));
    }
    return merged(std::move(outcomes_));
}

PacketWalk::State PacketWalk::begin() {
    const Tuple& tuple = question_.tuple;
    State state;
    Packet& packet = state.packet;
    packet = {.source = tuple.source,
              .destination = tuple.destination,
              .protocol = tuple.protocol,
              .protocol_word = word_of(tuple.protocol),
              .icmp = tuple.icmp,
              .any_in = question_.any_device,
              .mark = question_.mark,
              .user = question_.user,
              .sent_here = question_.in.empty()};
    family_ = tuple.source.address.family == frame::Family::kIpv4 ? "ip" : "ip6";
    packet.in = question_.in;
    const auto device = compiled_.devices.find(question_.in);
    if (device != compiled_.devices.end() && !device->second->master.empty()) {
        // IP sees the bridge, or the bond, that the device is a port of.
        packet.in = device->second->master;
    }
    state.out.in = packet.in;
    state.out.destination = tuple.destination;
    return state;
}

void PacketWalk::finish(End end, State state, const Rule* rule, const Chain* chain) {
    Outcome& out = state.out;
    out.end = end;
    out.by_rule = rule;
    out.by_chain = chain;
    out.destination = state.packet.destination;
    out.out = state.packet.out;
    out.mark = state.packet.mark;
    out.steps_certain = state.steps_certain;
    if (outcomes_.size() < Simulator::kMostOutcomes) {
        outcomes_.push_back(std::move(out));
    } else {
        add_doubt(outcomes_.back(), "more ways than are followed");
        outcomes_.back().end = End::kUnmodelled;
    }
}

RouteAnswer PacketWalk::route(const State& state) {
    const Packet& packet = state.packet;
    narrow_.by_all(packet.source, compiled_.facts.prefixes);
    return compiled_.router.find({.source = packet.source.address,
                                  .destination = packet.destination.address,
                                  .in = packet.sent_here ? "" : packet.in,
                                  .mark = packet.mark,
                                  .protocol = packet.protocol,
                                  .source_port = packet.source.port,
                                  .destination_port = packet.destination.port,
                                  .user = packet.sent_here ? packet.user : std::nullopt});
}

const hazards::Device* PacketWalk::device(const std::string& wanted) const {
    const auto found = compiled_.devices.find(wanted);
    return found == compiled_.devices.end() ? nullptr : found->second;
}

bool PacketWalk::filters(const hazards::Device& bridge) const {
    const auto found =
        compiled_.facts.sysctls.find(family_ == "ip" ? "net.bridge.bridge-nf-call-iptables"
                                                     : "net.bridge.bridge-nf-call-ip6tables");
    return bridge.calls_iptables ||
           (found != compiled_.facts.sysctls.end() && found->second == "1");
}

void PacketWalk::receive(State state) {
    const hazards::Device* in = device(state.packet.in);
    bool bridged = false;
    if (in != nullptr && in->kind == "bridge") {
        const RouteAnswer plain_way = route(state);
        bridged = plain_way.kind == RouteAnswer::Kind::kOnward && !plain_way.gateway &&
                  plain_way.out == in->name;
        if (bridged && !filters(*in)) {
            state.packet.out = in->name;
            return finish(End::kBridged, std::move(state));
        }
    }
    const frame::Endpoint before = state.packet.destination;
    std::vector<State> states;
    states.push_back(std::move(state));
    for (State& one : hook("prerouting", std::move(states))) {
        if (bridged && one.packet.destination == before) {
            one.packet.out = in->name;
            forward(std::move(one), {.kind = RouteAnswer::Kind::kOnward, .out = in->name});
            continue;
        }
        const RouteAnswer way = route(one);
        arrive(std::move(one), way);
    }
}

void PacketWalk::arrive(State state, const RouteAnswer& way) {
    switch (way.kind) {
        case RouteAnswer::Kind::kLocal: return deliver(std::move(state));
        case RouteAnswer::Kind::kOnward: return forward(std::move(state), way);
        case RouteAnswer::Kind::kNone: return finish(End::kNoRoute, std::move(state));
        case RouteAnswer::Kind::kReversePath: return finish(End::kReversePath, std::move(state));
        case RouteAnswer::Kind::kNotForwarding:
            return finish(End::kNotForwarding, std::move(state));
        case RouteAnswer::Kind::kUnknown:
            add_doubt(state.out, "route: " + way.text);
            return finish(End::kUnmodelled, std::move(state));
    }
}

void PacketWalk::deliver(State state) {
    state.packet.out.clear();
    const frame::Endpoint& to = state.packet.destination;
    if (contains(compiled_.facts.ipvs, hazards::IpvsService{state.packet.protocol, to})) {
        add_doubt(state.out, "IPVS");
        return finish(End::kUnmodelled, std::move(state));
    }
    std::vector<State> states;
    states.push_back(std::move(state));
    for (State& one : hook("input", std::move(states))) {
        finish(End::kDelivered, std::move(one));
    }
}

void PacketWalk::forward(State state, const RouteAnswer& way) {
    state.packet.out = way.out;
    state.out.gateway = way.gateway;
    std::vector<State> states;
    states.push_back(std::move(state));
    states = hook("forward", std::move(states));
    for (State& one : hook("postrouting", std::move(states))) {
        finish(End::kForwarded, std::move(one));
    }
}

void PacketWalk::send(State state) {
    const RouteAnswer first = route(state);
    if (first.kind == RouteAnswer::Kind::kUnknown) {
        add_doubt(state.out, "route: " + first.text);
        return finish(End::kUnmodelled, std::move(state));
    }
    if (first.kind != RouteAnswer::Kind::kLocal && first.kind != RouteAnswer::Kind::kOnward) {
        return finish(End::kNoRoute, std::move(state));
    }
    state.packet.out = first.out;
    std::vector<State> states;
    states.push_back(std::move(state));
    for (State& one : hook("output", std::move(states))) {
        RouteAnswer way = first;
        // ip_route_me_harder().
        if (one.reroutes) {
            const std::uint32_t mark = std::exchange(one.packet.mark, one.route_mark);
            way = route(one);
            one.packet.mark = mark;
        }
        if (way.kind != RouteAnswer::Kind::kLocal && way.kind != RouteAnswer::Kind::kOnward) {
            finish(End::kNoRoute, std::move(one));
            continue;
        }
        leave(std::move(one), way);
    }
}

void PacketWalk::leave(State state, const RouteAnswer& way) {
    state.packet.out = way.kind == RouteAnswer::Kind::kLocal ? "lo" : way.out;
    state.out.gateway = way.gateway;
    std::vector<State> states;
    states.push_back(std::move(state));
    for (State& one : hook("postrouting", std::move(states))) {
        if (way.kind != RouteAnswer::Kind::kLocal) {
            finish(End::kForwarded, std::move(one));
            continue;
        }
        // The packet comes back in by the loopback device, with its entry: it is not translated
        // again.
        one.packet.in = "lo";
        one.packet.out.clear();
        std::vector<State> back;
        back.push_back(std::move(one));
        for (State& in : hook("prerouting", std::move(back))) {
            deliver(std::move(in));
        }
    }
}

void PacketWalk::track(State& state) const {
    if (state.past_tracking) {
        return;
    }
    state.past_tracking = true;
    const bool is_request =
        !state.packet.icmp ||
        contains(std::array{8, 13, 15, 17, 128}, static_cast<int>(state.packet.icmp->type));
    state.out.tracked = compiled_.tracks && !state.notrack;
    state.out.taken_out = state.notrack;
    if (!compiled_.tracks) {
        state.packet.state = "invalid";
    } else if (state.notrack) {
        state.packet.state = "untracked";
    } else {
        state.packet.state = is_request ? "new" : "";
    }
}

template <typename Wanted>
std::vector<PacketWalk::State> PacketWalk::plain(const char* at, std::vector<State> states,
                                                 const Wanted& wanted) {
    for (const CompiledRules::Base& base : compiled_.bases.at(family_ + " " + at)) {
        if (base.nat || !wanted(base.priority)) {
            continue;
        }
        const bool routes_anew = is_rerouting(*compiled_.chains[base.chain].chain);
        std::vector<State> next;
        for (State& state : states) {
            const std::uint32_t mark = state.packet.mark;
            for (Left& left : through_base(base.chain, std::move(state))) {
                if (routes_anew && left.state.packet.mark != mark) {
                    left.state.reroutes = true;
                    left.state.route_mark = left.state.packet.mark;
                }
                keep(std::move(left), base.chain, next);
            }
        }
        states = std::move(next);
    }
    return states;
}

std::vector<PacketWalk::State> PacketWalk::hook(const char* at, std::vector<State> states) {
    const std::string_view where = at;
    const bool begins = where == "prerouting" || where == "output";
    const bool again = !states.empty() && states.front().past_tracking;
    if (begins) {
        states = plain(at, std::move(states), [](int p) { return p < kTracking; });
        for (State& state : states) {
            track(state);
        }
    }
    const int first = begins ? kTracking : INT32_MIN;
    const int nat_at = begins ? kNatDestination : kNatSource;
    states = plain(at, std::move(states), [&](int p) { return p >= first && p < nat_at; });
    if (where != "forward" && !(begins && again)) {
        states = nat(at, std::move(states));
    }
    return plain(at, std::move(states), [&](int p) { return p >= nat_at; });
}

bool PacketWalk::is_rerouting(const Chain& chain) {
    return chain.hook == "output" && (chain.type == "route" || (chain.origin != Origin::kNftables &&
                                                                chain.table == "mangle"));
}

void PacketWalk::keep(Left left, std::size_t chain, std::vector<State>& next) {
    switch (left.kind) {
        case Left::Kind::kAccepted:
        case Left::Kind::kTranslated: return next.push_back(std::move(left.state));
        case Left::Kind::kDropped:
            return finish(
                left.rule != nullptr && left.rule->rejects ? End::kRejected : End::kDropped,
                std::move(left.state), left.rule, compiled_.chains[chain].chain);
        case Left::Kind::kUnmodelled:
            return finish(End::kUnmodelled, std::move(left.state), left.rule,
                          compiled_.chains[chain].chain);
    }
}

std::vector<PacketWalk::State> PacketWalk::nat(const char* at, std::vector<State> states) {
    std::vector<std::size_t> order, reversed;
    int last = INT32_MIN;
    bool ambiguous = false;
    const Chain* before = nullptr;
    std::size_t group = 0;
    for (const CompiledRules::Base& base : compiled_.bases.at(family_ + " " + at)) {
        if (!base.nat) {
            continue;
        }
        const Chain* chain = compiled_.chains[base.chain].chain;
        if (base.priority != last) {
            group = reversed.size();
            before = nullptr;
        }
        ambiguous |=
            before != nullptr && (before->origin != chain->origin || before->table != chain->table);
        reversed.insert(reversed.begin() + static_cast<std::ptrdiff_t>(group), base.chain);
        order.push_back(base.chain);
        last = base.priority;
        before = chain;
    }
    at_source_ = std::string_view(at) == "postrouting" || std::string_view(at) == "input";
    std::vector<State> next;
    for (State& state : states) {
        if (state.packet.state != "new" || order.empty()) {
            next.push_back(std::move(state));
            continue;
        }
        std::vector<State> other = ambiguous ? nat_in(reversed, state) : std::vector<State>();
        std::vector<State> one = nat_in(order, std::move(state));
        const bool differ = ambiguous && !same(one, other);
        for (State& kept : one) {
            if (differ) {
                add_doubt(kept.out, "order of two NAT chains of one priority");
            }
            next.push_back(std::move(kept));
        }
        for (State& kept : other) {
            if (differ) {
                add_doubt(kept.out, "order of two NAT chains of one priority");
                next.push_back(std::move(kept));
            }
        }
    }
    return next;
}

bool PacketWalk::same(const std::vector<State>& one, const std::vector<State>& other) {
    return std::ranges::equal(one, other, [](const State& a, const State& b) {
        return a.packet == b.packet && a.out.destination_rule == b.out.destination_rule &&
               a.out.source_rule == b.out.source_rule;
    });
}

std::vector<PacketWalk::State> PacketWalk::nat_in(const std::vector<std::size_t>& order,
                                                  State state) {
    std::vector<State> pending, done;
    pending.push_back(std::move(state));
    for (const std::size_t chain : order) {
        std::vector<State> next;
        for (State& one : pending) {
            for (Left& left : through_base(chain, std::move(one))) {
                const bool translated = left.kind == Left::Kind::kTranslated;
                keep(std::move(left), chain, translated ? done : next);
            }
        }
        pending = std::move(next);
    }
    std::ranges::move(pending, std::back_inserter(done));
    return done;
}

}  // namespace pathproof::predict
