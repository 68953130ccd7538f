// tc filters, netem queues and nftables chains of devices: they have a device's packets before the stack, or
// behind it. Packets that one of them redirects never pass the bridge or the routes that the device leads to.
#pragma once

#include <string>
#include <vector>

#include "harness/message/fields.h"

namespace pathproof::agent {

struct DeviceHook {
    std::string what;  // "tc filters at d2 (ingress): matchall, mirred redirect to d0"
    std::string show;  // the command that lists them, behind `ip netns exec` or as it is
    bool operator==(const DeviceHook&) const = default;
};
FIELDS(DeviceHook, what, show)

// Reads the hooks of a device of this namespace from tc and nft. A kind whose program fails, as without the
// kernel's module, is left out.
std::vector<DeviceHook> device_hooks(const std::string& device);

}  // namespace pathproof::agent
