// A client whose names real resolvers look up, and a DNS server of ours behind the DUT: many lookups
// side by side, each query followed on both wires and at the server.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/resolver/resolver.h"
#include "harness/scenario/nat_path_hosts.h"
#include "harness/scenario/resolvers/resolver_trail.h"

namespace pathproof::scenario {

struct AskedLookup {
    resolver::Kind who = resolver::Kind::kGlibc;
    resolver::Lookup lookup;  // its first label is that of no other, in lower case
    bool paced = false;       // begun one every 250 ms, beside the others
};

struct LookupTrail {
    resolver::Outcome outcome;
    std::vector<QueryTrail> queries;  // in the order of sending
};

class ResolverHosts {
  public:
    // kKernelLacks where the client's resolv.conf cannot be one of its own.
    static Result<ResolverHosts> open(Context& context);

    // Why lookups by that resolver cannot be made; empty: they can.
    const std::string& lacks(resolver::Kind who);
    // resolv.conf(5) of a client of our server.
    std::string resolv_conf(const std::vector<std::string>& search,
                            const std::string& options) const;

    // Answers as the rules say while all lookups are made, each after the delay.
    Result<std::vector<LookupTrail>> round(const std::vector<AskedLookup>& lookups,
                                           std::vector<agent::DnsRule> rules,
                                           std::vector<agent::DnsLoss> losses,
                                           agent::milliseconds delay = {});
    // Packets of the client's wire, both ways, since it is there.
    Result<std::uint64_t> packets() const;

  private:
    Status serve(std::unique_ptr<agent::DnsServer>& server, agent::DnsRules rules,
                 agent::milliseconds delay) const;

    NatPathHosts hosts_;
    std::map<resolver::Kind, std::string> lacks_;  // those that were tried
};

// A line a lookup, for evidence files.
std::string trail_text(const std::string& name, const LookupTrail& trail);

}  // namespace pathproof::scenario
