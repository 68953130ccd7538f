// A client whose names real resolvers look up, and a DNS server of ours behind the DUT: many lookups
// side by side, each query followed on both wires and at the server.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/resolver/resolver.h"
#include "harness/scenario/nat_path_hosts.h"
#include "harness/scenario/resolver_trail.h"

namespace pathproof::scenario {

struct AskedLookup {
    resolver::Libc libc = resolver::Libc::kGlibc;
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

    // Why musl's lookups cannot be made; empty: they can.
    const std::string& lacks_musl() const { return lacks_musl_; }
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
    std::string lacks_musl_;
};

// A line a lookup, for evidence files.
std::string trail_text(const std::string& name, const LookupTrail& trail);

}  // namespace pathproof::scenario
