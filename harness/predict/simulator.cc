#include "harness/predict/simulator.h"

#include "harness/predict/compiled_rules.h"
#include "harness/predict/packet_walk.h"

namespace pathproof::predict {

Simulator::Simulator(const hazards::Facts& facts, Router& router)
    : compiled_(std::make_unique<CompiledRules>(facts, router)) {}

Simulator::~Simulator() = default;

std::vector<Outcome> Simulator::simulate(const Question& question) const {
    return PacketWalk(*compiled_, question).run();
}

std::vector<Outcome> Simulator::simulate(const Question& question, Region& region) const {
    PacketWalk walk(*compiled_, question);
    std::vector<Outcome> outcomes = walk.run();
    region = walk.region();
    return outcomes;
}

std::vector<Outcome> Simulator::simulate_before_tracking(const Question& question) const {
    return PacketWalk(*compiled_, question).before_tracking();
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
