// What a lab has a host change of itself, as plain data: the agent of the host carries it out, with a
// journal (harness/host).
#pragma once

#include <string>

#include "harness/message/fields.h"

namespace pathproof::agent {

struct HostChange {
    enum class Kind {
        kIp,  // a command of ip(8), which `undo` undoes; seen from `device`; empty: undone now
        // "net.ipv4.ip_forward" is to be `value`; empty: as it was found. One of "net.core" that
        // the namespace does not have is the host's.
        kSysctl,
        kRules,     // the iptables table `name` is to be what `value` says to iptables-restore
        kFeature,   // the offload feature `name` of `device`, "on" or "off"
        kSteering,  // the CPU mask (hexadecimal) of the first receive queue of `device`
    };
    // What is not an error.
    enum class Allowed { kNothing, kIsThere, kIsMissing };
    Kind kind = Kind::kIp;
    std::string device;
    std::string name;
    std::string value;
    std::string undo;
    // kIsThere: `ip` finds what it is to add. kIsMissing: the kernel has no such sysctl.
    Allowed allowed = Allowed::kNothing;
};
ENUM_VALUES(HostChange::Kind, 5)
ENUM_VALUES(HostChange::Allowed, 3)
FIELDS(HostChange, kind, device, name, value, undo, allowed)

}  // namespace pathproof::agent
