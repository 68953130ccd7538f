// The rules of a host, prepared for many packets: chains by hook, rules by the destination that they ask
// for. For .cc files of this room.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "harness/hazards/facts.h"
#include "harness/predict/condition.h"
#include "harness/predict/router.h"

namespace pathproof::predict {

struct AddressHash {
    std::size_t operator()(const frame::IpAddress& address) const {
        std::uint64_t hash = 1469598103934665603ULL;
        for (const std::uint8_t byte : address.bytes) {
            hash = (hash ^ byte) * 1099511628211ULL;
        }
        return static_cast<std::size_t>(hash);
    }
};

struct CompiledRules {
    struct OneRule {
        const hazards::Rule* rule = nullptr;
        std::vector<std::ptrdiff_t> targets = {};  // chains; -1: there is none of that name
    };
    struct OneChain {
        const hazards::Chain* chain = nullptr;
        std::vector<OneRule> rules = {};
        // Rules that ask for one destination, by it; all others, in their order.
        std::unordered_map<frame::IpAddress, std::vector<std::uint32_t>, AddressHash> exact = {};
        std::vector<std::uint32_t> general = {};
        mutable std::unordered_map<frame::IpAddress, std::vector<std::uint32_t>, AddressHash> memo =
            {};
    };
    // A place in the list of base chains of a hook.
    struct Base {
        std::size_t chain = 0;
        int priority = 0;
        bool nat = false;
    };

    // Both must outlive it.
    CompiledRules(const hazards::Facts& known, Router& asked);

    // Rules of the chain that may match a packet to that destination, in their order.
    const std::vector<std::uint32_t>& candidates(const OneChain& chain,
                                                 const frame::IpAddress& destination) const;

    const hazards::Facts& facts;
    Router& router;
    std::vector<OneChain> chains;
    std::map<std::string, std::vector<Base>> bases;  // by "ip prerouting"
    Locals locals;
    std::map<std::string, const hazards::Device*> devices;
    bool tracks = false;           // conntrack sees packets
    bool before_tracking = false;  // rules set zones, or take packets out of conntrack

  private:
    static std::string key_of(hazards::Origin origin, const std::string& family,
                              const std::string& table, const std::string& chain);
    static void index(OneChain& chain, const hazards::Rule& rule, std::uint32_t at);
    std::vector<Base> bases_of(const std::string& family, const std::string& hook) const;
    void read_locals();
};

}  // namespace pathproof::predict
