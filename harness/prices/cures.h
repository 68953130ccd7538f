// The cures whose side effects are looked for: those that the scenarios show, and one that is
// published beside them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/setting/cures.h"

namespace pathproof::prices {

// A part of a path that a cure changes. On a path without it the cure has nothing to change.
enum class Part {
    kMasquerade,  // a MASQUERADE that may keep a flow's port
    kTunnel,      // vxlan devices
    kClientTcp,   // the kernel's own TCP in a client
    kTrackedTcp,  // TCP that conntrack of a DUT sees
    kBridge,      // a bridge of the DUT with both ends of a flow
    kResolver,    // getaddrinfo(3) of glibc with a resolv.conf
    kUdpService,  // a service on UDP whose endpoint changes
    kFullTable,   // a full table of conntrack
    kEndpoints,   // a service's rules that name dead endpoints
    kPortRange,   // MASQUERADE --to-ports
    kSmallerHop,  // a hop that takes less than the tunnel
    kDnsmasq,     // dnsmasq, and a cache that asks it over TCP
    kForwards,    // dnsmasq that forwards lookups by UDP
    kNameCache,   // a cache that holds A and AAAA apart
    kNodeDns,     // lookups that a node translates
};
// "no bridge has both ends of its flows": of a path without it.
const char* lack_of(Part part);

// A cure of setting/cures.h, with the scenarios that show it and the part that it changes.
struct Cure : setting::Cure {
    Cure() = default;
    Cure(const setting::Cure& cure, std::vector<std::string> scenarios, Part part)
        : setting::Cure(cure), shown_by(std::move(scenarios)), needs(part) {}

    std::vector<std::string> shown_by;  // scenarios
    Part needs = Part::kMasquerade;

    // resolv.conf's options and the name to look up, for a resolver with this cure.
    std::string options(const std::string& others) const {
        return others + (resolver.empty() ? "" : " " + resolver);
    }
    std::string asked(const std::string& name) const { return name + (dot ? "." : ""); }

    // Set on hosts, on a path that is not of its own scenario.
    bool on_path() const { return !settings.empty(); }
    bool in_resolver() const { return dot || !resolver.empty(); }
};

// The cure of a run without any.
inline const Cure kNoCure{};

using Cures = std::vector<const Cure*>;

const std::vector<Cure>& all_cures();
// Ids of those that a scenario shows.
std::vector<std::string> cures_shown_by(const std::string& scenario);
// Null for an unknown id.
const Cure* find_cure(const std::string& id);

}  // namespace pathproof::prices
