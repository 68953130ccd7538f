#include "harness/predict/simulator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "dataplane/base/contains.h"
#include "harness/netfilter/names.h"
#include "harness/predict/condition.h"

namespace pathproof::predict {
namespace {

using hazards::Action;
using hazards::AddressRange;
using hazards::Chain;
using hazards::Condition;
using hazards::Effect;
using hazards::Field;
using hazards::NatTarget;
using hazards::Origin;
using hazards::Rule;
using netfilter::Tuple;

// enum nf_ip_hook_priorities.
constexpr int kTracking = -200;
constexpr int kNatDestination = -100;
constexpr int kNatSource = 100;
constexpr unsigned kDeepest = 16;  // jumps: NFT_JUMP_STACK_SIZE
constexpr std::size_t kMostSteps = 2'000'000;

struct AddressHash {
    std::size_t operator()(const frame::IpAddress& address) const {
        std::uint64_t hash = 1469598103934665603ULL;
        for (const std::uint8_t byte : address.bytes) {
            hash = (hash ^ byte) * 1099511628211ULL;
        }
        return static_cast<std::size_t>(hash);
    }
};

struct State {
    Packet packet;
    Outcome out;
    bool notrack = false;
    bool has_template = false;  // of conntrack, with the zone
    bool past_tracking = false;
    bool reroutes = false;  // OUTPUT has routed it anew, by this mark
    std::uint32_t route_mark = 0;
    bool steps_certain = true;
};

// A state as a base chain left it.
struct Left {
    enum class Kind : std::uint8_t { kAccepted, kDropped, kTranslated, kUnmodelled } kind;
    State state;
    const Rule* rule = nullptr;
};

// A place in the list of base chains of a hook.
struct Base {
    std::size_t chain = 0;
    int priority = 0;
    bool nat = false;
};

const char* const kHooks[] = {"prerouting", "input", "forward", "output", "postrouting"};

void add_doubt(Outcome& outcome, const std::string& doubt) {
    if (!contains(outcome.doubts, doubt)) {
        outcome.doubts.push_back(doubt);
    }
}

}  // namespace

// Rules that make the kernel track flows (nf_ct_netns_get()): an empty chain of NAT does not.
bool asks_conntrack(const Rule& rule) {
    const bool translates = rule.action == Action::kDnat || rule.action == Action::kSnat ||
                            rule.action == Action::kMasquerade || rule.action == Action::kRedirect;
    return translates ||
           std::ranges::any_of(rule.conditions,
                               [](const Condition& condition) {
                                   return condition.field == Field::kState ||
                                          condition.field == Field::kStatus ||
                                          condition.field == Field::kDirection ||
                                          condition.field == Field::kConnmark ||
                                          condition.unknown.starts_with("ct ") ||
                                          condition.unknown.starts_with("-m conn");
                               }) ||
           std::ranges::any_of(rule.effects, [](const Effect& effect) {
               return effect.kind != Effect::Kind::kMark && effect.kind != Effect::Kind::kNotrack &&
                      effect.kind != Effect::Kind::kUnknown;
           });
}

struct Simulator::Compiled {
    struct CompiledRule {
        const Rule* rule = nullptr;
        std::vector<std::ptrdiff_t> targets = {};  // chains; -1: there is none of that name
    };
    struct CompiledChain {
        const Chain* chain = nullptr;
        std::vector<CompiledRule> rules = {};
        // Rules that ask for one destination, by it; all others, in their order.
        std::unordered_map<frame::IpAddress, std::vector<std::uint32_t>, AddressHash> exact = {};
        std::vector<std::uint32_t> general = {};
        mutable std::unordered_map<frame::IpAddress, std::vector<std::uint32_t>, AddressHash> memo =
            {};
    };

    Compiled(const hazards::Facts& known, Router& asked) : facts(known), router(asked) {
        std::unordered_map<std::string, std::size_t> places;
        for (const Chain& chain : facts.rules.chains) {
            places.emplace(key_of(chain.origin, chain.family, chain.table, chain.name),
                           chains.size());
            chains.push_back({.chain = &chain});
        }
        for (CompiledChain& chain : chains) {
            for (const Rule& rule : chain.chain->rules) {
                CompiledRule compiled{.rule = &rule};
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
        before_tracking = std::ranges::any_of(chains, [](const CompiledChain& chain) {
            return std::ranges::any_of(chain.chain->rules, [](const Rule& rule) {
                return std::ranges::any_of(rule.effects, [](const Effect& effect) {
                    return effect.kind == Effect::Kind::kZone ||
                           effect.kind == Effect::Kind::kZoneOne ||
                           effect.kind == Effect::Kind::kNotrack;
                });
            });
        });
        tracks = std::ranges::any_of(chains, [](const CompiledChain& chain) {
            return std::ranges::any_of(chain.chain->rules, asks_conntrack);
        });
    }

    static std::string key_of(Origin origin, const std::string& family, const std::string& table,
                              const std::string& chain) {
        return fmt::format("{} {} {} {}", static_cast<int>(origin), family, table, chain);
    }

    static void index(CompiledChain& chain, const Rule& rule, std::uint32_t at) {
        for (const Condition& condition : rule.conditions) {
            if (condition.field == Field::kDestination && !condition.negated &&
                condition.set.empty() && condition.addresses.size() == 1 &&
                condition.addresses[0].is_one_address()) {
                chain.exact[condition.addresses[0].first].push_back(at);
                return;
            }
        }
        chain.general.push_back(at);
    }

    std::vector<Base> bases_of(const std::string& family, const std::string& hook) const {
        std::vector<Base> found;
        for (std::size_t i = 0; i < chains.size(); ++i) {
            const Chain& chain = *chains[i].chain;
            if (chain.hook == hook && (chain.family == family || chain.family == "inet")) {
                found.push_back(
                    {.chain = i, .priority = chain.priority, .nat = chain.type == "nat"});
            }
        }
        std::ranges::stable_sort(found, {}, &Base::priority);
        return found;
    }

    void read_locals() {
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

    const std::vector<std::uint32_t>& candidates(const CompiledChain& chain,
                                                 const frame::IpAddress& destination) const {
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

    class Walk;

    const hazards::Facts& facts;
    Router& router;
    std::vector<CompiledChain> chains;
    std::map<std::string, std::vector<Base>> bases;
    Locals locals;
    std::map<std::string, const hazards::Device*> devices;
    bool tracks = false;
    bool before_tracking = false;
};

namespace {

// The addresses that MASQUERADE and REDIRECT may take of a device: its own, of that family.
std::vector<hazards::Address> addresses_of(const hazards::Device* device, frame::Family family) {
    std::vector<hazards::Address> found;
    if (device != nullptr) {
        for (const hazards::Address& own : device->addresses) {
            // Masquerade takes no address of host or link scope.
            const bool loopback = family == frame::Family::kIpv4 && own.address.bytes[0] == 127;
            const bool link_local = family == frame::Family::kIpv6 &&
                                    own.address.bytes[0] == 0xfe &&
                                    (own.address.bytes[1] & 0xc0) == 0x80;
            if (own.address.family == family && !link_local && !loopback) {
                found.push_back(own);
            }
        }
    }
    return found;
}

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

class Simulator::Compiled::Walk {
  public:
    Walk(const Compiled& compiled, const Question& question)
        : compiled_(compiled), question_(question), narrow_(question.tuple) {}

    const Region& region() const { return narrow_.region; }

    std::vector<Outcome> run() {
        State state = begin();
        if (question_.in.empty()) {
            send(std::move(state));
        } else {
            receive(std::move(state));
        }
        return merged(std::move(outcomes_));
    }

    std::vector<Outcome> before_tracking() {
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

  private:
    State begin() {
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

    void finish(End end, State state, const Rule* rule = nullptr, const Chain* chain = nullptr) {
        Outcome& out = state.out;
        out.end = end;
        out.by_rule = rule;
        out.by_chain = chain;
        out.destination = state.packet.destination;
        out.out = state.packet.out;
        out.mark = state.packet.mark;
        out.steps_certain = state.steps_certain;
        if (outcomes_.size() < kMostOutcomes) {
            outcomes_.push_back(std::move(out));
        } else {
            add_doubt(outcomes_.back(), "more ways than are followed");
            outcomes_.back().end = End::kUnmodelled;
        }
    }

    RouteAnswer route(const State& state) {
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

    const hazards::Device* device(const std::string& wanted) const {
        const auto found = compiled_.devices.find(wanted);
        return found == compiled_.devices.end() ? nullptr : found->second;
    }

    bool filters(const hazards::Device& bridge) const {
        const auto found =
            compiled_.facts.sysctls.find(family_ == "ip" ? "net.bridge.bridge-nf-call-iptables"
                                                         : "net.bridge.bridge-nf-call-ip6tables");
        return bridge.calls_iptables ||
               (found != compiled_.facts.sysctls.end() && found->second == "1");
    }

    void receive(State state) {
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

    // Past prerouting, by what the routes say.
    void arrive(State state, const RouteAnswer& way) {
        switch (way.kind) {
            case RouteAnswer::Kind::kLocal: return deliver(std::move(state));
            case RouteAnswer::Kind::kOnward: return forward(std::move(state), way);
            case RouteAnswer::Kind::kNone: return finish(End::kNoRoute, std::move(state));
            case RouteAnswer::Kind::kReversePath:
                return finish(End::kReversePath, std::move(state));
            case RouteAnswer::Kind::kNotForwarding:
                return finish(End::kNotForwarding, std::move(state));
            case RouteAnswer::Kind::kUnknown:
                add_doubt(state.out, "route: " + way.text);
                return finish(End::kUnmodelled, std::move(state));
        }
    }

    void deliver(State state) {
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

    void forward(State state, const RouteAnswer& way) {
        state.packet.out = way.out;
        state.out.gateway = way.gateway;
        std::vector<State> states;
        states.push_back(std::move(state));
        states = hook("forward", std::move(states));
        for (State& one : hook("postrouting", std::move(states))) {
            finish(End::kForwarded, std::move(one));
        }
    }

    void send(State state) {
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

    void leave(State state, const RouteAnswer& way) {
        state.packet.out = way.kind == RouteAnswer::Kind::kLocal ? "lo" : way.out;
        state.out.gateway = way.gateway;
        std::vector<State> states;
        states.push_back(std::move(state));
        for (State& one : hook("postrouting", std::move(states))) {
            if (way.kind != RouteAnswer::Kind::kLocal) {
                finish(End::kForwarded, std::move(one));
                continue;
            }
            // By the loopback device back in, with its entry: it is not translated again.
            one.packet.in = "lo";
            one.packet.out.clear();
            std::vector<State> back;
            back.push_back(std::move(one));
            for (State& in : hook("prerouting", std::move(back))) {
                deliver(std::move(in));
            }
        }
    }

    // The base chains of a hook, conntrack and NAT, in the order of their priorities.
    std::vector<State> hook(const char* at, std::vector<State> states) {
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

    void track(State& state) const {
        if (state.past_tracking) {
            return;
        }
        state.past_tracking = true;
        const bool is_request =
            !state.packet.icmp ||
            contains(std::array{8, 13, 15, 17, 128}, static_cast<int>(state.packet.icmp->type));
        state.out.tracked = compiled_.tracks && !state.notrack;
        state.out.taken_out = state.notrack;
        state.packet.state = !compiled_.tracks ? "invalid"
                             : state.notrack   ? "untracked"
                             : is_request      ? "new"
                                               : "";
    }

    template <typename Wanted>
    std::vector<State> plain(const char* at, std::vector<State> states, const Wanted& wanted) {
        for (const Base& base : compiled_.bases.at(family_ + " " + at)) {
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

    // nf_route_table_hook4(), ipt_mangle_out(): they compare the mark before and behind the chain.
    static bool is_rerouting(const Chain& chain) {
        return chain.hook == "output" &&
               (chain.type == "route" ||
                (chain.origin != Origin::kNftables && chain.table == "mangle"));
    }

    void keep(Left left, std::size_t chain, std::vector<State>& next) {
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

    // The first chain that translates decides; where two of one priority both might, which of them
    // is in front depends on when each was registered, which the kernel does not tell.
    std::vector<State> nat(const char* at, std::vector<State> states) {
        std::vector<std::size_t> order, reversed;
        int last = INT32_MIN;
        bool ambiguous = false;
        const Chain* before = nullptr;
        std::size_t group = 0;
        for (const Base& base : compiled_.bases.at(family_ + " " + at)) {
            if (!base.nat) {
                continue;
            }
            const Chain* chain = compiled_.chains[base.chain].chain;
            if (base.priority != last) {
                group = reversed.size();
                before = nullptr;
            }
            ambiguous |= before != nullptr &&
                         (before->origin != chain->origin || before->table != chain->table);
            reversed.insert(reversed.begin() + static_cast<std::ptrdiff_t>(group), base.chain);
            order.push_back(base.chain);
            last = base.priority;
            before = chain;
        }
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

    static bool same(const std::vector<State>& one, const std::vector<State>& other) {
        return std::ranges::equal(one, other, [](const State& a, const State& b) {
            return a.packet == b.packet && a.out.destination_rule == b.out.destination_rule &&
                   a.out.source_rule == b.out.source_rule;
        });
    }

    std::vector<State> nat_in(const std::vector<std::size_t>& order, State state) {
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

    std::vector<Left> through_base(std::size_t at, State state) {
        std::vector<Left> left;
        std::vector<State> states;
        states.push_back(std::move(state));
        const Chain* chain = compiled_.chains[at].chain;
        for (State& out : through(at, std::move(states), 0, left)) {
            out.out.steps.push_back({chain, nullptr});
            left.push_back({chain->drops ? Left::Kind::kDropped : Left::Kind::kAccepted,
                            std::move(out), nullptr});
        }
        return left;
    }

    // Gives what comes out at the chain's end.
    std::vector<State> through(std::size_t at, std::vector<State> states, unsigned depth,
                               std::vector<Left>& left) {
        std::vector<State> returned;
        const CompiledChain& chain = compiled_.chains[at];
        for (State& state : states) {
            std::vector<State> here;
            const frame::IpAddress destination = state.packet.destination.address;
            here.push_back(std::move(state));
            for (const std::uint32_t rule : compiled_.candidates(chain, destination)) {
                std::vector<State> next;
                for (State& one : here) {
                    if (++steps_ > kMostSteps || depth > kDeepest ||
                        left.size() + next.size() > kMostOutcomes) {
                        add_doubt(one.out, "more ways than are followed");
                        left.push_back({Left::Kind::kUnmodelled, std::move(one), nullptr});
                        continue;
                    }
                    meet(chain.rules[rule], chain.chain, std::move(one), depth, next, returned,
                         left);
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

    void meet(const CompiledRule& compiled, const Chain* chain, State state, unsigned depth,
              std::vector<State>& next, std::vector<State>& returned, std::vector<Left>& left) {
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

    void act(const CompiledRule& compiled, const Chain* chain, State state, unsigned depth,
             std::vector<State>& next, std::vector<State>& returned, std::vector<Left>& left) {
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
            case Action::kDrop:
                return left.push_back({Left::Kind::kDropped, std::move(state), &rule});
            case Action::kReturn: return returned.push_back(std::move(state));
            case Action::kDnat:
            case Action::kRedirect: return translate_destination(rule, std::move(state), left);
            case Action::kSnat:
            case Action::kMasquerade: return translate_source(rule, std::move(state), left);
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

    // The first effect holds (xt_ct_target(), notrack_tg(), nft_notrack_eval()). One exception: a zone of
    // nftables undoes a NOTRACK before it (nft_ct_set_zone_eval()).
    static void take_zone(const Effect& effect, Origin origin, State& state) {
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

    static void take(const Effect& effect, Origin origin, State& state) {
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
                packet.connmark =
                    (packet.connmark & ~effect.cleared) ^ (packet.mark & effect.flipped);
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

    void translate_destination(const Rule& rule, State state, std::vector<Left>& left) {
        if (rule.nat.size() > 1) {
            add_doubt(state.out, "chance");
        }
        for (const NatTarget& target : rule.nat) {
            State one = state;
            Packet& packet = one.packet;
            const frame::Endpoint before = packet.destination;
            if (rule.action == Action::kRedirect) {
                const auto own = addresses_of(device(packet.in), before.address.family);
                if (!packet.sent_here && own.empty()) {
                    // nf_nat_redirect(): a device without an address drops.
                    left.push_back({Left::Kind::kDropped, std::move(one), &rule});
                    continue;
                }
                packet.destination.address =
                    packet.sent_here ? loopback(before.address.family) : own.front().address;
            } else if (target.addresses) {
                packet.destination.address = target.addresses->first;
                if (!target.addresses->is_one_address()) {
                    one.out.destinations = *target.addresses;
                    add_doubt(one.out, "one of several addresses");
                }
            }
            if (target.ports && packet.has_ports()) {
                const auto [first, last] = *target.ports;
                if (first == last) {
                    packet.destination.port = first;
                } else if (before.port < first || before.port > last) {
                    packet.destination.port = first;
                    one.out.destination_ports = *target.ports;
                    add_doubt(one.out, "one of several ports");
                }
            }
            packet.dnat = packet.destination != before;
            if (packet.destination.address != before.address) {
                one.reroutes = true;  // nf_nat_ipv4_local_fn()
                one.route_mark = packet.mark;
            }
            one.out.destination_rule = &rule;
            left.push_back({Left::Kind::kTranslated, std::move(one), &rule});
        }
    }

    static frame::IpAddress loopback(frame::Family family) {
        frame::IpAddress address{.family = family};
        if (family == frame::Family::kIpv4) {
            address.bytes[0] = 127;
            address.bytes[3] = 1;
        } else {
            address.bytes[15] = 1;
        }
        return address;
    }

    void translate_source(const Rule& rule, State state, std::vector<Left>& left) {
        Packet& packet = state.packet;
        state.out.source_rule = &rule;
        if (rule.action == Action::kMasquerade) {
            const auto own = addresses_of(device(packet.out), packet.source.address.family);
            if (own.empty()) {
                // inet_select_addr() goes on to other devices.
                add_doubt(state.out, "an address of another device");
                return left.push_back({Left::Kind::kUnmodelled, std::move(state), &rule});
            }
            if (family_ == "ip") {
                // inet_select_addr(): the first in the next hop's network, else the first.
                const frame::IpAddress hop = state.out.gateway.value_or(packet.destination.address);
                const auto near = std::ranges::find_if(
                    own, [&](const hazards::Address& each) { return each.network.contains(hop); });
                const auto& taken = near == own.end() ? own.front() : *near;
                state.out.sources = {{taken.address, taken.address}};
            } else {
                for (const hazards::Address& each : own) {
                    state.out.sources.push_back({each.address, each.address});
                }
            }
        } else {
            for (const NatTarget& target : rule.nat) {
                if (target.addresses) {
                    state.out.sources.push_back(*target.addresses);
                }
            }
        }
        if (!state.out.sources.empty()) {
            const frame::IpAddress before = packet.source.address;
            packet.source.address = state.out.sources.front().first;
            packet.snat = packet.source.address != before;
        }
        left.push_back({Left::Kind::kTranslated, std::move(state), &rule});
    }

    const Compiled& compiled_;
    const Question& question_;
    Narrow narrow_;
    std::string family_;
    std::vector<Outcome> outcomes_;
    std::size_t steps_ = 0;
};

Simulator::Simulator(const hazards::Facts& facts, Router& router)
    : compiled_(std::make_unique<Compiled>(facts, router)) {}

Simulator::~Simulator() = default;

std::vector<Outcome> Simulator::simulate(const Question& question) const {
    return Compiled::Walk(*compiled_, question).run();
}

std::vector<Outcome> Simulator::simulate(const Question& question, Region& region) const {
    Compiled::Walk walk(*compiled_, question);
    std::vector<Outcome> outcomes = walk.run();
    region = walk.region();
    return outcomes;
}

std::vector<Outcome> Simulator::simulate_before_tracking(const Question& question) const {
    return Compiled::Walk(*compiled_, question).before_tracking();
}

bool Simulator::before_tracking() const {
    return compiled_->before_tracking;
}

bool Simulator::is_local(const frame::IpAddress& address) const {
    return is_in(compiled_->locals, address);
}

const hazards::Facts& Simulator::facts() const {
    return compiled_->facts;
}

}  // namespace pathproof::predict
