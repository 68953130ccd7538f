// Simulates one packet of a new flow under the rules, routes and addresses that were read: chain by chain
// and rule by rule, to a verdict, a translation and a route. A match that cannot be decided (chance,
// limits, matches that are not modelled) gives one outcome for each way, and each says why.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/hazards/facts.h"
#include "harness/netfilter/entry.h"
#include "harness/predict/outcome.h"
#include "harness/predict/router.h"

namespace pathproof::predict {

struct Question {
    netfilter::Tuple tuple;
    std::string in = "";      // the device by which it comes; empty: sent by this host
    bool any_device = false;  // with `in`: rules that ask for the device may match or not
    std::uint32_t mark = 0;
    std::optional<std::uint32_t> user = std::nullopt;  // who owns the sending socket
};

// Sources for which an answer is the same.
struct Region {
    frame::IpAddress first_source;  // 0.0.0.0
    frame::IpAddress last_source = {
        .family = frame::Family::kIpv6,
        .bytes = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}};
    std::uint16_t first_port = 0, last_port = 0xffff;
    bool contains(const frame::Endpoint& source) const {
        return first_source <= source.address && source.address <= last_source &&
               first_port <= source.port && source.port <= last_port;
    }
    void intersect(const Region& other) {
        first_source = std::max(first_source, other.first_source);
        last_source = std::min(last_source, other.last_source);
        first_port = std::max(first_port, other.first_port);
        last_port = std::min(last_port, other.last_port);
    }
};

struct CompiledRules;

class Simulator {
  public:
    // Both must outlive it.
    Simulator(const hazards::Facts& facts, Router& router);
    ~Simulator();

    // Never empty; one outcome without doubts is a decision. At most kMostOutcomes.
    std::vector<Outcome> simulate(const Question& question) const;
    static constexpr std::size_t kMostOutcomes = 1024;
    // Simulates likewise, and returns in `region` the other sources whose packets to the same
    // destination, port and protocol have the same outcomes.
    std::vector<Outcome> simulate(const Question& question, Region& region) const;

    // Simulates a packet of an answer up to conntrack's lookup: zone and NOTRACK. `in` as above.
    std::vector<Outcome> simulate_before_tracking(const Question& question) const;

    // Returns whether any rule sets zones, or takes packets out of conntrack, before it sees them.
    bool before_tracking() const;
    bool is_local(const frame::IpAddress& address) const;
    const hazards::Facts& facts() const;

  private:
    std::unique_ptr<const CompiledRules> compiled_;
};

}  // namespace pathproof::predict
