// One packet on its way through the hooks of netfilter, from the device that it comes by, or the socket
// that sends it, to each of its ends. For .cc files of this room.
#pragma once

#include <string>
#include <vector>

#include "harness/predict/compiled_rules.h"
#include "harness/predict/condition.h"
#include "harness/predict/simulator.h"

namespace pathproof::predict {

class PacketWalk {
  public:
    PacketWalk(const CompiledRules& compiled, const Question& question)
        : compiled_(compiled), question_(question), narrow_(question.tuple) {}

    // The ends that it may come to; never empty.
    std::vector<Outcome> run();
    // Walks up to conntrack's lookup only.
    std::vector<Outcome> before_tracking();

    // Sources for which the answer is the same.
    const Region& region() const { return narrow_.region; }

  private:
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
        const hazards::Rule* rule = nullptr;
    };

    State begin();
    void finish(End end, State state, const hazards::Rule* rule = nullptr,
                const hazards::Chain* chain = nullptr);
    RouteAnswer route(const State& state);
    const hazards::Device* device(const std::string& wanted) const;
    bool filters(const hazards::Device& bridge) const;
    void receive(State state);
    // Past prerouting, by what the routes say.
    void arrive(State state, const RouteAnswer& way);
    void deliver(State state);
    void forward(State state, const RouteAnswer& way);
    void send(State state);
    void leave(State state, const RouteAnswer& way);
    // The base chains of a hook, conntrack and NAT, in the order of their priorities.
    std::vector<State> hook(const char* at, std::vector<State> states);
    void track(State& state) const;
    template <typename Wanted>
    std::vector<State> plain(const char* at, std::vector<State> states, const Wanted& wanted);
    // nf_route_table_hook4(), ipt_mangle_out(): they compare the mark before and behind the chain.
    static bool is_rerouting(const hazards::Chain& chain);
    void keep(Left left, std::size_t chain, std::vector<State>& next);
    // The first chain that translates decides; where two of one priority both might, which of them
    // is in front depends on when each was registered, which the kernel does not tell.
    std::vector<State> nat(const char* at, std::vector<State> states);
    static bool same(const std::vector<State>& one, const std::vector<State>& other);
    std::vector<State> nat_in(const std::vector<std::size_t>& order, State state);
    std::vector<Left> through_base(std::size_t at, State state);
    // Gives what comes out at the chain's end.
    std::vector<State> through(std::size_t at, std::vector<State> states, unsigned depth,
                               std::vector<Left>& left);
    void meet(const CompiledRules::OneRule& compiled, const hazards::Chain* chain, State state,
              unsigned depth, std::vector<State>& next, std::vector<State>& returned,
              std::vector<Left>& left);
    void act(const CompiledRules::OneRule& compiled, const hazards::Chain* chain, State state,
             unsigned depth, std::vector<State>& next, std::vector<State>& returned,
             std::vector<Left>& left);
    // The first effect holds (xt_ct_target(), notrack_tg(), nft_notrack_eval()). One exception: a zone of
    // nftables undoes a NOTRACK before it (nft_ct_set_zone_eval()).
    static void take_zone(const hazards::Effect& effect, hazards::Origin origin, State& state);
    static void take(const hazards::Effect& effect, hazards::Origin origin, State& state);
    void translate_destination(const hazards::Rule& rule, State state, std::vector<Left>& left);
    static frame::IpAddress loopback(frame::Family family);
    void translate_source(const hazards::Rule& rule, State state, std::vector<Left>& left);

    const CompiledRules& compiled_;
    const Question& question_;
    Narrow narrow_;
    std::string family_;
    std::vector<Outcome> outcomes_;
    std::size_t steps_ = 0;
    bool at_source_ = false;  // rules of NAT translate the source: those of input and postrouting
};

// Notes once why an outcome is one of several.
void add_doubt(Outcome& outcome, const std::string& doubt);

}  // namespace pathproof::predict
