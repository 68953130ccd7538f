// A change that a lab has a host make to itself, as plain data: the host's agent makes it, with a
// journal (harness/host).
#pragma once

#include <string>

#include "harness/message/fields.h"

namespace pathproof::agent {

struct HostChange {
    // An empty `value` takes back what the same change did before: the thing is as it was found.
    enum class Kind {
        kIp,  // a command of ip(8), which `undo` undoes; seen from `device`
        // "net.ipv4.ip_forward" is to be `value`. One of "net.core" that the namespace does not have
        // is the host's.
        kSysctl,
        // The iptables table `name` is to be what `value` says to iptables-restore; "ip6 nat": of
        // ip6tables. kIsThere: others have rules in it, and these go in front (lab/front_rules.h).
        kRules,
        kFeature,   // the offload feature `name` of `device`, "on" or "off"
        kSteering,  // the CPU mask (hexadecimal) of the first receive queue of `device`
        kNft,       // the nftables table `name`, "ip kube-proxy", is to be what `nft -f -` makes of
                    // `value`; it was not there before
        kNetns,  // the network namespace `name` is there, which was not, with its loopback up; what is in
                 // it goes with it
        kMove,  // `device` is in the network namespace `value`, up and without addresses
        kIpvs,  // IPVS has the services and endpoints of `value` (ipvsadm --save -n) and no others;
                // connections of those that stay are left alone
    };
    // Outcome that is no error.
    enum class Allowed { kNothing, kIsThere, kIsMissing };
    Kind kind = Kind::kIp;
    std::string device;
    std::string name;
    std::string value;
    std::string undo;
    // kIsThere: `ip` finds what it is to add. kIsMissing: the kernel has no such sysctl.
    Allowed allowed = Allowed::kNothing;
    bool operator==(const HostChange&) const = default;
};
ENUM_VALUES(HostChange::Kind, 9)
ENUM_VALUES(HostChange::Allowed, 3)
FIELDS(HostChange, kind, device, name, value, undo, allowed)

}  // namespace pathproof::agent
